"""One pass over a repository: read the window, ask the trigger and the strategy, write the plan."""

from __future__ import annotations

from ..domain.errors import SessionNotFound
from ..domain.instant import Instant
from ..domain.ports import SessionRepository, TokenCounter
from ..domain.tokens import EstimatingCounter
from .request import CompactionRequest
from .result import CompactionResult
from .strategy import CompactionStrategy
from .triggers import AlwaysTrigger, CompactionTrigger

NEUTRAL = CompactionResult()


def compact_strictly(
    repository: SessionRepository,
    session_id: str,
    strategy: CompactionStrategy,
    *,
    now: Instant,
    trigger: CompactionTrigger | None = None,
    counter: TokenCounter | None = None,
) -> CompactionResult:
    """Run one pass that lands only if nothing has been written since it read (DESIGN 4, strict form).

    A trigger that does not fire, a strategy with nothing to do, and a race that was lost all give a
    neutral result, and nothing is written.

    Raises:
        SessionNotFound: there is no such session.
        TooFragmented: see :meth:`~turnlog.domain.ports.SessionRepository.apply_compaction`.
        Whatever the strategy's summarizer raises.
    """
    window = repository.window(session_id)
    if window is None:
        raise SessionNotFound(session_id)
    request = CompactionRequest(window.session.record, window.events, counter or EstimatingCounter())
    if not (trigger or AlwaysTrigger()).fires(request):
        return NEUTRAL
    result = strategy.compact(request)
    if result.is_neutral:
        return result
    version = window.session.version.number
    landed = repository.apply_compaction(session_id, result.plan(), version, now=now)
    return result if landed else NEUTRAL
