"""A small honest Turnlog API for the client's tests: it really stores, and it fails on request.

The wire shapes are written here by hand, apart from the real ones: the client is tested against
the contract, and `tests/integration` puts it in front of the real handler.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import httpx

from tests.support.fake_compactions import FakeCompactions
from turnlog.domain.errors import (
    Conflict,
    CorruptLog,
    InvalidRequest,
    MalformedJson,
    NotFound,
    PayloadTooLarge,
    PreconditionFailed,
    SessionExists,
    TurnlogError,
)
from turnlog.domain.event import EventDraft, SessionEvent
from turnlog.domain.exactjson import EMPTY, JsonObject, canonical, dumps, loads
from turnlog.domain.filter import EventFilter
from turnlog.domain.instant import Instant
from turnlog.domain.message import Message
from turnlog.domain.ports import IdempotencyKey
from turnlog.domain.session import Session, SessionChanges, StoredSession
from turnlog.domain.uploads import UploadRef, UploadRequest
from turnlog.service import CreateSession, EventCursor, PageLimits, SessionService
from turnlog.stores.memory import InMemorySessionRepository
from turnlog.stores.memory_uploads import InMemoryUploadStore, MemoryBucket
from turnlog.testing.clock import ManualClock

URL = "https://api.example.test/prefix"
TOKEN = "s3cr3t-token"
Fault: TypeAlias = Callable[[httpx.Request, Callable[[], httpx.Response]], httpx.Response]

_STATUS = (
    (MalformedJson, 400),
    (NotFound, 404),
    (Conflict, 409),
    (PreconditionFailed, 412),
    (PayloadTooLarge, 413),
    (InvalidRequest, 422),
    (CorruptLog, 500),
    (TurnlogError, 503),
)


def unreachable(request: httpx.Request, serve: Callable[[], httpx.Response]) -> httpx.Response:
    """The request never arrives."""
    raise httpx.ConnectError("connection refused", request=request)


def answer_lost(request: httpx.Request, serve: Callable[[], httpx.Response]) -> httpx.Response:
    """The server does its work, and the answer gets lost."""
    serve()
    raise httpx.ReadTimeout("timed out", request=request)


def request_lost(request: httpx.Request, serve: Callable[[], httpx.Response]) -> httpx.Response:
    """Nothing happens, and from outside it looks like a lost answer."""
    raise httpx.ReadTimeout("timed out", request=request)


def answered(status: int, body: Mapping[str, Any] | str = "", **headers: str) -> Fault:
    """This answer instead of the server's, which does nothing."""
    text = body if isinstance(body, str) else dumps(body)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda request, serve: httpx.Response(status, text=text, headers=names)


def answered_after(status: int) -> Fault:
    """The server does its work; the gateway, tired of waiting, answers this."""

    def fault(request: httpx.Request, serve: Callable[[], httpx.Response]) -> httpx.Response:
        serve()
        return httpx.Response(status, json={"message": "Service Unavailable"})

    return fault


