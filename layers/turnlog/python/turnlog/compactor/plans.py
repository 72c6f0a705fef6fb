"""From what a strategy decided to the pass that is written, with all that it says of itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from ..compaction.request import CompactionRequest
from ..compaction.result import CompactionResult
from ..compaction.triggers import CompactionTrigger, Watermark
from ..domain.due import Attempt, WindowSize
from ..domain.exactjson import JsonObject
from ..domain.instant import Instant
from ..domain.passes import AskedBy, PassDetail
from ..domain.ports import CompactionPlan, Window
from ..domain.tokens import format_message

MAX_ABANDONED: Final = 50
"""A pass names at most so many abandoned calls: its item has a kilobyte to spend."""


@dataclass(frozen=True)
class Asked:
    """Who wants a pass, and by which rules. ``watching`` is the trigger of the session's policy: when
    it fires still, the session remembers that another pass would be futile."""

    by: AskedBy
    user: str | None = None
    trigger: JsonObject | None = None
    strategy: JsonObject | None = None
    watching: CompactionTrigger | None = None


def plan_of(
    result: CompactionResult,
    request: CompactionRequest,
    window: Window,
    asked: Asked,
    now: Instant,
    *,
    model: str | None = None,
) -> CompactionPlan:
    """The plan that a store carries out."""
    counter = request.counter
    detail = PassDetail(
        asked_by=asked.by,
        user=asked.user,
        trigger=asked.trigger,
        strategy=asked.strategy,
        model=model,
        tokens_before=request.window_tokens,
        tokens_saved=result.tokens_saved,
        counter=f"{counter.name}/{counter.version}",
        kept_reason=result.kept_reason,
        abandoned_calls=result.abandoned_calls[:MAX_ABANDONED],
        over_budget=result.over_budget,
    )
    return replace(result.plan(), detail=detail, attempt=_attempt_after(result, request, window, asked, now))


def _attempt_after(
    result: CompactionResult, request: CompactionRequest, window: Window, asked: Asked, now: Instant
) -> Attempt | None:
    """A pass after which the trigger still fires will not be followed by another one at once: what
    fills the window cannot leave it, and each turn would bring a pass (field case D7)."""
    trigger = asked.watching
    if trigger is None or not isinstance(trigger, Watermark):
        return None
    inserted = sum(request.counter.count(format_message(draft.message)) for draft in result.inserted)
    superseded = {event.id for event in request.superseded}
    turns = sum(map(request.is_turn_start, result.archived))
    counted = request.tokens(event for event in result.archived if event.id not in superseded)
    exact = WindowSize(request.turn_count - turns, request.window_tokens - counted + inserted)
    if not trigger.fires_at(exact):
        return None
    left = WindowSize(window.size.turns - turns, window.size.tokens - request.tokens(result.archived) + inserted)
    return Attempt(1, "futile", now, reason="still_over", size=left)
