"""What is asked of a compaction, and what is answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..compaction.result import CompactionResult
from ..domain.archive import ranges_of
from ..domain.exactjson import JsonObject
from ..domain.instant import Instant
from ..domain.passes import PassRecord, Range
from ..domain.session import Version

CompactionStatus = Literal["compacted", "nothing_to_do", "not_triggered", "coalesced", "refused", "started"]
"""``coalesced``: another pass was first, or is being made. ``started``: a model writes the summary, and
the pass lands later. ``refused``: not tried; the reason says why."""


@dataclass(frozen=True)
class CompactCommand:
    """A pass that somebody asks for.

    Without a strategy the session's policy, or the stage's, is carried out, its trigger included. A
    strategy without a trigger runs in any case. ``force`` runs whatever triggers and earlier tries
    say. ``dry_run`` tells what would happen, and writes nothing.
    """

    trigger: JsonObject | None = None
    strategy: JsonObject | None = None
    force: bool = False
    dry_run: bool = False


@dataclass(frozen=True)
class CompactionAnswer:
    """What became of it. ``id`` names the pass, also one that is being made; ``archived`` are the
    stretches that left the window. In a dry run of a summarising strategy ``tokens_saved`` does not
    count what the summary will take."""

    status: CompactionStatus
    version: Version
    id: str | None = None
    archived: tuple[Range, ...] = ()
    tokens_saved: int = 0
    kept_reason: str | None = None
    abandoned_calls: tuple[str, ...] = ()
    over_budget: bool = False
    reason: str | None = None
    detail: str = ""
    retry_at: Instant | None = None

    @classmethod
    def of_record(cls, status: CompactionStatus, version: Version, record: PassRecord) -> CompactionAnswer:
        """The answer that tells of a pass."""
        detail = record.detail
        return cls(
            status,
            version,
            id=record.id,
            archived=record.archived,
            tokens_saved=detail.tokens_saved,
            kept_reason=detail.kept_reason,
            abandoned_calls=detail.abandoned_calls,
            over_budget=detail.over_budget,
        )

    @classmethod
    def of_result(cls, status: CompactionStatus, version: Version, result: CompactionResult) -> CompactionAnswer:
        """The answer that tells of what a strategy decided, before or without writing it."""
        return cls(
            status,
            version,
            archived=ranges_of(event.seq for event in result.archived if event.seq is not None),
            tokens_saved=result.tokens_saved,
            kept_reason=result.kept_reason,
            abandoned_calls=result.abandoned_calls,
            over_budget=result.over_budget,
        )