@dataclass
class FakeApi:
    """Serves requests as ``httpx.MockTransport`` wants it. ``faults`` befall one request each, in
    their order; ``requests`` are all that came."""

    faults: deque[Fault] = field(default_factory=deque)
    requests: list[httpx.Request] = field(default_factory=list)
    user: str = "ann"

    def __post_init__(self) -> None:
        self.clock = ManualClock(tick_ms=1)
        self.bucket = MemoryBucket(self.clock.now)
        repository = InMemorySessionRepository()
        self.service = SessionService(
            repository, clock=self.clock, uploads=InMemoryUploadStore("t", bucket=self.bucket)
        )
        self.compactions = FakeCompactions(repository, self.clock)
        self.link_above = 1_000_000
        """Messages with more bytes come as links."""
        self._cursors: list[EventCursor] = []

    def fail(self, *faults: Fault) -> None:
        """Let these befall the next requests."""
        self.faults.extend(faults)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
        fault = self.faults.popleft() if self.faults else lambda _, serve: serve()
        return fault(request, lambda: self._serve(request))

    def log(self, session_id: str) -> list[SessionEvent]:
        """What is really stored."""
        return list(self.service.events(self.user, session_id, limits=PageLimits(events=100_000)).events)

    def _serve(self, request: httpx.Request) -> httpx.Response:
        if request.url.host == "uploads.example.com":
            return self._storage(request)
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return httpx.Response(401, json={"message": "Unauthorized"}, headers={"apigw-requestid": "gw-1"})
        try:
            return self._route(request)
        except TurnlogError as error:
            return _problem(error)

    def _storage(self, request: httpx.Request) -> httpx.Response:
        """The bucket behind presigned URLs; a token has no business there."""
        assert "authorization" not in request.headers
        served = self.bucket.serve(request.method, str(request.url), dict(request.headers), request.content)
        return httpx.Response(served.status, headers=dict(served.headers), content=served.content)

    def _uploads(self, request: httpx.Request, session_id: str, ref: str | None) -> httpx.Response:
        if ref is None:
            body = loads(request.content)
            wanted = UploadRequest(body["media_type"], body["bytes"], body["sha256"])
            grant = self.service.create_upload(self.user, session_id, wanted)
            answer: dict[str, Any] = {"ref": str(grant.ref), "url": grant.url, "headers": dict(grant.headers)}
            return _json(201, answer | {"expires_at": str(grant.expires_at)})
        parsed = UploadRef.parse(ref)
        if parsed is None:
            raise InvalidRequest.at("path:ref", "is no ref")
        found = self.service.upload(self.user, session_id, parsed)
        answer = {"ref": ref, "media_type": found.media_type, "bytes": found.size, "sha256": found.ref.sha256}
        return _json(200, answer | {"url": found.url, "expires_at": str(found.expires_at)})

    def _compactions(self, request: httpx.Request, session_id: str, pass_id: str | None) -> httpx.Response:
        status, body, etag = self.compactions.answer(
            request.method,
            self.user,
            session_id,
            pass_id,
            query=request.url.params,
            content=request.content,
            if_match=_tags(request),
        )
        return _json(status, body, etag=etag)

    def _shown(self, session: StoredSession, event: SessionEvent) -> dict[str, Any]:
        shown = _event(event)
        if len(event.message.raw.encode()) > self.link_above:
            link = self.service.event_link(session, event)
            del shown["message"]
            shown["link"] = {"url": link.url, "bytes": link.size, "sha256": link.sha256}
        return shown

    def _route(self, request: httpx.Request) -> httpx.Response:
        uploads = re.fullmatch(r"(?:/prefix)?/v1/sessions/([^/]+)/uploads(?:/([^/]+))?", request.url.path)
        if uploads is not None:
            return self._uploads(request, *uploads.groups())
        compactions = re.fullmatch(
            r"(?:/prefix)?/v1/sessions/([^/]+)/compactions(?:/([^/]+))?(?:/undo)?", request.url.path
        )
        if compactions is not None:
            return self._compactions(request, *compactions.groups())
        path = re.fullmatch(r"(?:/prefix)?/v1/sessions(?:/([^/]+)(/events(?:/([^/]+))?)?)?", request.url.path)
        if path is None:
            return httpx.Response(404, json={"message": "Not Found"})
        session_id, events, event_id = path.groups()
        body = loads(request.content) if request.content else {}
        if session_id is None:
            return self._create(request, body) if request.method == "POST" else self._list(request)
        if events is None:
            return self._session(request, session_id, body)
        if event_id is not None:
            return _json(200, self._shown(*self.service.event(self.user, session_id, event_id)))
        if request.method == "POST":
            return self._append(request, session_id, body)
        return self._events(request, session_id)

    # ------------------------------------------------------------------ sessions

    def _create(self, request: httpx.Request, body: dict[str, Any]) -> httpx.Response:
        create = CreateSession(
            user_id=self.user,
            id=body.get("id"),
            ttl_seconds=body.get("ttl_seconds"),
            metadata=JsonObject.of(body.get("metadata", {})),
            compaction=JsonObject.of(body["compaction"]) if "compaction" in body else None,
            allow_system_messages=body.get("allow_system_messages"),
        )
        return _session(201, self.service.create(create, key=_key(request, body)))

    def _list(self, request: httpx.Request) -> httpx.Response:
        query = request.url.params
        page = self.service.list(
            self.user,
            limit=int(query.get("limit", "20")),
            order=query["order"],  # type: ignore[arg-type]
            order_by=query["order_by"],  # type: ignore[arg-type]
            token=query.get("cursor"),
        )
        rows = [_record(e.session) | {"last_activity": str(e.last_activity)} for e in page.entries]
        return _json(200, {"data": rows, "next_cursor": page.next_token, "has_more": page.next_token is not None})

    def _session(self, request: httpx.Request, session_id: str, body: dict[str, Any]) -> httpx.Response:
        tags = _tags(request)
        if request.method == "GET":
            return _session(200, self.service.get(self.user, session_id))
        if request.method == "DELETE":
            self.service.delete(self.user, session_id, if_match=tags)
            return httpx.Response(204)
        ttl = body.get("ttl_seconds")
        changes = SessionChanges(
            metadata=JsonObject.of(body["metadata"] or {}) if "metadata" in body else None,
            set_expires_at="ttl_seconds" in body,
            expires_at=None if ttl is None else self.clock.now().plus_seconds(ttl),
            set_compaction="compaction" in body,
            compaction=JsonObject.of(body["compaction"]) if body.get("compaction") else None,
            set_allow_system_messages="allow_system_messages" in body,
            allow_system_messages=body.get("allow_system_messages"),
        )
        return _session(200, self.service.update(self.user, session_id, changes, if_match=tags))

    # ------------------------------------------------------------------ events

    def _append(self, request: httpx.Request, session_id: str, body: dict[str, Any]) -> httpx.Response:
        result = self.service.append(
            self.user,
            session_id,
            tuple(_draft(event, f"/events/{i}") for i, event in enumerate(body["events"])),
            create_if_missing=body.get("create_if_missing", False),
            if_match=_tags(request),
            key=_key(request, body),
        )
        answer = {
            "events": [{"id": e.id, "seq": e.seq, "replayed": e.replayed} for e in result.events],
            "version": result.version.number,
            "last_seq": result.version.last_seq,
        }
        return _json(200 if result.all_replayed else 201, answer, etag=result.version.etag())

    def _events(self, request: httpx.Request, session_id: str) -> httpx.Response:
        query = request.url.params
        flags = {"true": True, "false": False}
        wanted = EventFilter(
            types=frozenset(query["types"].split(",")) if "types" in query else None,  # type: ignore[arg-type]
            from_=Instant.parse(query["from"]) if "from" in query else None,
            to=Instant.parse(query["to"]) if "to" in query else None,
            exclude_synthetic=flags[query.get("exclude_synthetic", "false")],
            archived=flags.get(query.get("archived", "")),
            branch=query.get("branch"),
            keyword=query.get("keyword"),
            keywords=tuple(query["keywords"].split(",")) if "keywords" in query else None,
            match=query.get("match"),
            last_n=int(query["last_n"]) if "last_n" in query else None,
        )
        page = self.service.events(
            self.user,
            session_id,
            wanted,
            order=query["order"],  # type: ignore[arg-type]
            limits=PageLimits(events=int(query.get("limit", "50"))),
            cursor=self._cursors[int(query["cursor"])] if "cursor" in query else None,
        )
        cursor = None
        if page.cursor is not None:
            self._cursors.append(page.cursor)
            cursor = str(len(self._cursors) - 1)
        return _json(
            200,
            {
                "data": [self._shown(page.session, e) for e in page.events],
                "next_cursor": cursor,
                "has_more": bool(cursor),
            },
        )


