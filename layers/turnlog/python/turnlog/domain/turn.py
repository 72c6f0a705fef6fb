"""Turns: a root, non-synthetic user event and everything up to the next one (spec/session 7.2).

Where the whole conversation is on branches, the users' events there are the turns (DESIGN 6).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .event import SessionEvent


@dataclass(frozen=True)
class Turn:
    """The events of one turn, oldest first; branch events belong to the root turn around them."""

    events: tuple[SessionEvent, ...]


def is_conversation(event: SessionEvent) -> bool:
    """Whether it is part of the conversation: neither synthetic nor a stored system message (spec 7.5)."""
    return not event.synthetic and event.role != "system"


def is_only_branches(events: Iterable[SessionEvent]) -> bool:
    """Whether the whole conversation is on branches."""
    real = [event for event in events if is_conversation(event)]
    return bool(real) and not any(event.is_root for event in real)


def starts_turn(event: SessionEvent, *, only_branches: bool) -> bool:
    """Whether a turn begins at this event."""
    return event.is_turn_start or (only_branches and event.role == "user" and not event.synthetic)


def split_turns(events: Sequence[SessionEvent]) -> tuple[tuple[SessionEvent, ...], tuple[Turn, ...]]:
    """The preamble (events before the first turn) and the turns, in log order."""
    only_branches = is_only_branches(events)
    starts = [i for i, event in enumerate(events) if starts_turn(event, only_branches=only_branches)]
    if not starts:
        return tuple(events), ()
    ends = [*starts[1:], len(events)]
    turns = tuple(Turn(tuple(events[a:b])) for a, b in zip(starts, ends, strict=True))
    return tuple(events[: starts[0]]), turns
