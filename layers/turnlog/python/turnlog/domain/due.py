"""When a session needs a pass, and what became of tries that changed nothing: all that an append has to know.

Apart from :mod:`turnlog.domain.passes`, because every cold start of the API imports this and hardly any
request needs that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from .exactjson import JsonObject
from .instant import Instant

AttemptStatus = Literal["running", "failed", "futile", "held"]
"""``running``: a model is asked at this moment. ``failed``: it gave no summary. ``futile``: a pass
saves nothing, or has left the trigger firing. ``held``: somebody has just undone a pass."""


@dataclass(frozen=True)
class WindowSize:
    """How large an active window is, by the running totals: turns, and estimated tokens. Superseded
    system messages count until a pass archives them, so it may be a little too much (DESIGN 11)."""

    turns: int = 0
    tokens: int = 0


NO_SIZE: Final = WindowSize()


@dataclass(frozen=True)
class Attempt:
    """What became of the newest try since the last pass. It is gone when a pass lands, unless that
    one leaves an attempt of its own.

    ``number`` counts the tries at one generation. ``retry_at`` is when a failed one is tried again,
    and when a running one counts as lost. ``size`` is the window's at that time.
    """

    number: int
    status: AttemptStatus
    at: Instant
    reason: str = ""
    detail: str = ""
    retry_at: Instant | None = None
    pass_id: str | None = None
    size: WindowSize = NO_SIZE

    def waits(self, now: Instant) -> bool:
        """Whether a model is asked at this moment, or it is too early for the next try."""
        timed = self.status in ("running", "failed")
        return timed and self.retry_at is not None and now < self.retry_at

    def is_running(self, now: Instant) -> bool:
        """Whether a model is asked at this moment."""
        return self.status == "running" and self.retry_at is not None and now < self.retry_at


@dataclass(frozen=True)
class DueView:
    """What an append, or a change of the policy, knows about the window without reading it."""

    policy: JsonObject | None
    attempt: Attempt | None
    before: WindowSize
    after: WindowSize


Due = Callable[[DueView], bool]
"""Whether somebody should look if the session needs a pass. A hint: whoever looks counts again."""


def never_due(_view: DueView) -> bool:
    """The repository port by itself has no policy."""
    return False