def _draft(event: dict[str, Any], pointer: str) -> EventDraft:
    return EventDraft(
        message=Message.of(event["message"], pointer=f"{pointer}/message"),
        id=event.get("id"),
        timestamp=Instant.parse(event["timestamp"]) if "timestamp" in event else None,
        branch=event.get("branch"),
        metadata=JsonObject.of(event["metadata"]) if "metadata" in event else EMPTY,
    )


def _record(session: Session) -> dict[str, Any]:
    return {
        "id": session.id,
        "user_id": session.user_id,
        "created_at": str(session.created_at),
        "expires_at": None if session.expires_at is None else str(session.expires_at),
        "metadata": session.metadata.to_python(),
        "compaction": None if session.compaction is None else session.compaction.to_python(),
        "allow_system_messages": session.allow_system_messages,
    }


def _session(status: int, stored: StoredSession) -> httpx.Response:
    version = stored.version
    counters = {"version": version.number, "last_seq": version.last_seq, "generation": version.generation}
    return _json(status, _record(stored.record) | counters, etag=version.etag(stored.rev))


def _event(event: SessionEvent) -> dict[str, Any]:
    out: dict[str, Any] = {"id": event.id, "seq": event.seq, "timestamp": str(event.timestamp), "branch": event.branch}
    if event.position is not None:
        at = event.position
        out["position"] = {"before_seq": at.before_seq, "pass": at.pass_id, "index": at.index}
    return out | {
        "synthetic": event.synthetic,
        "archived": event.archived,
        "metadata": event.metadata.to_python(),
        "message": event.message.json.to_python(),
    }


def _key(request: httpx.Request, body: dict[str, Any]) -> IdempotencyKey | None:
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    return IdempotencyKey(*(hashlib.sha256(text.encode()).digest()[:16] for text in (key, canonical(body))))


def _tags(request: httpx.Request) -> tuple[str, ...] | None:
    value = request.headers.get("if-match")
    return None if value is None else tuple(value.split(","))


def _json(status: int, body: Mapping[str, Any], **headers: str) -> httpx.Response:
    return httpx.Response(status, text=dumps(body), headers={"content-type": "application/json", **headers})


def _problem(error: TurnlogError) -> httpx.Response:
    status = next(status for kind, status in _STATUS if isinstance(error, kind))
    body: dict[str, Any] = {
        "type": f"urn:turnlog:problem:{error.code}",
        "title": error.code,
        "status": status,
        "detail": error.detail,
        "code": error.code,
        "request_id": "req-1",
        "retryable": error.retryable,
        "errors": [{"pointer": e.pointer, "detail": e.detail} for e in error.errors],
    }
    if isinstance(error, PreconditionFailed):
        body["version"] = error.version
    if isinstance(error, SessionExists) or hasattr(error, "id"):
        body["id"] = error.id
    return _json(status, body, **{"retry-after": "1"} if error.retryable else {})
