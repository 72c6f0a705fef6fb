"""What a strategy decides; nothing is written yet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..domain.event import EventDraft, SessionEvent
from ..domain.ports import CompactionPlan, Insertion
from .boundary import Cut, KeptReason
from .request import CompactionRequest


@dataclass(frozen=True)
class CompactionResult:
    """What leaves the window and what comes into it (spec 7.4).

    ``archived`` is in log order. ``inserted`` stands right before the logged event ``before_seq``.
    ``tokens_saved`` is net of what is inserted, and never below 0. ``kept_reason`` says why more
    stays than the strategy's parameter asks for; ``over_budget``, that what stays is still over it.
    """

    archived: tuple[SessionEvent, ...] = ()
    inserted: tuple[EventDraft, ...] = ()
    before_seq: int | None = None
    tokens_saved: int = 0
    kept_reason: KeptReason | None = None
    abandoned_calls: tuple[str, ...] = ()
    over_budget: bool = False

    @property
    def is_neutral(self) -> bool:
        """Whether there is nothing to write."""
        return not self.archived and not self.inserted

    def plan(self) -> CompactionPlan:
        """The same for a repository."""
        insert = (Insertion(self.before_seq, self.inserted),) if self.inserted else ()
        return CompactionPlan(frozenset(e.id for e in self.archived), insert)


def archiving(
    request: CompactionRequest, cut: Cut | None, *, also: Iterable[SessionEvent] = (), over_budget: bool = False
) -> CompactionResult:
    """The result of archiving what lies before the cut, ``also``, and, as in every pass that runs,
    the superseded system messages (spec 6.5)."""
    before = () if cut is None else request.real[cut.first : cut.at]
    leaving = {e.id for group in (before, also, request.superseded) for e in group}
    archived = tuple(e for e in request.events if e.id in leaving)
    return CompactionResult(
        archived=archived,
        tokens_saved=request.tokens(archived),
        kept_reason=None if cut is None else cut.reason,
        abandoned_calls=() if cut is None else cut.abandoned_calls,
        over_budget=over_budget,
    )
