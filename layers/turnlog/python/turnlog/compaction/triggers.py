"""Triggers: whether a pass is due (spec/session 7.3). Any object with ``fires`` is one.

Those of a policy can also tell from the size of a window alone (:class:`Watermark`), so that an
append knows without reading it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from ..domain.due import WindowSize
from ..domain.errors import InvalidRequest
from .checks import positive
from .request import CompactionRequest


class CompactionTrigger(Protocol):
    """A predicate over the active window."""

    def fires(self, request: CompactionRequest) -> bool:
        """Whether a pass is due."""
        ...


GROWTH: Final = 1.2
"""By how much a window has to grow before a pass that was of no use is tried again by itself."""


@runtime_checkable
class Watermark(Protocol):
    """A trigger that looks at nothing but the size of the window."""

    def fires_at(self, size: WindowSize) -> bool:
        """Whether a pass is due in a window of that size."""
        ...

    def has_grown(self, since: WindowSize, size: WindowSize) -> bool:
        """Whether what it looks at has grown by ``GROWTH``."""
        ...


class _BySize:
    """A trigger that is a watermark."""

    def fires_at(self, size: WindowSize) -> bool:
        """Whether a pass is due in a window of that size."""
        raise NotImplementedError

    def fires(self, request: CompactionRequest) -> bool:
        """Whether a pass is due."""
        return self.fires_at(request.size)

    def has_grown(self, since: WindowSize, size: WindowSize) -> bool:
        """Whether the window has more turns, or more tokens."""
        return _grown(since.turns, size.turns) or _grown(since.tokens, size.tokens)


def _grown(since: int, now: int) -> bool:
    return now > since and now >= since * GROWTH


@dataclass(frozen=True)
class AlwaysTrigger(_BySize):
    """Compacts unconditionally."""

    def fires_at(self, size: WindowSize) -> bool:
        """Yes."""
        return True


@dataclass(frozen=True)
class NeverTrigger(_BySize):
    """Leaves it to callers to ask for passes: how a session opts out of its stage's policy."""

    def fires_at(self, size: WindowSize) -> bool:
        """No."""
        return False


@dataclass(frozen=True)
class TurnCountTrigger(_BySize):
    """Fires above a number of turns.

    Raises:
        InvalidRequest: ``max_turns`` is not above 0.
    """

    max_turns: int

    def __post_init__(self) -> None:
        positive("max_turns", self.max_turns)

    def fires_at(self, size: WindowSize) -> bool:
        """Whether the window has more turns than ``max_turns``."""
        return size.turns > self.max_turns

    def has_grown(self, since: WindowSize, size: WindowSize) -> bool:
        """Whether the window has a fifth more turns."""
        return _grown(since.turns, size.turns)


@dataclass(frozen=True)
class TokenCountTrigger(_BySize):
    """Fires at a number of tokens.

    Raises:
        InvalidRequest: ``threshold`` is not above 0.
    """

    threshold: int

    def __post_init__(self) -> None:
        positive("threshold", self.threshold)

    def fires_at(self, size: WindowSize) -> bool:
        """Whether the window has ``threshold`` tokens or more."""
        return size.tokens >= self.threshold

    def has_grown(self, since: WindowSize, size: WindowSize) -> bool:
        """Whether the window has a fifth more tokens."""
        return _grown(since.tokens, size.tokens)


@dataclass(frozen=True)
class AnyTrigger:
    """Fires when any of its triggers does; they are asked in order, up to the first that fires.

    Raises:
        InvalidRequest: there is none.
    """

    triggers: tuple[CompactionTrigger, ...]

    def __post_init__(self) -> None:
        if not self.triggers:
            raise InvalidRequest.at("/triggers", "must hold at least one trigger")

    def fires(self, request: CompactionRequest) -> bool:
        """Whether one of them fires."""
        return any(trigger.fires(request) for trigger in self.triggers)

    def fires_at(self, size: WindowSize) -> bool:
        """Whether one of them fires; one that is no watermark does not."""
        return any(isinstance(trigger, Watermark) and trigger.fires_at(size) for trigger in self.triggers)

    def has_grown(self, since: WindowSize, size: WindowSize) -> bool:
        """Whether one that fires sees growth: more turns are of no use to one that counts tokens."""
        watermarks = (trigger for trigger in self.triggers if isinstance(trigger, Watermark))
        return any(trigger.fires_at(size) and trigger.has_grown(since, size) for trigger in watermarks)
