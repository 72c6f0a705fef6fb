"""Every request that the client can make: what to send, and how to read the answer. No I/O."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, Literal, TypeVar
from urllib.parse import quote

from ..domain.errors import FieldError, InvalidRequest
from ..domain.event import EventDraft, SessionEvent
from ..domain.exactjson import JsonValue, dumps
from ..domain.filter import MatchMode
from ..domain.message import Role
from ..domain.ports import ListOrder, Order
from ..domain.uploads import REF_PATTERN
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
    Upload,
    UploadGrant,
)
from .errors import as_client_errors

T = TypeVar("T")

MAX_BATCH: Final = 100
"""Events in one append (DESIGN 5, limits)."""

MAX_BODY_BYTES: Final = 3_500_000
"""Bytes of one append made by ``append_all``: below the API's 4 MiB, with room for the envelope."""

MAX_ESCAPED_BYTES: Final = 5_000_000
"""The same once more, escaped: a function receives the body as a JSON string, at most 6 MB."""

_SESSION_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}", re.ASCII)
_EVENT_ID: Final = re.compile(r"~?[A-Za-z0-9._:-]{1,128}", re.ASCII)
_REF: Final = re.compile(REF_PATTERN, re.ASCII)
_HEADER_VALUE: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?", re.ASCII)
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
        headers=_header("Idempotency-Key", idempotency_key),
        body=_written(fields),
    )


def get_session(session_id: str) -> Call[SessionInfo]:
    """GET /v1/sessions/{sid}"""
    return Call(
        "GET",
        _session_path(session_id),
        lambda answer: answers.parsed(answer, answers.session_info),
        Subject(session_id),
    )


def list_sessions(
    *, order_by: ListOrder, order: Order, page_size: int | None, cursor: str | None
) -> Call[Page[SessionSummary]]:
    """GET /v1/sessions"""
    query = _query(order_by=order_by, order=order, limit=page_size, cursor=cursor)
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
        _session_path(session_id),
        lambda answer: answers.parsed(answer, answers.session_info),
        Subject(session_id),
        headers=_header("If-Match", if_match),
        body=_written(fields),
    )


def delete_session(session_id: str, *, if_match: str | None) -> Call[None]:
    """DELETE /v1/sessions/{sid}"""
    return Call(
        "DELETE",
        _session_path(session_id),
        lambda answer: None,
        Subject(session_id),
        headers=_header("If-Match", if_match),
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
    return _written(fields)


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
        _session_path(session_id) + "/events",
        lambda answer: answers.parsed(answer, answers.append_result),
        Subject(session_id, idempotency_key=key, first_event=batch.first),
        headers={**_header("If-Match", if_match), **_header("Idempotency-Key", key if send_key else None)},
        body=_written(fields),
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
        return _query(
            types=_words("types", self.types),
            **{"from": None if self.from_ is None else str(instant_of(self.from_, "query:from"))},
            to=None if self.to is None else str(instant_of(self.to, "query:to")),
            exclude_synthetic=self.exclude_synthetic or None,
            archived=self.archived,
            branch=self.branch,
            keyword=self.keyword,
            keywords=_words("keywords", self.keywords),
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
        _session_path(session_id) + "/events",
        lambda answer: answers.parsed(answer, reader),
        Subject(session_id),
        query=query + _query(cursor=cursor),
    )


def get_event(session_id: str, event_id: str) -> Call[SessionEvent | LinkedEvent]:
    """GET /v1/sessions/{sid}/events/{eid}"""
    reader = answers.event_of(session_id)
    return Call(
        "GET",
        f"{_session_path(session_id)}/events/{_part(_EVENT_ID, event_id, 'eid')}",
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
        _session_path(session_id) + "/uploads",
        lambda answer: answers.parsed(answer, answers.upload_grant),
        Subject(session_id),
        body=_written(fields),
    )


def get_upload(session_id: str, ref: str) -> Call[FoundUpload]:
    """GET /v1/sessions/{sid}/uploads/{ref}"""
    return Call(
        "GET",
        f"{_session_path(session_id)}/uploads/{_part(_REF, ref, 'ref')}",
        lambda answer: answers.parsed(answer, answers.found_upload),
        Subject(session_id, ref=ref),
    )


# --------------------------------------------------------------------------- parts


def new_key() -> str:
    """A request key nobody has used."""
    return str(uuid.uuid4())


def key_of(key: str | None) -> str:
    """The caller's request key, or a new one.

    Raises:
        InvalidRequest: one that no header can hold; an empty one is no key, and no wish for a new one.
    """
    if key is None:
        return new_key()
    _header("Idempotency-Key", key)
    return key


def ref_of(upload: str | Upload) -> str:
    """The ref of an upload, or a ref."""
    return upload.ref if isinstance(upload, Upload) else upload


def checked_session_id(session_id: str) -> str:
    """The id, if it can stand in a path (DESIGN 5): an id such as ``..`` would name another
    resource.

    Raises:
        InvalidRequest: it can't.
    """
    _part(_SESSION_ID, session_id, "sid")
    return session_id


def _session_path(session_id: str) -> str:
    return f"/v1/sessions/{_part(_SESSION_ID, session_id, 'sid')}"


@as_client_errors()
def _part(grammar: re.Pattern[str], value: str, name: str) -> str:
    if not isinstance(value, str) or not grammar.fullmatch(value) or value in (".", ".."):
        raise InvalidRequest.at(f"path:{name}", f"must match {grammar.pattern} and be neither . nor ..")
    return quote(value, safe="")


@as_client_errors()
def _header(name: str, value: str | None) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, str) or not is_header_value(value):
        detail = "must be printable ASCII without blanks around it"
        raise InvalidRequest(f"{name} {detail}.", errors=[FieldError(f"header:{name}", detail)])
    return {name: value}


def is_header_value(value: str) -> bool:
    """Whether HTTP can carry it."""
    return _HEADER_VALUE.fullmatch(value) is not None


@as_client_errors()
def _words(name: str, values: Iterable[str] | None) -> str | None:
    """A list as the API reads it, joined by commas: a word that holds one would become two."""
    if isinstance(values, str):
        raise TypeError(f"{name} is a list of words, not one string")
    words = tuple(values or ())
    if any("," in word for word in words):
        raise InvalidRequest.at(f"query:{name}", "a word must not hold a comma")
    return ",".join(words) or None


def _query(**parameters: str | int | bool | None) -> tuple[tuple[str, str], ...]:
    out: list[tuple[str, str]] = []
    for name, value in parameters.items():
        if isinstance(value, bool):
            out.append((name, "true" if value else "false"))
        elif value is not None:
            text_of(str(value), f"query:{name}")
            out.append((name, str(value)))
    return tuple(out)


def _written(fields: Mapping[str, str]) -> str:
    """An object of members that are JSON text already, so that none is parsed and written twice."""
    return "{" + ",".join(f'"{name}":{text}' for name, text in fields.items()) + "}"
