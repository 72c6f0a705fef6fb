"""Every request that the client can make: what to send, and how to read the answer. No I/O."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, Literal, TypeVar

from ..domain.event import EventDraft, SessionEvent
from ..domain.exactjson import JsonValue, dumps
from ..domain.filter import MatchMode
from ..domain.message import Role
from ..domain.ports import ListOrder, Order
from . import _answers as answers
from ._answers import Answer, Subject
from ._messages import EventLike, InstantLike, draft_of, instant_of, object_of, text_of, value_of
from ._models import (
    UNSET,
    AppendResult,
    FoundUpload,
    LinkedEvent,
    Page,
    SessionInfo,
    SessionSummary,
    Unset,
    UploadGrant,
)
from ._parts import EVENT_ID, REF, checked_session_id, header, part, query_of, session_path, words_of, written

T = TypeVar("T")

MAX_BATCH: Final = 100
"""Events in one append (DESIGN 5, limits)."""

MAX_BODY_BYTES: Final = 3_500_000
"""Bytes of one append made by ``append_all``: below the API's 4 MiB, with room for the envelope."""

MAX_ESCAPED_BYTES: Final = 5_000_000
"""The same once more, escaped: a function receives the body as a JSON string, at most 6 MB."""

_REQUEST_KEYS: Final = uuid.UUID("b0a4f6f6-0c1d-4c53-9b52-6f9f3f1a5d0e")
"""The namespace in which a request key becomes event ids; never change it."""


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request and the reader of its answer; no credentials in it.

    ``gone_is_done``: a retried DELETE that finds nothing has most likely done its work before.
    """

    method: Literal["GET", "POST", "PATCH", "DELETE"]
    path: str
    read: Callable[[Answer], T]
    subject: Subject = field(default_factory=Subject)
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    gone_is_done: bool = False


# --------------------------------------------------------------------------- sessions


def create_session(
    session_id: str,
    *,
    ttl_seconds: int | None,
    metadata: Mapping[str, JsonValue] | None,
    compaction: Mapping[str, JsonValue] | None,
    allow_system_messages: bool | None,
    idempotency_key: str,
) -> Call[SessionInfo]:
    """POST /v1/sessions"""
    fields = {"id": dumps(checked_session_id(session_id))}
    if ttl_seconds is not None:
        fields["ttl_seconds"] = value_of(ttl_seconds, "/ttl_seconds")
    if metadata is not None:
        fields["metadata"] = object_of(metadata, "/metadata").raw
    if compaction is not None:
        fields["compaction"] = object_of(compaction, "/compaction").raw
    if allow_system_messages is not None:
        fields["allow_system_messages"] = value_of(allow_system_messages, "/allow_system_messages")
    return Call(
        "POST",
        "/v1/sessions",
        lambda answer: answers.parsed(answer, answers.session_info),
        Subject(session_id, idempotency_key=idempotency_key),
        headers=header("Idempotency-Key", idempotency_key),
        body=written(fields),
    )


def get_session(session_id: str) -> Call[SessionInfo]:
    """GET /v1/sessions/{sid}"""
    return Call(
        "GET",
        session_path(session_id),
        lambda answer: answers.parsed(answer, answers.session_info),
        Subject(session_id),
    )


def list_sessions(
    *, order_by: ListOrder, order: Order, page_size: int | None, cursor: str | None
) -> Call[Page[SessionSummary]]:
    """GET /v1/sessions"""
    query = query_of(order_by=order_by, order=order, limit=page_size, cursor=cursor)
    reader = answers.session_page_of(cursor)
    return Call("GET", "/v1/sessions", lambda answer: answers.parsed(answer, reader), query=query)


def update_session(
    session_id: str,
    *,
    metadata: Mapping[str, JsonValue] | Unset | None,
    ttl_seconds: int | Unset | None,
    compaction: Mapping[str, JsonValue] | Unset | None,
    allow_system_messages: bool | Unset | None,
    if_match: str | None,
) -> Call[SessionInfo]:
    """PATCH /v1/sessions/{sid}"""
    fields: dict[str, str] = {}
    if metadata is not UNSET:
        fields["metadata"] = "null" if metadata is None else object_of(metadata, "/metadata").raw
    if ttl_seconds is not UNSET:
        fields["ttl_seconds"] = value_of(ttl_seconds, "/ttl_seconds")
    if compaction is not UNSET:
        fields["compaction"] = "null" if compaction is None else object_of(compaction, "/compaction").raw
    if allow_system_messages is not UNSET:
        fields["allow_system_messages"] = value_of(allow_system_messages, "/allow_system_messages")
    return Call(
        "PATCH",
        session_path(session_id),
        lambda answer: answers.parsed(answer, answers.session_info),
        Subject(session_id),
        headers=header("If-Match", if_match),
        body=written(fields),
    )


def delete_session(session_id: str, *, if_match: str | None) -> Call[None]:
    """DELETE /v1/sessions/{sid}"""
    return Call(
        "DELETE",
        session_path(session_id),
        lambda answer: None,
        Subject(session_id),
        headers=header("If-Match", if_match),
        gone_is_done=True,
    )


# --------------------------------------------------------------------------- events


@dataclass(frozen=True)
class Batch:
    """Events ready to be sent in one request; ``first`` is the position of the first one."""

    first: int
    events: tuple[str, ...]


def whole_batch(events: Iterable[EventLike], key: str) -> Batch:
    """All the events as one batch, however large: the server says when it is too large."""
    return Batch(0, tuple(_numbered(events, key)))


def batches(events: Iterable[EventLike], key: str) -> Iterator[Batch]:
    """Any number of events as batches that fit: ``MAX_BATCH`` events, ``MAX_BODY_BYTES``,
    ``MAX_ESCAPED_BYTES``. An event over the limits goes alone, for the server to judge."""
    first = bytes_ = escaped = 0
    held: list[str] = []
    for text in _numbered(events, key):
        size = len(text.encode()) + 1
        extra = text.count('"') + text.count("\\")
        over = bytes_ + size > MAX_BODY_BYTES or escaped + size + extra > MAX_ESCAPED_BYTES
        if held and (len(held) == MAX_BATCH or over):
            yield Batch(first, tuple(held))
            first, bytes_, escaped, held = first + len(held), 0, 0, []
        held.append(text)
        bytes_, escaped = bytes_ + size, escaped + size + extra
    if held:
        yield Batch(first, tuple(held))


def _numbered(events: Iterable[EventLike], key: str) -> Iterator[str]:
    namespace = uuid.uuid5(_REQUEST_KEYS, key)
    for i, event in enumerate(events):
        draft = draft_of(event, f"/events/{i}")
        yield _event_text(draft, str(uuid.uuid5(namespace, str(i))) if draft.id is None else draft.id, f"/events/{i}")


def _event_text(draft: EventDraft, event_id: str, pointer: str) -> str:
    fields = {"id": text_of(event_id, pointer + "/id")}
    if draft.timestamp is not None:
        fields["timestamp"] = dumps(str(draft.timestamp))
    if draft.branch is not None:
        fields["branch"] = text_of(draft.branch, pointer + "/branch")
    if draft.metadata:
        fields["metadata"] = draft.metadata.raw
    fields["message"] = draft.message.raw
    return written(fields)


def append_events(
    session_id: str,
    batch: Batch,
    *,
    create_if_missing: bool,
    key: str,
    if_match: str | None = None,
    send_key: bool = False,
) -> Call[AppendResult]:
    """POST /v1/sessions/{sid}/events"""
    fields = {"events": f"[{','.join(batch.events)}]"}
    if create_if_missing:
        fields["create_if_missing"] = "true"
    return Call(
        "POST",
        session_path(session_id) + "/events",
        lambda answer: answers.parsed(answer, answers.append_result),
        Subject(session_id, idempotency_key=key, first_event=batch.first),
        headers={**header("If-Match", if_match), **header("Idempotency-Key", key if send_key else None)},
        body=written(fields),
    )


@dataclass(frozen=True, kw_only=True)
class EventQuery:
    """The query of a listing; None leaves a parameter out."""

    types: Iterable[Role] | None = None
    from_: InstantLike | None = None
    to: InstantLike | None = None
    exclude_synthetic: bool = False
    archived: bool | None = None
    branch: str | None = None
    keyword: str | None = None
    keywords: Iterable[str] | None = None
    match: MatchMode | None = None
    last_n: int | None = None
    order: Order = "asc"
    page_size: int | None = None

    def parameters(self) -> tuple[tuple[str, str], ...]:
        """As they stand in the URL."""
        return query_of(
            types=words_of("types", self.types),
            **{"from": None if self.from_ is None else str(instant_of(self.from_, "query:from"))},
            to=None if self.to is None else str(instant_of(self.to, "query:to")),
            exclude_synthetic=self.exclude_synthetic or None,
            archived=self.archived,
            branch=self.branch,
            keyword=self.keyword,
            keywords=words_of("keywords", self.keywords),
            match=self.match,
            last_n=self.last_n,
            order=self.order,
            limit=self.page_size,
        )


def list_events(
    session_id: str, query: tuple[tuple[str, str], ...], cursor: str | None
) -> Call[Page[SessionEvent | LinkedEvent]]:
    """GET /v1/sessions/{sid}/events"""
    reader = answers.event_page_of(session_id, cursor)
    return Call(
        "GET",
        session_path(session_id) + "/events",
        lambda answer: answers.parsed(answer, reader),
        Subject(session_id),
        query=query + query_of(cursor=cursor),
    )


def get_event(session_id: str, event_id: str) -> Call[SessionEvent | LinkedEvent]:
    """GET /v1/sessions/{sid}/events/{eid}"""
    reader = answers.event_of(session_id)
    return Call(
        "GET",
        f"{session_path(session_id)}/events/{part(EVENT_ID, event_id, 'eid')}",
        lambda answer: answers.parsed(answer, reader),
        Subject(session_id, event_id),
    )


# --------------------------------------------------------------------------- uploads


def create_upload(session_id: str, *, media_type: str, size: int, sha256: str) -> Call[UploadGrant]:
    """POST /v1/sessions/{sid}/uploads"""
    fields = {
        "media_type": text_of(media_type, "/media_type"),
        "bytes": str(size),
        "sha256": text_of(sha256, "/sha256"),
    }
    return Call(
        "POST",
        session_path(session_id) + "/uploads",
        lambda answer: answers.parsed(answer, answers.upload_grant),
        Subject(session_id),
        body=written(fields),
    )


def get_upload(session_id: str, ref: str) -> Call[FoundUpload]:
    """GET /v1/sessions/{sid}/uploads/{ref}"""
    return Call(
        "GET",
        f"{session_path(session_id)}/uploads/{part(REF, ref, 'ref')}",
        lambda answer: answers.parsed(answer, answers.found_upload),
        Subject(session_id, ref=ref),
    )
