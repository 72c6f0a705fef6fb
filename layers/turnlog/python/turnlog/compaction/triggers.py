"""Triggers: whether a pass is due (spec 7.3). Any object with ``fires`` is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..domain.errors import InvalidRequest
from .checks import positive
from .request import CompactionRequest


class CompactionTrigger(Protocol):
    """A predicate over the active window."""

    def fires(self, request: CompactionRequest) -> bool:
        """Whether a pass is due."""
        ...


@dataclass(frozen=True)
class AlwaysTrigger:
    """Compacts unconditionally."""

    def fires(self, request: CompactionRequest) -> bool:
        """Yes."""
        return True


@dataclass(frozen=True)
class TurnCountTrigger:
    """Fires above a number of turns.

    Raises:
        InvalidRequest: ``max_turns`` is not above 0.
    """

    max_turns: int

    def __post_init__(self) -> None:
        positive("max_turns", self.max_turns)

    def fires(self, request: CompactionRequest) -> bool:
        """Whether the window has more turns than ``max_turns``."""
        return request.turn_count > self.max_turns


@dataclass(frozen=True)
class TokenCountTrigger:
    """Fires at a number of tokens.

    Raises:
        InvalidRequest: ``threshold`` is not above 0.
    """

    threshold: int

    def __post_init__(self) -> None:
        positive("threshold", self.threshold)

    def fires(self, request: CompactionRequest) -> bool:
        """Whether the window has ``threshold`` tokens or more."""
        return request.window_tokens >= self.threshold


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
