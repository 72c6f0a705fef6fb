"""Compactions of the fake API: they really compact, and a model is asked when the test says so.

The wire shapes are written here by hand, as in :mod:`tests.support.fake_api`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnlog.compactor import CompactCommand, CompactionAnswer, Compactor, PartRef, Summaries, SummaryJob, SummaryModel
from turnlog.domain.due import Attempt
from turnlog.domain.exactjson import JsonObject, loads
from turnlog.domain.models import ModelReply, ModelRequest, Usage
from turnlog.domain.passes import PassRecord
from turnlog.domain.ports import Clock, SessionRepository

Answered = tuple[int, Mapping[str, Any], str]
"""Status, body and ETag."""


class FakeModel:
    """Summarises everything in the same words; one that refuses says nothing."""

    name = "scripted"

    def __init__(self) -> None:
        self.refuses = False

    def complete(self, request: ModelRequest) -> ModelReply:
        """The summary."""
        return ModelReply(None if self.refuses else "They talked.", "refused" if self.refuses else "stop", Usage(), "r")


class FakeCompactions:
    """The routes of compactions. ``jobs`` are the summaries that were started; :meth:`write` has them written."""

    def __init__(self, repository: SessionRepository, clock: Clock) -> None:
        self.jobs: list[SummaryJob] = []
        self.model = FakeModel()
        self._parts: dict[str, str] = {}
        self._summaries = Summaries(repository, clock=clock, models=self, parts=self)
        self._compactor = Compactor(repository, clock=clock, models=self, starter=self)

    def write(self) -> None:
        """Let the model write the summaries that were asked for, and land them."""
        while self.jobs:
            self._summaries.run(self.jobs.pop(0))

    def answer(self, method: str, user: str, session_id: str, pass_id: str | None, **asked: Any) -> Answered:
        """Serve one request."""
        if pass_id is not None and method == "POST":
            version, record = self._compactor.undo(user, session_id, pass_id)
            return 200, _record(record), version.etag()
        if pass_id is not None:
            session, found = self._compactor.find(user, session_id, pass_id)
            return 200, _record(found) if isinstance(found, PassRecord) else _attempt(found), session.version.etag()
        if method == "POST":
            return self._compact(user, session_id, loads(asked["content"]), asked["if_match"])
        session, page = self._compactor.history(
            user, session_id, first=asked["query"].get("cursor"), limit=int(asked["query"].get("limit", "20"))
        )
        rows = {"data": [_record(record) for record in page.passes], "next_cursor": page.next_id}
        attempt = None if session.attempt is None else _attempt(session.attempt)
        return 200, rows | {"has_more": page.next_id is not None, "attempt": attempt}, session.version.etag()

    def _compact(self, user: str, session_id: str, body: Any, if_match: tuple[str, ...] | None) -> Answered:
        trigger, strategy = (JsonObject.of(body[name]) if name in body else None for name in ("trigger", "strategy"))
        command = CompactCommand(trigger, strategy, body.get("force", False), body.get("dry_run", False))
        done = self._compactor.compact(user, session_id, command, if_match=if_match)
        status = {"compacted": 200 if command.dry_run else 201, "started": 202}.get(done.status, 200)
        return status, _answer(done, dry_run=command.dry_run), done.version.etag()

    # ------------------------------------------------------------------ what the compactor needs

    @property
    def names(self) -> tuple[str, ...]:
        """The models."""
        return (self.model.name,)

    def find(self, name: str) -> SummaryModel | None:
        """A model."""
        return SummaryModel(name, self.model, 32_000, 500) if name == self.model.name else None

    def start(self, job: SummaryJob) -> None:
        """Remember a summary that is to be written."""
        self.jobs.append(job)

    def put(self, job: SummaryJob, name: str, text: str) -> PartRef:
        """Keep a part."""
        self._parts[f"{job.pass_id}/{name}"] = text
        return PartRef(f"{job.pass_id}/{name}", "", len(text))

    def get(self, ref: PartRef) -> str:
        """A part again."""
        return self._parts[ref.key]


def _answer(done: CompactionAnswer, *, dry_run: bool) -> Mapping[str, Any]:
    return {
        "id": done.id,
        "status": done.status,
        "dry_run": dry_run,
        "archived": [list(stretch) for stretch in done.archived],
        "tokens_saved": done.tokens_saved,
        "kept_reason": done.kept_reason,
        "abandoned_calls": list(done.abandoned_calls),
        "over_budget": done.over_budget,
        "reason": done.reason,
        "retry_at": None if done.retry_at is None else str(done.retry_at),
        "generation": done.version.generation,
        "version": done.version.number,
    }


def _record(record: PassRecord) -> Mapping[str, Any]:
    detail = record.detail
    return {
        "id": record.id,
        "status": "undone" if record.undoes else "compacted",
        "generation": record.generation,
        "created_at": str(record.at),
        "asked_by": detail.asked_by,
        "user_id": detail.user,
        "undoes": record.undoes,
        "archived": [list(stretch) for stretch in record.archived],
        "restored": [list(stretch) for stretch in record.restored],
        "inserted": list(record.inserted),
        "model": detail.model,
        "tokens_before": detail.tokens_before,
        "tokens_saved": detail.tokens_saved,
        "counter": detail.counter,
        "kept_reason": detail.kept_reason,
        "abandoned_calls": list(detail.abandoned_calls),
        "over_budget": detail.over_budget,
        "trigger": None if detail.trigger is None else detail.trigger.to_python(),
        "strategy": None if detail.strategy is None else detail.strategy.to_python(),
    }


def _attempt(attempt: Attempt) -> Mapping[str, Any]:
    return {
        "id": attempt.pass_id,
        "status": attempt.status,
        "number": attempt.number,
        "at": str(attempt.at),
        "reason": attempt.reason or None,
        "detail": attempt.detail or None,
        "retry_at": None if attempt.retry_at is None else str(attempt.retry_at),
    }
