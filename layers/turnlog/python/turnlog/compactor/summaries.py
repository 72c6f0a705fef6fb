"""The steps of a summarising pass: load, summarise each chunk, combine, commit; or fail.

    load        what is to be summarised, and in how many chunks
    summarise   one question to the model; its answer is kept as a part
    combine     more than one part: into how many questions they go, a level higher
    commit      the last part becomes the summary, and the pass lands

Each step reads the window again, up to the seq that the job names, and comes to the same selection:
only names travel between the steps. Whatever happens before the commit changes nothing but the
attempt on the head. An answer that is no summary never becomes one (field case D22).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from ..compaction.chunks import Chunk, budget_of, chunks_of, combinations
from ..compaction.policy import parse_strategy
from ..compaction.recursive_summarization import RecursiveSummarization, Selection
from ..compaction.request import CompactionRequest
from ..compaction.result import CompactionResult
from ..domain.errors import CorruptLog, InvalidRequest, SessionNotFound
from ..domain.event import has_text
from ..domain.exactjson import JsonObject
from ..domain.message import Message
from ..domain.models import ModelError, ModelReply, ModelRequest
from ..domain.passes import PassRecord
from ..domain.ports import Clock, CompactionPlan, PassRequest, SessionRepository, TokenCounter, Window
from ..domain.session import StoredSession, Version
from ..domain.tokens import EstimatingCounter
from .attempts import failed_attempt
from .jobs import ModelBook, PartRef, PartStore, SummaryJob, SummaryModel
from .plans import Asked, plan_of
from .policies import Policies

StepStatus = Literal["ready", "ok", "retry", "failed", "landed", "coalesced", "gone"]
"""``ready``: go on with ``chunks`` questions. ``ok``: ``part`` is written. ``retry``: ask again after
``wait_seconds``. ``landed``, ``coalesced`` and ``gone`` end it, as does ``failed``, after which the
failure is to be remembered."""

DEFAULT_WAIT_SECONDS: Final = 5
MAX_WAIT_SECONDS: Final = 120


@dataclass(frozen=True)
class StepAnswer:
    """What a step says; only what its status needs is there."""

    status: StepStatus
    chunks: int = 0
    part: PartRef | None = None
    wait_seconds: int = 0
    reason: str | None = None
    detail: str = ""
    version: Version | None = None
    record: PassRecord | None = None


@dataclass(frozen=True)
class _Work:
    """What every step looks at."""

    window: Window
    whole: CompactionRequest
    request: CompactionRequest
    strategy: RecursiveSummarization
    selection: Selection
    model: SummaryModel
    budget: int

    def chunks(self) -> list[Chunk]:
        """The questions of the first level."""
        return chunks_of(self.strategy, self.request, self.selection, self.budget)


class _Ended(Exception):
    """There is nothing left to do; the answer says why."""

    def __init__(self, answer: StepAnswer) -> None:
        super().__init__(answer.status)
        self.answer = answer


class Summaries:
    """Carries out the steps for the sessions of one tenant."""

    def __init__(
        self,
        repository: SessionRepository,
        *,
        clock: Clock,
        models: ModelBook,
        parts: PartStore,
        policies: Policies | None = None,
        counter: TokenCounter | None = None,
    ) -> None:
        self._repository = repository
        self._clock = clock
        self._models = models
        self._parts = parts
        self._policies = policies or Policies(clock)
        self._counter = counter or EstimatingCounter()

    # ------------------------------------------------------------------ the steps

    def load(self, job: SummaryJob) -> StepAnswer:
        """How many questions there are.

        Raises:
            StoreUnavailable: not just now. So do all steps.
        """
        try:
            return StepAnswer("ready", chunks=len(self._work(job).chunks()))
        except _Ended as ended:
            return ended.answer

    def summarise(self, job: SummaryJob, level: int, index: int, below: Sequence[PartRef] = ()) -> StepAnswer:
        """Ask one question, and keep the answer. ``below`` are the parts of the level below, above the first."""
        try:
            work = self._work(job)
            chunk = self._chunk(work, level, index, below)
            text = self._ask(work, chunk)
        except _Ended as ended:
            return ended.answer
        return StepAnswer("ok", part=self._parts.put(job, f"{level}.{index}", text))

    def combine(self, job: SummaryJob, parts: Sequence[PartRef]) -> StepAnswer:
        """How many questions the parts go into."""
        try:
            work = self._work(job)
        except _Ended as ended:
            return ended.answer
        return StepAnswer("ready", chunks=len(self._combined(work, parts)))

    def commit(self, job: SummaryJob, part: PartRef) -> StepAnswer:
        """Land the pass with the last part as its summary. Repeating it is safe."""
        summary = self._parts.get(part)
        ended: list[StepAnswer] = []

        def decide(window: Window) -> CompactionPlan | None:
            try:
                work = self._look(job, window)
            except _Ended as end:
                ended.append(end.answer)
                return None
            return self._plan(job, work, summary)

        only_at = Version(job.inc, job.last_seq, job.generation) if job.only_at else None
        now = self._clock.now()
        try:
            outcome = self._repository.compact(PassRequest(job.session_id, decide, now, only_at, job.pass_id))
        except SessionNotFound:
            return StepAnswer("gone")
        if outcome.record is not None:
            return StepAnswer("landed", version=outcome.version, record=outcome.record)
        self._forget(job)
        return ended[0] if ended else StepAnswer("coalesced", version=outcome.version)

    def fail(self, job: SummaryJob, reason: str, detail: str = "") -> StepAnswer:
        """Remember that the try has failed, unless it is not the session's newest any more."""
        session, now = self._repository.find(job.session_id), self._clock.now()
        if session is not None and self._is_current(session, job):
            assert session.attempt is not None
            failed = failed_attempt(session.attempt, now, reason, detail)
            self._repository.record_attempt(session, failed, now=now)
        return StepAnswer("failed", reason=reason, detail=detail)

    def run(self, job: SummaryJob) -> StepAnswer:
        """All steps, one after the other, in this process. What would be tried again elsewhere fails here."""
        answer = self.load(job)
        level, parts = 0, list[PartRef]()
        while answer.status == "ready":
            below, parts = parts, []
            for index in range(answer.chunks):
                answer = self.summarise(job, level, index, below)
                if answer.part is None:
                    break
                parts.append(answer.part)
            if answer.part is not None:
                level += 1
                answer = self.commit(job, parts[0]) if len(parts) == 1 else self.combine(job, parts)
        if answer.status in ("retry", "failed"):
            return self.fail(job, answer.reason or "failed", answer.detail)
        return answer

    # ------------------------------------------------------------------ what they share

    def _work(self, job: SummaryJob) -> _Work:
        """Raises ``_Ended`` when the session has moved on."""
        window = self._repository.window(job.session_id)
        if window is None or window.session.record.expired(self._clock.now()):
            raise _Ended(StepAnswer("gone"))
        return self._look(job, window)

    def _look(self, job: SummaryJob, window: Window) -> _Work:
        version = window.session.version
        if version.inc != job.inc:
            raise _Ended(StepAnswer("gone"))
        if version.generation != job.generation:
            raise _Ended(StepAnswer("coalesced", version=version))
        strategy = parse_strategy(JsonObject(job.strategy))
        if not isinstance(strategy, RecursiveSummarization):
            raise _Ended(StepAnswer("failed", reason="bad_policy", detail="the strategy asks no model"))
        seen = tuple(event for event in window.events if event.seq is None or event.seq <= job.last_seq)
        request = CompactionRequest(window.session.record, seen, self._counter)
        selection = strategy.select(request)
        if selection is None or selection.cut.is_empty:
            raise _Ended(StepAnswer("failed", reason="nothing_to_archive"))
        model, budget = self._model(strategy)
        whole = CompactionRequest(window.session.record, window.events, self._counter)
        return _Work(window, whole, request, strategy, selection, model, budget)

    def _model(self, strategy: RecursiveSummarization) -> tuple[SummaryModel, int]:
        model = None if strategy.model is None else self._models.find(strategy.model)
        if model is None:
            raise _Ended(StepAnswer("failed", reason="unknown_model", detail=f"{strategy.model!r}"))
        try:
            budget = budget_of(
                strategy,
                self._counter,
                window_tokens=model.window_tokens,
                output_tokens=model.max_output_tokens,
            )
        except InvalidRequest as small:
            raise _Ended(StepAnswer("failed", reason="window_too_small", detail=small.detail)) from None
        return model, budget

    def _chunk(self, work: _Work, level: int, index: int, below: Sequence[PartRef]) -> Chunk:
        chunks = work.chunks() if level == 0 else self._combined(work, below)
        return chunks[index]

    def _combined(self, work: _Work, parts: Sequence[PartRef]) -> list[Chunk]:
        return combinations([self._parts.get(part) for part in parts], work.budget, self._counter)

    def _ask(self, work: _Work, chunk: Chunk) -> str:
        """The model's summary of a chunk.

        Raises:
            _Ended: there is none; whether it is worth asking again stands in it.
        """
        prompt = chunk.prompt(work.strategy)
        request = ModelRequest(prompt.system, (Message.user(prompt.user),), work.model.max_output_tokens)
        try:
            reply = work.model.client.complete(request)
        except ModelError as error:
            wait = error.retry_after_seconds
            seconds = DEFAULT_WAIT_SECONDS if wait is None else min(MAX_WAIT_SECONDS, max(1, round(wait)))
            status: StepStatus = "retry" if error.retryable else "failed"
            answer = StepAnswer(status, reason=error.reason, detail=error.detail, wait_seconds=seconds)
            raise _Ended(answer) from error
        reason = _no_summary(reply)
        if reason is not None:
            raise _Ended(StepAnswer("failed", reason=reason))
        assert reply.text is not None
        return reply.text

    def _plan(self, job: SummaryJob, work: _Work, summary: str) -> CompactionPlan:
        result = work.strategy.conclude(work.request, work.selection, summary)
        result = _with_later_superseded(result, work.whole)
        policy = None
        try:
            policy = self._policies.of(work.window.session.record)
        except InvalidRequest:
            policy = None  # changed meanwhile to one that cannot be read; there is no trigger to watch
        asked = Asked(
            by="trigger" if job.asked_by == "trigger" else "request",
            user=job.user,
            trigger=None if job.trigger is None else JsonObject(job.trigger),
            strategy=JsonObject(job.strategy),
            watching=None if policy is None else policy.trigger,
        )
        return plan_of(result, work.whole, work.window, asked, self._clock.now(), model=work.model.name)

    def _forget(self, job: SummaryJob) -> None:
        """The try has come to nothing, and nothing is wrong: the next trigger need not wait for it."""
        session, now = self._repository.find(job.session_id), self._clock.now()
        if session is not None and self._is_current(session, job):
            assert session.attempt is not None
            ended = replace(session.attempt, status="failed", at=now, reason="coalesced", retry_at=now)
            self._repository.record_attempt(session, ended, now=now)

    @staticmethod
    def _is_current(session: StoredSession, job: SummaryJob) -> bool:
        attempt, version = session.attempt, session.version
        same = (version.inc, version.generation) == (job.inc, job.generation)
        return same and attempt is not None and attempt.status == "running" and attempt.pass_id == job.pass_id


def _no_summary(reply: ModelReply) -> str | None:
    """Why a reply is no summary; None when it is one."""
    if reply.finish == "refused":
        return "refused"
    if reply.finish == "tool_calls":
        return "tool_call"
    if reply.text is None or not has_text(reply.text):
        return "blank"
    return "cut_off" if reply.finish == "length" else None


def _with_later_superseded(result: CompactionResult, whole: CompactionRequest) -> CompactionResult:
    """System messages that were superseded since the job was started leave with the pass, too."""
    leaving = {event.id for event in result.archived}
    later = [event for event in whole.superseded if event.id not in leaving]
    if not later:
        return result
    leaving |= {event.id for event in later}
    archived = tuple(event for event in whole.events if event.id in leaving)
    return replace(result, archived=archived, tokens_saved=result.tokens_saved + whole.tokens(later))


__all__ = ["CorruptLog", "StepAnswer", "Summaries"]
