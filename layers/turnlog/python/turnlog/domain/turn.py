"""Turns: a root, non-synthetic user event and everything up to the next one (spec/session 7.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .event import SessionEvent


@dataclass(frozen=True)
class Turn:
    """The events of one turn, oldest first; branch events belong to the root turn around them."""

    events: tuple[SessionEvent, ...]


def split_turns(events: Sequence[SessionEvent]) -> tuple[tuple[SessionEvent, ...], tuple[Turn, ...]]:
    """The preamble (events before the first turn) and the turns, in log order."""
    starts = [i for i, event in enumerate(events) if event.is_turn_start]
    if not starts:
        return tuple(events), ()
    ends = [*starts[1:], len(events)]
    turns = tuple(Turn(tuple(events[a:b])) for a, b in zip(starts, ends, strict=True))
    return tuple(events[: starts[0]]), turns
