"""ArchiveState: which events are out of the active window (DESIGN 4).

Compaction moves boundaries and never rewrites history, so the whole state is small: sorted ranges
of archived ``seq``, and the list of passes whose inserted events are active.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from .errors import TooFragmented
from .event import SessionEvent

MAX_BYTES: Final = 2048
"""The largest encoded state; a pass beyond it is refused as too fragmented."""


@dataclass(frozen=True)
class ActiveInsert:
    """A pass whose inserted events are active, and where its first one stands."""

    pass_id: str
    before_seq: int


@dataclass(frozen=True)
class ArchiveState:
    """The one question ``is_active`` answered the same way by every store.

    ``ranges``: archived seqs as sorted, disjoint, non-adjacent ``(first, last)``, both inclusive.
    """

    ranges: tuple[tuple[int, int], ...] = ()
    inserts: tuple[ActiveInsert, ...] = ()

    def is_active(self, event: SessionEvent) -> bool:
        """Whether the event is in the active window. A logged event, synthetic or not, is
        archived iff its seq is in a range; an inserted one is active iff its pass is listed."""
        if event.position is not None:
            return event.position.pass_id in self._active_passes
        return event.seq is not None and not self.is_archived_seq(event.seq)

    def is_archived_seq(self, seq: int) -> bool:
        """Whether a logged event of that seq is archived."""
        at = bisect_right(self.ranges, seq, key=lambda r: r[0])
        return at > 0 and seq <= self.ranges[at - 1][1]

    def covers_stretch(self, first: int, last: int) -> bool:
        """Whether every seq from ``first`` to ``last`` is archived. Ranges never touch, so one of
        them has to hold the whole stretch."""
        at = bisect_right(self.ranges, first, key=lambda r: r[0])
        return at > 0 and last <= self.ranges[at - 1][1]

    @cached_property
    def _active_passes(self) -> frozenset[str]:
        return frozenset(i.pass_id for i in self.inserts)

    @property
    def archived_count(self) -> int:
        """How many logged events are archived."""
        return sum(last - first + 1 for first, last in self.ranges)

    @property
    def first_active_seq(self) -> int:
        """The lowest seq that is not archived (it may not have been written yet)."""
        return self.ranges[0][1] + 1 if self.ranges and self.ranges[0][0] == 1 else 1

    @property
    def tail_start(self) -> int:
        """The seq from which on nothing is archived."""
        return self.ranges[-1][1] + 1 if self.ranges else 1

    def covers(self, last_seq: int) -> bool:
        """Whether every logged event up to ``last_seq`` is archived."""
        return last_seq == 0 or self.covers_stretch(1, last_seq)

    def after(
        self, *, archive: Iterable[int] = (), drop_passes: Iterable[str] = (), insert: Sequence[ActiveInsert] = ()
    ) -> ArchiveState:
        """The state after a pass: more seqs archived, passes dropped, passes added.

        Raises:
            TooFragmented: the new state is larger than ``MAX_BYTES``.
        """
        dropped = frozenset(drop_passes)
        kept = tuple(i for i in self.inserts if i.pass_id not in dropped)
        state = replace(self, ranges=_merge(self.ranges, archive), inserts=kept + tuple(insert))
        if len(state.encode()) > MAX_BYTES:
            raise TooFragmented(
                f"The archive state would have {len(state.ranges)} ranges; "
                "archive whole stretches of the log instead of single events."
            )
        return state

    def encode(self) -> str:
        """The stored text: ``first-last,…;pass@before_seq,…``."""
        ranges = ",".join(str(a) if a == b else f"{a}-{b}" for a, b in self.ranges)
        inserts = ",".join(f"{i.pass_id}@{i.before_seq}" for i in self.inserts)
        return f"{ranges};{inserts}" if inserts else ranges

    @classmethod
    def decode(cls, text: str) -> ArchiveState:
        """The inverse of :meth:`encode`."""
        ranges, _, inserts = text.partition(";")
        return cls(
            ranges=tuple(_range(part) for part in ranges.split(",") if part),
            inserts=tuple(
                ActiveInsert(p, int(at)) for p, _, at in (part.rpartition("@") for part in inserts.split(",") if part)
            ),
        )


def ranges_of(seqs: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Seqs as sorted, disjoint, non-adjacent stretches."""
    return _merge((), seqs)


def _range(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    return int(first), int(last or first)


def _merge(ranges: Sequence[tuple[int, int]], seqs: Iterable[int]) -> tuple[tuple[int, int], ...]:
    out: list[tuple[int, int]] = []
    for first, last in sorted([*ranges, *((s, s) for s in set(seqs))]):
        if out and first <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(out[-1][1], last))
        else:
            out.append((first, last))
    return tuple(out)
