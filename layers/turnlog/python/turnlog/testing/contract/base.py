"""What the parts of the contract share."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from ...domain.event import EventDraft, SessionEvent
from ...domain.exactjson import EMPTY, JsonObject
from ...domain.instant import Instant
from ...domain.message import Message
from ...domain.ports import (
    AppendRequest,
    AppendResult,
    CompactionPlan,
    Guard,
    IdempotencyKey,
    Insertion,
    SessionRepository,
    no_guard,
)
from ...domain.session import StoredSession
from ..builders import START, a_session, drafts

Make = Callable[[str], SessionRepository]
"""A repository of the given tenant; tenants of one test share a database."""


class Contract:
    """The fixtures; a subclass gives ``make``."""

    @pytest.fixture
    def make(self) -> Make:
        """Repositories of the store under test."""
        raise NotImplementedError("give a fixture `make`: tenant -> SessionRepository")

    @pytest.fixture
    def repository(self, make: Make) -> SessionRepository:
        """One tenant's repository, without any session."""
        return make("acme")


def started(repository: SessionRepository, session_id: str = "s", **fields: Any) -> StoredSession:
    """A new session."""
    return repository.create(a_session(session_id, **fields), now=fields.get("now", START))


def current(repository: SessionRepository, session_id: str = "s") -> StoredSession:
    """The stored session, which must exist."""
    found = repository.find(session_id)
    assert found is not None
    return found


def append(
    repository: SessionRepository,
    events: str | Iterable[EventDraft],
    session_id: str = "s",
    *,
    key: IdempotencyKey | None = None,
    guard: Guard = no_guard,
    now: Instant = START,
) -> AppendResult:
    """Append tokens or drafts as one batch."""
    batch = drafts(events) if isinstance(events, str) else tuple(events)
    return repository.append(AppendRequest(session_id, batch, now, key, guard))


def said(text: str = "hi", id: str | None = None, metadata: JsonObject = EMPTY) -> EventDraft:
    """A user's message that takes its time, and without ``id`` its id, from the store."""
    return EventDraft(Message.user(text), id=id, metadata=metadata)


def numbered(first: int, last: int, prefix: str = "e") -> list[EventDraft]:
    """Messages with the ids e<first> to e<last>, both included."""
    return [said(str(i), f"{prefix}{i}") for i in range(first, last + 1)]


def a_key(name: str, request: str = "request") -> IdempotencyKey:
    """An idempotency key and the hash of a request."""
    return IdempotencyKey(*(hashlib.sha256(part.encode()).digest()[:16] for part in (name, request)))


def archive(repository: SessionRepository, ids: str, insert: Iterable[Insertion] = (), session_id: str = "s") -> None:
    """A pass at the present version, which must succeed."""
    plan = CompactionPlan(frozenset(ids.split()), tuple(insert))
    assert repository.apply_compaction(session_id, plan, repository.version(session_id), now=START)


def shape(events: Iterable[SessionEvent]) -> list[str]:
    """Ids in order, "-" before an archived one."""
    return [("-" if event.archived else "") + event.id for event in events]


def everything(events: Iterable[SessionEvent]) -> list[tuple[object, ...]]:
    """All that an event says, for comparing (events themselves are equal by id)."""
    return [
        (e.seq, e.position, e.id, e.session_id, e.message, e.timestamp.text, e.branch, e.metadata, e.archived)
        for e in events
    ]
