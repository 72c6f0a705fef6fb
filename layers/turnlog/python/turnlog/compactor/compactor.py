"""Compactor: runs the passes that callers and policies ask for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from ..compaction.policy import parse_strategy, parse_trigger
from ..compaction.recursive_summarization import RecursiveSummarization
from ..compaction.request import CompactionRequest
from ..compaction.result import CompactionResult, archiving
from ..compaction.strategy import CompactionStrategy
from ..compaction.triggers import AlwaysTrigger, CompactionTrigger
from ..domain.due import Attempt
from ..domain.errors import (
    InvalidRequest,
    PassNotFound,
    PreconditionFailed,
    SessionNotFound,
    StoreUnavailable,
    TooFragmented,
)
from ..domain.exactjson import JsonObject
from ..domain.passes import PassDetail, PassPage, PassRecord
from ..domain.ports import (
    Clock,
    CompactionPlan,
    PassOutcome,
    PassRequest,
    SessionRepository,
    TokenCounter,
    Window,
)
from ..domain.session import ETag, StoredSession, Version, matches
from ..domain.tokens import EstimatingCounter
from .answers import CompactCommand, CompactionAnswer, CompactionStatus
from .attempts import failed_attempt, holds_back, next_number, pass_id_of
from .jobs import ModelBook, SummaryJob, SummaryStarter
from .plans import Asked, plan_of
from .policies import Policies
from .summaries import Summaries

LEASE_SECONDS: Final = 20 * 60
"""How long a try that is being made keeps others away; longer than an execution may take."""


@dataclass(frozen=True)
class _Rules:
    """The trigger and the strategy of one pass, and who asked."""

    trigger: CompactionTrigger
    strategy: CompactionStrategy
    asked: Asked


@dataclass
class _Look:
    """What was found when the window was read."""

    window: Window | None = None
    result: CompactionResult | None = None
    wants_model: bool = False
    answer: CompactionAnswer | None = None


class Compactor:
    """Passes over the sessions of one tenant.

    Args:
        repository: where the sessions are.
        clock: the time.
        policies: the stage's default policy.
        counter: counts tokens.
        summaries: carries out the steps of a summarising pass; without it such a pass is refused.
        starter: has the steps carried out elsewhere; without one they run here, one after the other.
    """

    def __init__(
        self,
        repository: SessionRepository,
        *,
        clock: Clock,
        policies: Policies | None = None,
        counter: TokenCounter | None = None,
        models: ModelBook | None = None,
        summaries: Summaries | None = None,
        starter: SummaryStarter | None = None,
    ) -> None:
        self._repository = repository
        self._clock = clock
        self._policies = policies or Policies(clock)
        self._counter = counter or EstimatingCounter()
        self._models = models
        self._summaries = summaries
        self._starter = starter

    # ------------------------------------------------------------------ for callers

    def compact(
        self, user_id: str, session_id: str, command: CompactCommand, *, if_match: tuple[str, ...] | None = None
    ) -> CompactionAnswer:
        """Run a pass now, or start one that a model has a part in.

        Raises:
            SessionNotFound: not live, or another user's.
            InvalidRequest: no strategy is given and no policy is there, or one of them is not valid.
            PreconditionFailed: the log is not at any tag of ``if_match``. A pass that loses a race to
                an append after that says ``coalesced``.
            TooFragmented: the pass would leave too many separate stretches.
            StoreUnavailable: not just now.
        """
        session = self._live(user_id, session_id)
        only_at = self._matched(session, if_match)
        rules = self._rules_of(session, command, user_id)
        held = self._held_back(session, command)
        if held is not None:
            return held
        if command.dry_run:
            return self._dry_run(user_id, session_id, rules)
        return self._run(session_id, rules, user_id=user_id, only_at=only_at)

    def undo(self, user_id: str, session_id: str, pass_id: str) -> tuple[Version, PassRecord]:
        """Restore the window as it was before the newest pass; see the port.

        Raises:
            SessionNotFound: not live, or another user's.
            PassNotFound, NotNewestPass, StoreUnavailable: see the port.
        """
        self._live(user_id, session_id)
        detail = PassDetail(asked_by="request", user=user_id)
        outcome = self._repository.undo(session_id, pass_id, now=self._clock.now(), detail=detail)
        assert outcome.record is not None
        return outcome.version, outcome.record

    def history(
        self, user_id: str, session_id: str, *, first: str | None = None, limit: int = 20
    ) -> tuple[StoredSession, PassPage]:
        """A page of the session's passes, the newest first; raises ``SessionNotFound``."""
        session = self._live(user_id, session_id)
        return session, self._repository.passes(session, first=first, limit=limit)

    def find(self, user_id: str, session_id: str, pass_id: str) -> tuple[StoredSession, PassRecord | Attempt]:
        """One pass, or the try that is to become it.

        Raises:
            SessionNotFound: not live, or another user's.
            PassNotFound: neither is there.
        """
        session = self._live(user_id, session_id)
        found = self._repository.find_pass(session, pass_id)
        if found is not None:
            return session, found
        attempt = session.attempt
        if attempt is not None and attempt.pass_id == pass_id:
            return session, attempt
        raise PassNotFound(session_id, pass_id)

    # ------------------------------------------------------------------ for the session's own policy

    def run_due(self, session_id: str) -> CompactionAnswer | None:
        """Carry out the session's policy, if it still asks for a pass; None when there is no session,
        or no policy.

        What changes nothing is remembered, so that the same is not tried at once again: a pass that
        would save nothing, one that is too fragmented, a model that gives no summary.

        Raises:
            StoreUnavailable: not just now.
            CorruptLog: the window cannot be read.
        """
        session = self._repository.find(session_id)
        if session is None or session.record.expired(self._clock.now()):
            return None
        try:
            policy = self._policies.of(session.record)
        except InvalidRequest as bad:
            # Nothing to remember: an append does not ask for a policy that cannot be read.
            return CompactionAnswer("refused", session.version, reason="bad_policy", detail=bad.detail)
        text = self._policies.text_of(session.record.compaction)
        if policy is None or text is None:
            self._forget(session)
            return None
        asked = Asked("trigger", None, _part(text, "trigger"), _part(text, "strategy"), policy.trigger)
        return self._run(session_id, _Rules(policy.trigger, policy.strategy, asked), triggered=True)

    # ------------------------------------------------------------------ rules

    def _live(self, user_id: str, session_id: str) -> StoredSession:
        found = self._repository.find(session_id)
        if found is None or found.record.user_id != user_id or found.record.expired(self._clock.now()):
            raise SessionNotFound(session_id)
        return found

    @staticmethod
    def _matched(session: StoredSession, if_match: tuple[str, ...] | None) -> Version | None:
        if if_match is None:
            return None
        if not matches(if_match, ETag(session.version)):
            raise PreconditionFailed(
                "The log has changed since the version in If-Match.",
                version=session.version.etag(),
                number=session.version.number,
            )
        return session.version

    def _rules_of(self, session: StoredSession, command: CompactCommand, user_id: str) -> _Rules:
        policy = self._policies.of(session.record)
        text = self._policies.text_of(session.record.compaction)
        trigger: CompactionTrigger = AlwaysTrigger()
        trigger_text, strategy_text = command.trigger, command.strategy
        if command.strategy is not None:
            strategy = parse_strategy(command.strategy)
        elif policy is not None and text is not None:
            strategy, strategy_text = policy.strategy, _part(text, "strategy")
        else:
            raise InvalidRequest.at("/strategy", "is required: neither the session nor its stage has a policy")
        if command.trigger is not None:
            trigger = parse_trigger(command.trigger)
        elif policy is not None and text is not None and command.strategy is None:
            trigger, trigger_text = policy.trigger, _part(text, "trigger")
        if command.force:
            trigger = AlwaysTrigger()
        self._check_model(strategy)
        watching = None if policy is None else policy.trigger
        return _Rules(trigger, strategy, Asked("request", user_id, trigger_text, strategy_text, watching))

    def _check_model(self, strategy: CompactionStrategy) -> None:
        if not self._knows_model(strategy):
            known = ", ".join(() if self._models is None else self._models.names) or "none"
            raise InvalidRequest.at("/strategy/model", f"is not a model of this stage; there is: {known}")

    def _knows_model(self, strategy: CompactionStrategy) -> bool:
        """Whether the stage has the model; a strategy with a summarizer of its own needs none."""
        if not isinstance(strategy, RecursiveSummarization) or strategy.summarizer is not None:
            return True
        return self._models is not None and strategy.model is not None and strategy.model in self._models.names

    def _held_back(self, session: StoredSession, command: CompactCommand) -> CompactionAnswer | None:
        attempt, now = session.attempt, self._clock.now()
        if attempt is None or command.dry_run:
            return None
        if attempt.is_running(now):
            return _held(session)
        waits = attempt.status == "failed" and attempt.retry_at is not None and now < attempt.retry_at
        if waits and not command.force:
            return _held(session)
        return None

    # ------------------------------------------------------------------ one pass

    def _run(
        self,
        session_id: str,
        rules: _Rules,
        *,
        user_id: str | None = None,
        only_at: Version | None = None,
        triggered: bool = False,
    ) -> CompactionAnswer:
        look = _Look()

        def decide(window: Window) -> CompactionPlan | None:
            return self._decide(window, rules, look, user_id, triggered=triggered)

        request = PassRequest(session_id, decide, self._clock.now(), only_at)
        try:
            outcome = self._repository.compact(request)
        except TooFragmented:
            if not triggered or look.window is None:
                raise
            return self._futile(look.window, "too_fragmented")
        if outcome.status == "nothing":
            return self._without_pass(outcome, look, rules, only_at, triggered=triggered)
        if outcome.record is None:
            return CompactionAnswer("coalesced", outcome.version)
        return CompactionAnswer.of_record("compacted", outcome.version, outcome.record)

    def _decide(
        self, window: Window, rules: _Rules, look: _Look, user_id: str | None, *, triggered: bool
    ) -> CompactionPlan | None:
        """The plan for a window; without one, ``look`` says why."""
        now, session = self._clock.now(), window.session
        if user_id is not None and session.record.user_id != user_id:
            raise SessionNotFound(session.id)
        request = CompactionRequest(session.record, window.events, self._counter)
        look.window, look.answer = window, None
        if not rules.trigger.fires(request):
            look.answer = CompactionAnswer("not_triggered", session.version)
            return None
        if triggered and holds_back(session.attempt, rules.trigger, window.size, now):
            look.answer = _held(session)
            return None
        look.result, look.wants_model = _preview(rules.strategy, request)
        if look.wants_model or look.result.is_neutral or (triggered and look.result.tokens_saved == 0):
            return None
        return plan_of(look.result, request, window, rules.asked, now)

    def _without_pass(
        self, outcome: PassOutcome, look: _Look, rules: _Rules, only_at: Version | None, *, triggered: bool
    ) -> CompactionAnswer:
        if look.answer is not None:
            if triggered and look.window is not None and look.answer.status == "not_triggered":
                self._forget(look.window.session)
            return look.answer
        assert look.window is not None
        assert look.result is not None
        if look.wants_model:
            return self._start(look.window, rules, only_at, triggered=triggered)
        if triggered:
            return self._futile(look.window, look.result.kept_reason or "nothing_to_archive")
        return CompactionAnswer("nothing_to_do", outcome.version, kept_reason=look.result.kept_reason)

    def _dry_run(self, user_id: str, session_id: str, rules: _Rules) -> CompactionAnswer:
        window = self._repository.window(session_id)
        if window is None:
            raise SessionNotFound(session_id)
        look = _Look()
        self._decide(window, rules, look, user_id, triggered=False)
        if look.answer is not None:
            return look.answer
        assert look.result is not None
        status: CompactionStatus = "nothing_to_do" if look.result.is_neutral else "compacted"
        return CompactionAnswer.of_result(status, window.session.version, look.result)

    def _futile(self, window: Window, reason: str) -> CompactionAnswer:
        """Remember that a pass is of no use; whoever has changed the session meanwhile knows better."""
        session, now = window.session, self._clock.now()
        attempt = Attempt(next_number(session), "futile", now, reason=reason, size=window.size)
        self._repository.record_attempt(session, attempt, now=now)
        return CompactionAnswer("nothing_to_do", session.version, reason=reason)

    def _forget(self, session: StoredSession) -> None:
        """A try whose time has come, and which nobody wants any more."""
        attempt, now = session.attempt, self._clock.now()
        if attempt is not None and attempt.retry_at is not None and attempt.retry_at <= now:
            self._repository.record_attempt(session, None, now=now)

    # ------------------------------------------------------------------ passes with a model

    def _start(self, window: Window, rules: _Rules, only_at: Version | None, *, triggered: bool) -> CompactionAnswer:
        """Claim the next try, then have it made. Of all that want one at this moment, one gets it."""
        session, now = window.session, self._clock.now()
        number, version = next_number(session), session.version
        if triggered and not self._knows_model(rules.strategy):
            return self._futile(window, "unknown_model")
        pass_id = pass_id_of(session.id, version, number, now)
        claim = Attempt(
            number, "running", now, retry_at=now.plus_seconds(LEASE_SECONDS), pass_id=pass_id, size=window.size
        )
        if not self._repository.record_attempt(session, claim, now=now):
            return CompactionAnswer("coalesced", version)
        job = SummaryJob(
            session_id=session.id,
            inc=version.inc,
            generation=version.generation,
            last_seq=version.last_seq,
            number=number,
            pass_id=pass_id,
            strategy="" if rules.asked.strategy is None else rules.asked.strategy.raw,
            trigger=None if rules.asked.trigger is None else rules.asked.trigger.raw,
            asked_by=rules.asked.by,
            user=rules.asked.user,
            only_at=only_at is not None,
        )
        if self._starter is None:
            return self._in_place(job, version)
        try:
            self._starter.start(job)
        except StoreUnavailable as error:
            held = replace(session, attempt=claim)
            self._repository.record_attempt(held, failed_attempt(claim, now, "not_started", error.detail), now=now)
            raise
        return CompactionAnswer("started", version, id=pass_id)

    def _in_place(self, job: SummaryJob, version: Version) -> CompactionAnswer:
        assert self._summaries is not None, "models without summaries"
        done = self._summaries.run(job)
        if done.record is not None:
            return CompactionAnswer.of_record("compacted", done.version or version, done.record)
        if done.reason is not None:
            return CompactionAnswer("refused", version, reason=done.reason, detail=done.detail)
        return CompactionAnswer("coalesced", done.version or version)


def _preview(strategy: CompactionStrategy, request: CompactionRequest) -> tuple[CompactionResult, bool]:
    """What the strategy does, and whether a model has to be asked first."""
    if not isinstance(strategy, RecursiveSummarization) or strategy.summarizer is not None:
        return strategy.compact(request), False
    selection = strategy.select(request)
    if selection is None or selection.cut.is_empty:
        return archiving(request, None if selection is None else selection.cut), False
    return archiving(request, selection.cut, also=request.synthetic), True


def _held(session: StoredSession) -> CompactionAnswer:
    """Why an earlier try keeps another one away."""
    attempt = session.attempt
    assert attempt is not None
    status: CompactionStatus = "coalesced" if attempt.status == "running" else "refused"
    return CompactionAnswer(
        status,
        session.version,
        id=attempt.pass_id,
        reason=attempt.reason or attempt.status,
        detail=attempt.detail,
        retry_at=attempt.retry_at,
    )


def _part(policy: JsonObject, name: str) -> JsonObject | None:
    value = policy.get(name)
    return JsonObject.of(value) if isinstance(value, dict) else None
