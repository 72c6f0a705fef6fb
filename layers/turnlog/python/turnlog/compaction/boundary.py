"""Where a pass may cut: the rules that hold for every strategy.

* A cut lies at the start of a turn; a raw cut moves forward to the next one (spec 7.5).
* The newest turn stays, whatever its size; without any turn nothing is archived ([N9], DESIGN 6).
* A call and its results stay together: both before the cut or both after it, also when the result
  comes turns later.
* A call that waits (its latest result is ``pending``, for a person as a rule) holds its turn; an
  abandoned one, without any result, holds nothing (DESIGN 7).

Indexes count in ``request.real``. What is archived is ``real[first:cut]``: ``first`` is 0, or the
end of the preamble for the strategy that keeps it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal

from .request import CompactionRequest

KeptReason = Literal["newest_turn", "no_turn", "waiting_call", "late_result", "summary_failed"]
"""Why more stays than was asked for."""

_NEVER: Final = 1 << 62
"""Where the final result of a waiting call will stand: after everything there is."""


@dataclass
class _Exchange:
    """A call and its results so far."""

    call_id: str
    call_at: int
    results_at: list[int] = field(default_factory=list)
    waits: bool = False

    @property
    def places(self) -> list[int]:
        return [self.call_at, *self.results_at, *([_NEVER] if self.waits else [])]


@dataclass(frozen=True)
class Cut:
    """A boundary that may be cut at: ``real[first:at]`` is archived."""

    at: int
    first: int = 0
    reason: KeptReason | None = None
    abandoned_calls: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing lies before it."""
        return self.at <= self.first


class Boundaries:
    """The places in one window where a cut is allowed."""

    def __init__(self, request: CompactionRequest) -> None:
        self._request = request
        self._real = request.real

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where the turns begin."""
        return tuple(i for i, event in enumerate(self._real) if self._request.is_turn_start(event))

    def cut(self, raw: int, *, first: int = 0) -> Cut:
        """The nearest allowed cut for a raw one."""
        if not self.starts:
            return Cut(first, first, "no_turn" if raw > first else None)
        next_start = bisect_left(self.starts, raw)
        reason: KeptReason | None = None
        if next_start == len(self.starts):
            next_start, reason = next_start - 1, "newest_turn"
        at, held = self._hold_together(first, self.starts[next_start])
        return Cut(at, first, held or reason, tuple(self._abandoned(first, at)))

    def newest(self, keep: int) -> int | None:
        """The raw cut that leaves the newest ``keep`` events; None when there are no more.
        Branch events do not count (spec 7.6)."""
        counted = [i for i, event in enumerate(self._real) if self._request.uses_slot(event)]
        return counted[len(counted) - keep - 1] + 1 if len(counted) > keep else None

    def _hold_together(self, first: int, at: int) -> tuple[int, KeptReason | None]:
        """Move the cut back until no exchange lies on both sides of it."""
        reason: KeptReason | None = None
        while True:
            torn = [(min(i for i in e.places if first <= i < at), e) for e in self._exchanges if _is_torn(e, first, at)]
            if not torn:
                return at, reason
            earliest, exchange = min(torn, key=lambda pair: pair[0])
            at = max(first, self._start_of_turn(earliest))
            reason = "waiting_call" if exchange.waits else "late_result"

    def _start_of_turn(self, at: int) -> int:
        """Where the turn around an event begins; 0 in the preamble."""
        n = bisect_right(self.starts, at)
        return self.starts[n - 1] if n else 0

    def _abandoned(self, first: int, at: int) -> Iterator[str]:
        return (e.call_id for e in self._exchanges if first <= e.call_at < at and not e.results_at)

    @cached_property
    def _exchanges(self) -> tuple[_Exchange, ...]:
        """Every call with its results. Ids come again in later turns, so a result belongs to the
        nearest call before it."""
        found: list[_Exchange] = []
        latest: dict[str, _Exchange] = {}
        for i, event in enumerate(self._real):
            for call in event.message.tool_calls:
                latest[call.id] = _Exchange(call.id, i)
                found.append(latest[call.id])
            for result in event.message.tool_results:
                exchange = latest.get(result.call_id)
                if exchange is not None:
                    exchange.results_at.append(i)
                    exchange.waits = result.status == "pending"
        return tuple(found)


def _is_torn(exchange: _Exchange, first: int, at: int) -> bool:
    inside = [first <= i < at for i in exchange.places]
    return any(inside) and not all(inside)
