"""What a pass looks at: the active window, counted the way that triggers and strategies count."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from ..domain.due import WindowSize
from ..domain.event import SessionEvent
from ..domain.ports import TokenCounter
from ..domain.session import Session
from ..domain.tokens import EstimatingCounter, format_message
from ..domain.turn import is_conversation, is_only_branches, starts_turn


@dataclass(frozen=True)
class CompactionRequest:
    """A session and its active events, oldest first (spec 7.1)."""

    session: Session
    events: tuple[SessionEvent, ...]
    counter: TokenCounter = field(default_factory=EstimatingCounter)

    @property
    def event_count(self) -> int:
        """All active events, synthetic and system ones included."""
        return len(self.events)

    @cached_property
    def turn_count(self) -> int:
        """The turns of the window (spec 7.1)."""
        return sum(map(self.is_turn_start, self.events))

    # ------------------------------------------------------------------ who is what

    @cached_property
    def system(self) -> tuple[SessionEvent, ...]:
        """The stored system messages: those that no pass made (spec 6.1)."""
        return tuple(e for e in self.events if e.role == "system" and not e.synthetic)

    @property
    def kept_system(self) -> SessionEvent | None:
        """The session's system prompt: the latest stored system message wins (spec 6.4)."""
        return self.system[-1] if self.system else None

    @property
    def superseded(self) -> tuple[SessionEvent, ...]:
        """The other stored system messages: every pass that runs archives them (spec 6.5)."""
        return self.system[:-1]

    @cached_property
    def synthetic(self) -> tuple[SessionEvent, ...]:
        """What passes have made: prior summaries, whoever made them (spec 7.7)."""
        return tuple(e for e in self.events if e.synthetic)

    @cached_property
    def real(self) -> tuple[SessionEvent, ...]:
        """The conversation: neither synthetic nor a stored system message (spec 7.5)."""
        return tuple(filter(is_conversation, self.events))

    @cached_property
    def only_branches(self) -> bool:
        """Whether the whole conversation is on branches: then these are its turns (DESIGN 6)."""
        return is_only_branches(self.real)

    def is_turn_start(self, event: SessionEvent) -> bool:
        """Whether a turn begins here: a root, non-synthetic user event (spec 7.2)."""
        return starts_turn(event, only_branches=self.only_branches)

    def uses_slot(self, event: SessionEvent) -> bool:
        """Whether it counts where events are counted: branch events travel with their turn (spec 7.6)."""
        return event.is_root or self.only_branches

    # ------------------------------------------------------------------ what it costs

    def tokens(self, events: Iterable[SessionEvent]) -> int:
        """The tokens of events in the format of spec 7.9."""
        return sum(map(self._cost, events))

    @cached_property
    def window_tokens(self) -> int:
        """The tokens of the window; superseded system messages cost nothing (spec 6.5)."""
        superseded = {e.id for e in self.superseded}
        return self.tokens(e for e in self.events if e.id not in superseded)

    @property
    def size(self) -> WindowSize:
        """The size of the window, counted exactly."""
        return WindowSize(self.turn_count, self.window_tokens)

    @cached_property
    def _costs(self) -> dict[str, int]:
        return {}

    def _cost(self, event: SessionEvent) -> int:
        cost = self._costs.get(event.id)
        if cost is None:
            cost = self._costs[event.id] = self.counter.count(format_message(event.message))
        return cost
