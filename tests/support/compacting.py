"""A compactor over any repository, with models that say what a test wants."""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from turnlog.compactor import Compactor, PartRef, Policies, Summaries, SummaryJob, SummaryModel, SummaryStarter
from turnlog.domain.exactjson import JsonObject
from turnlog.domain.models import FinishReason, ModelClient, ModelReply, ModelRequest, Usage
from turnlog.domain.ports import Clock, SessionRepository
from turnlog.service import CreateSession, SessionService
from turnlog.testing.clock import ManualClock

POLICY = {"trigger": {"type": "turn_count", "max_turns": 20}, "strategy": {"type": "turn_window", "max_turns": 10}}
SUMMARY = {"type": "recursive_summarization", "max_events_to_keep": 4, "overlap_size": 1, "model": "some"}


def reply(text: str | None, finish: FinishReason = "stop") -> ModelReply:
    """A model's reply."""
    return ModelReply(text, finish, Usage(), "some-model")


class SomeModel:
    """Answers as it is told, one after the other, and then as ``otherwise`` says; keeps the questions."""

    name = "some"

    def __init__(self, *answers: ModelReply | Exception, otherwise: Callable[[str], str] | None = None) -> None:
        self._answers = list(answers)
        self._otherwise = otherwise or (lambda _: "As told.")
        self.asked: list[ModelRequest] = []
        self.before: Callable[[], object] = lambda: None

    def complete(self, request: ModelRequest) -> ModelReply:
        """The next answer."""
        self.asked.append(request)
        self.before()
        answer = self._answers.pop(0) if self._answers else reply(self._otherwise(self.question(-1)))
        if isinstance(answer, Exception):
            raise answer
        return answer

    def question(self, index: int) -> str:
        """What it was asked, without the instructions."""
        return self.asked[index].messages[0].text or ""


@dataclass
class Book:
    """One model, called ``some``."""

    client: ModelClient
    window_tokens: int = 32_000
    max_output_tokens: int = 500
    names: tuple[str, ...] = ("some",)

    def find(self, name: str) -> SummaryModel | None:
        """It, if it is asked for."""
        return (
            SummaryModel(name, self.client, self.window_tokens, self.max_output_tokens) if name in self.names else None
        )


@dataclass
class Parts:
    """Parts in memory."""

    kept: dict[str, str] = field(default_factory=dict)

    def put(self, job: SummaryJob, name: str, text: str) -> PartRef:
        """Keep one."""
        key = f"{job.pass_id}/{name}"
        self.kept[key] = text
        return PartRef(key, "", len(text))

    def get(self, ref: PartRef) -> str:
        """One again."""
        return self.kept[ref.key]


class Jobs:
    """Keeps the jobs that are started, for a test to carry out when it likes."""

    def __init__(self, *failures: Exception) -> None:
        self.started: list[SummaryJob] = []
        self._failures = list(failures)
        self._lock = threading.Lock()

    def start(self, job: SummaryJob) -> None:
        """Note it."""
        with self._lock:
            if self._failures:
                raise self._failures.pop(0)
            self.started.append(job)


class Stage:
    """A service and a compactor over one repository."""

    def __init__(
        self,
        repository: SessionRepository,
        *,
        model: SomeModel | None = None,
        default: Any = None,
        starter: SummaryStarter | None = None,
        clock: Clock | None = None,
        parts: Parts | None = None,
        window_tokens: int = 32_000,
    ) -> None:
        self.repository = repository
        self.clock = clock or ManualClock()
        self.model = model or SomeModel()
        self.policies = Policies(self.clock, None if default is None else JsonObject.of(default))
        self.service = SessionService(repository, clock=self.clock, due=self.policies.is_due)
        book = Book(self.model, window_tokens)
        self.summaries = Summaries(
            repository, clock=self.clock, models=book, parts=parts or Parts(), policies=self.policies
        )
        self.compactor = Compactor(
            repository,
            clock=self.clock,
            policies=self.policies,
            models=book,
            summaries=self.summaries,
            starter=starter,
        )

    def create(self, policy: Any = None, **fields: Any) -> None:
        """The session "s" of alice."""
        compaction = None if policy is None else JsonObject.of(policy)
        self.service.create(CreateSession("alice", "s", compaction=compaction, **fields))

    def say(self, events: str | Iterable[Any]) -> bool:
        """Append a history as one batch; whether it asks for a pass."""
        from turnlog.testing.builders import drafts

        return self.service.append("alice", "s", drafts(events)).due

    def turns(self, first: int, last: int) -> list[int]:
        """Turns, each an append of its own; the numbers of those that ask for a pass."""
        return [i for i in range(first, last + 1) if self.say(f"u{i} a{i}")]

    @property
    def active(self) -> list[str]:
        """The ids in the window, "+" for an inserted one."""
        window = self.repository.window("s")
        assert window is not None
        return ["+" if event.position is not None else event.id for event in window.events]
