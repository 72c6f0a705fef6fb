"""Triggers, counts, passes, and the system-message rule of the service."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.windows import CharacterCounter
from turnlog.compaction import (
    AlwaysTrigger,
    AnyTrigger,
    CompactionRequest,
    CompactionResult,
    CompactionStrategy,
    CompactionTrigger,
    RecursiveSummarization,
    SlidingWindow,
    SummaryPrompt,
    TokenCount,
    TokenCountTrigger,
    TurnCountTrigger,
    TurnWindow,
)
from turnlog.compaction.passes import compact_strictly
from turnlog.domain.event import SessionEvent
from turnlog.domain.filter import EventFilter
from turnlog.domain.ports import AppendRequest, AppendResult, CompactionPlan, SessionRepository, Window
from turnlog.service import CreateSession, ServiceSettings, SessionService
from turnlog.stores.memory import InMemorySessionRepository
from turnlog.testing.builders import START, a_session, scripted, tell
from turnlog.testing.clock import ManualClock

from .cases import Case, only
from .pure import Facts

SESSION = "sess"


class NeverTrigger:
    """Does not fire."""

    def fires(self, request: CompactionRequest) -> bool:
        """No."""
        return False


@dataclass
class ScriptedModel:
    """Gives one answer and remembers what it was asked."""

    answer: str | None
    asked: list[SummaryPrompt] = field(default_factory=list)

    def __call__(self, prompt: SummaryPrompt) -> str | None:
        """The answer."""
        self.asked.append(prompt)
        return self.answer


def a_trigger(spelled: Mapping[str, Any]) -> CompactionTrigger:
    """A trigger from the vectors' spelling."""
    match only(spelled, "type", "maxTurns", "threshold", "triggers"):
        case {"type": "turn_count", "maxTurns": turns}:
            return TurnCountTrigger(turns)
        case {"type": "token_count", "threshold": threshold}:
            return TokenCountTrigger(threshold)
        case {"type": "any_of", "triggers": triggers}:
            return AnyTrigger(tuple(a_trigger(part) for part in triggers))
        case {"type": "always"}:
            return AlwaysTrigger()
        case {"type": "never"}:
            return NeverTrigger()
        case _:
            raise AssertionError(f"the runner does not know the trigger {spelled}")


_PARAMETERS = {
    "maxEvents": "max_events",
    "maxTurns": "max_turns",
    "maxTokens": "max_tokens",
    "maxEventsToKeep": "max_events_to_keep",
    "overlapSize": "overlap_size",
    "shadowPrompt": "shadow_prompt",
}
_STRATEGIES: Mapping[str, Callable[..., CompactionStrategy]] = {
    "sliding_window": SlidingWindow,
    "turn_window": TurnWindow,
    "token_count": TokenCount,
    "recursive": RecursiveSummarization,
}


def _strategy(when: Mapping[str, Any], model: ScriptedModel) -> CompactionStrategy:
    parameters = {name: when[key] for key, name in _PARAMETERS.items() if key in when}
    if when["strategy"] == "recursive":
        parameters["summarizer"] = model
    return _STRATEGIES[when["strategy"]](**parameters)


def _request(case: Case) -> CompactionRequest:
    repository = InMemorySessionRepository()
    repository.save(a_session(SESSION))
    tell(repository, only(case.given, "log")["log"], SESSION)
    window = repository.window(SESSION)
    assert window is not None
    return CompactionRequest(window.session.record, window.events, CharacterCounter())


def _trigger(case: Case) -> Facts:
    return {"fires": a_trigger(only(case.when, "op", "trigger")["trigger"]).fires(_request(case))}


def _counts(case: Case) -> Facts:
    only(case.when, "op")
    request = _request(case)
    return {"events": request.event_count, "turns": request.turn_count}


class _Racing:
    """The repository of a writer who is overtaken: another appends between its read and its write."""

    def __init__(self, repository: SessionRepository, event: str) -> None:
        self._repository = repository
        self._event = event

    def window(self, session_id: str) -> Window | None:
        """What is read before the other one appends."""
        return self._repository.window(session_id)

    def apply_compaction(self, session_id: str, plan: CompactionPlan, expected_version: int, **rest: Any) -> bool:
        """The write after it has."""
        self._repository.append(AppendRequest(session_id, (scripted(self._event).draft,), START))
        return self._repository.apply_compaction(session_id, plan, expected_version, **rest)


def _compact(case: Case, repository: SessionRepository) -> Facts:
    when = only(case.when, "op", "strategy", "trigger", "times", "concurrentAppend", "summary", *_PARAMETERS)
    repository.save(a_session(SESSION))
    tell(repository, only(case.given, "log")["log"], SESSION)
    before = {event.id for event in repository.read(SESSION)}
    version = repository.version(SESSION)
    model = ScriptedModel(when.get("summary"))
    strategy = _strategy(when, model)
    trigger = a_trigger(when.get("trigger", {"type": "always"}))
    racing: Any = _Racing(repository, when["concurrentAppend"]) if "concurrentAppend" in when else repository
    result = CompactionResult()
    for _ in range(when.get("times", 1)):
        result = compact_strictly(racing, SESSION, strategy, now=START, trigger=trigger, counter=CharacterCounter())
    log = repository.read(SESSION)
    name = _names(log, before | ({when["concurrentAppend"]} if "concurrentAppend" in when else set()))
    return {
        "active": [name(event) for event in repository.read(SESSION, EventFilter.active())],
        "archived": [event.id for event in result.archived],
        "log": [("-" if event.archived else "") + name(event) for event in log],
        "deleted": sorted(before - {event.id for event in log}),
        "versionDelta": repository.version(SESSION) - version,
        "tokensSaved": result.tokens_saved,
        "llmCalls": len(model.asked),
        "promptIncludes": _of_prompt(case, model, "promptIncludes", held=True),
        "promptExcludes": _of_prompt(case, model, "promptExcludes", held=False),
    }


def _names(log: Sequence[SessionEvent], known: set[str]) -> Callable[[SessionEvent], str]:
    """How the vectors name an event: what the pass has made is `~u:new` and `~a:new`."""
    short = {"user": "~u:new", "assistant": "~a:new"}
    return lambda event: event.id if event.id in known else short[event.role]


def _of_prompt(case: Case, model: ScriptedModel, key: str, *, held: bool) -> list[str]:
    """Those of the case's words that the only prompt holds, or does not hold."""
    words: list[str] = case.then.get(key, [])
    if not words:
        return []
    (prompt,) = model.asked
    return [word for word in words if (word in prompt.user) == held]


def _append(case: Case, repository: SessionRepository) -> Facts:
    settings = ServiceSettings(allow_system_messages=only(case.given, "allowSystemMessages")["allowSystemMessages"])
    service = SessionService(repository, clock=ManualClock(), settings=settings)
    service.create(CreateSession(user_id="alice", id=SESSION))
    draft = scripted(only(case.when, "op", "event")["event"]).draft
    answer: AppendResult = service.append("alice", SESSION, (draft,))
    return {"events": [event.id for event in answer.events]}


PURE: Mapping[str, Callable[[Case], Facts]] = {"trigger": _trigger, "counts": _counts}
STORED: Mapping[str, Callable[[Case, SessionRepository], Facts]] = {"compact": _compact, "append": _append}
