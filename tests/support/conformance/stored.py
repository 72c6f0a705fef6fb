"""Operations on a store."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from turnlog.domain.exactjson import EMPTY, JsonObject
from turnlog.domain.filter import EventFilter
from turnlog.domain.instant import Instant
from turnlog.domain.ports import AppendRequest, CompactionPlan, Insertion, SessionRepository
from turnlog.domain.session import Session
from turnlog.service import CreateSession, ServiceSettings, SessionService
from turnlog.testing.builders import START, Scripted, a_session, outline, scripted, tell
from turnlog.testing.clock import ManualClock

from .cases import Case, only, outcome
from .pure import Facts, a_filter

SESSION = "sess"


def _create(case: Case, repository: SessionRepository) -> Facts:
    when = only(case.when, "op", "request", "defaultTtlSeconds")
    request = only(when["request"], "id", "userId", "ttlSeconds", "metadata")
    settings = ServiceSettings()
    if "defaultTtlSeconds" in when:
        settings = ServiceSettings(default_ttl_seconds=when["defaultTtlSeconds"])
    service = SessionService(repository, clock=ManualClock(), settings=settings)
    created = service.create(
        CreateSession(
            user_id=request.get("userId"),
            id=request.get("id"),
            ttl_seconds=request.get("ttlSeconds"),
            metadata=JsonObject.of(request["metadata"]) if "metadata" in request else EMPTY,
        )
    )
    stored = repository.find(created.id)
    assert stored == created
    assert repository.version(created.id) == 0
    assert repository.read(created.id) == []
    record = stored.record
    assert record.expires_at is not None
    return {
        "id": record.id,
        "userId": record.user_id,
        "ttlSeconds": _exact_seconds(record.expires_at.ns - record.created_at.ns),
        "metadata": record.metadata.to_python(),
    }


def _exact_seconds(ns: int) -> int:
    assert ns % 1_000_000_000 == 0
    return ns // 1_000_000_000


def _save_all(sessions: Iterable[Mapping[str, Any]], repository: SessionRepository) -> set[str]:
    """Save the sessions and answer the ids of their users."""
    users = set()
    for spelled in sessions:
        only(spelled, "id", "userId", "expiresAt")
        expires_at = None if spelled["expiresAt"] is None else Instant.parse(spelled["expiresAt"])
        repository.save(Session(spelled["id"], spelled["userId"], START, expires_at))
        users.add(spelled["userId"])
    return users


def _expire(case: Case, repository: SessionRepository) -> Facts:
    users = _save_all(only(case.given, "sessions")["sessions"], repository)
    deleted = repository.delete_expired(Instant.parse(only(case.when, "op", "before")["before"]))
    return {"deleted": deleted, "remaining": sorted(s.id for user in users for s in repository.list_by_user(user))}


def _list(case: Case, repository: SessionRepository) -> Facts:
    _save_all(only(case.given, "sessions")["sessions"], repository)
    user = only(case.when, "op", "userId")["userId"]
    return {"ids": sorted(s.id for s in repository.list_by_user(user))}


def _find(case: Case, repository: SessionRepository) -> Facts:
    repository.save(a_session(SESSION))
    tell(repository, only(case.given, "log")["log"], SESSION)
    filter = a_filter(only(case.when, "op", "filter")["filter"])
    return {"ids": [event.id for event in repository.read(SESSION, filter)]}


def _repo(case: Case, repository: SessionRepository) -> Facts:
    only(case.given)
    repository.save(a_session(SESSION))
    return {"results": [outcome(partial(_step, step, repository)) for step in only(case.when, "op", "steps")["steps"]]}


def _step(step: Mapping[str, Any], repository: SessionRepository) -> Any:
    session_id = step.get("session", SESSION)
    match step["do"]:
        case "version":
            return repository.version(session_id)
        case "append":
            only(step, "do", "event", "session")
            draft = scripted(step["event"]).draft
            repository.append(AppendRequest(session_id, (draft,), START))
            return "ok"
        case "compact":
            only(step, "do", "archive", "retain", "expectedVersion", "session")
            plan = _plan(step, repository, session_id)
            return repository.apply_compaction(session_id, plan, step["expectedVersion"], now=START)
        case "log":
            return outline(repository, session_id)
        case "active":
            return [event.id for event in repository.read(session_id, EventFilter.active())]
        case "texts":
            return [event.message.text for event in repository.read(session_id)]
        case "save":
            only(step, "do", "userId", "session")
            repository.save(a_session(session_id, user_id=step["userId"]))
            return "ok"
        case "owner":
            found = repository.find(session_id)
            return found and found.record.user_id
        case "delete":
            repository.delete(session_id)
            return "ok"
        case unknown:
            raise AssertionError(f"the runner does not know the step {unknown!r}")


def _plan(step: Mapping[str, Any], repository: SessionRepository, session_id: str) -> CompactionPlan:
    """The in-place plan of an old-style swap (spec 3.6, N10): every active event that the result
    does not keep is archived, every run of new ones goes before the next one that is kept."""
    events = repository.read(session_id)
    seqs = {event.id: event.seq for event in events}
    retained = [scripted(spelled) for spelled in step["retain"]]
    kept = {event.id for event in retained}
    dropped = {event.id for event in events if not event.archived and event.id not in kept}
    insert: list[Insertion] = []
    run: list[Scripted] = []
    for event in retained:
        if event.id not in seqs:
            run.append(event)
        elif run:
            insert.append(Insertion(seqs[event.id], tuple(new.draft for new in run)))
            run = []
    if run:
        insert.append(Insertion(None, tuple(new.draft for new in run)))
    return CompactionPlan(frozenset(step["archive"]) | dropped, tuple(insert))


OPERATIONS: Mapping[str, Callable[[Case, SessionRepository], Facts]] = {
    "create": _create,
    "expire": _expire,
    "list": _list,
    "find": _find,
    "repo": _repo,
}
