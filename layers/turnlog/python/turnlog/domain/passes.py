"""Passes as they are remembered: what each one did, and what became of a try that did nothing.

A pass that counts made one generation of a session. Its record is written with it and never
changed; an undo is a pass of its own (DESIGN 4, "Pass").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal

from .exactjson import JsonObject
from .instant import Instant

AskedBy = Literal["trigger", "request", "port"]
"""Who wanted a pass: the session's own trigger, a caller of the service, or a caller of the port."""

Range = tuple[int, int]
"""A stretch of the log by seq, both ends included."""

AttemptStatus = Literal["running", "failed", "futile", "held"]
"""``running``: a model is asked at this moment. ``failed``: it gave no summary. ``futile``: a pass
saves nothing, or has left the trigger firing. ``held``: somebody has just undone a pass."""

GROWTH: Final = 1.2
"""By how much a window has to grow before a futile or undone pass is tried again by itself."""


@dataclass(frozen=True)
class WindowSize:
    """How large an active window is, by the running totals: turns, and estimated tokens. Superseded
    system messages count until a pass archives them, so it may be a little too much (DESIGN 11)."""

    turns: int = 0
    tokens: int = 0


NO_SIZE: Final = WindowSize()


@dataclass(frozen=True)
class PassDetail:
    """What a pass says of itself. Tokens are estimates by ``counter``, and ``tokens_saved`` is net
    of what was inserted. ``model`` is the one that wrote the summary."""

    asked_by: AskedBy = "port"
    user: str | None = None
    trigger: JsonObject | None = None
    strategy: JsonObject | None = None
    model: str | None = None
    tokens_before: int | None = None
    tokens_saved: int = 0
    counter: str | None = None
    kept_reason: str | None = None
    abandoned_calls: tuple[str, ...] = ()
    over_budget: bool = False


@dataclass(frozen=True)
class PassRecord:
    """One pass of a session's history.

    ``archived`` are the stretches that left the window by it, ``restored`` those that came back (by
    an undo), ``inserted`` the ids of the events that it put in, ``undoes`` the pass that it undid.
    """

    id: str
    generation: int
    at: Instant
    archived: tuple[Range, ...] = ()
    restored: tuple[Range, ...] = ()
    inserted: tuple[str, ...] = ()
    undoes: str | None = None
    detail: PassDetail = field(default_factory=PassDetail)


@dataclass(frozen=True)
class PassPage:
    """A page of a session's passes, the newest first; ``next_id`` is the first of the next page."""

    passes: tuple[PassRecord, ...]
    next_id: str | None = None


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

    def holds_back(self, size: WindowSize, now: Instant) -> bool:
        """Whether a trigger that fires has to wait: for the model, for the next try, or until the
        window has grown by ``GROWTH`` since the pass that was of no use."""
        if self.status in ("running", "failed"):
            return self.retry_at is not None and now < self.retry_at
        grown = size.turns >= self.size.turns * GROWTH and size.turns > self.size.turns
        return not (grown or size.tokens >= max(self.size.tokens, 1) * GROWTH)

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


def new_pass_id(generation: int, nonce: bytes) -> str:
    """``<generation>.<nonce>``: unique among racing passes, and its generation can be read from it."""
    return f"{generation}.{nonce.hex()}"


def generation_of(pass_id: str) -> int:
    """The generation that a pass makes; 0 for what is no pass id."""
    number = pass_id.partition(".")[0]
    return int(number) if number.isascii() and number.isdigit() and len(number) <= 18 else 0


def less(ranges: tuple[Range, ...], taken: tuple[Range, ...]) -> tuple[Range, ...]:
    """What of ``ranges`` is in none of ``taken``; both are sorted and disjoint."""
    out: list[Range] = []
    for first, last in ranges:
        at = first
        for low, high in taken:
            if high < at or low > last:
                continue
            if low > at:
                out.append((at, low - 1))
            at = high + 1
        if at <= last:
            out.append((at, last))
    return tuple(out)
