"""From answers to values and errors. No I/O."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, Final, TypeVar

from ..domain.errors import FieldError, InvalidRequest, MalformedJson
from ..domain.event import Position, SessionEvent
from ..domain.exactjson import EMPTY, JsonObject, loads
from ..domain.message import Message
from ..domain.ports import Appended
from ..domain.session import ETag
from ._fields import NotOurs, etag, instant, json_object, needed, optional, optional_instant, optional_object, page
from ._models import (
    AppendResult,
    EventLink,
    FoundUpload,
    LinkedEvent,
    Page,
    SessionInfo,
    SessionSummary,
    Upload,
    UploadGrant,
)
from .errors import ApiError, Problem, UnexpectedResponse, answered_class

T = TypeVar("T")
_REQUEST_ID_HEADERS: Final = ("x-request-id", "apigw-requestid", "x-amzn-requestid")
_EVENT_POINTER: Final = re.compile(r"/events/(\d+)(?=/|$)", re.ASCII)


@dataclass(frozen=True)
class Answer:
    """What came back. Header names are in lower case."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes = b""

    @property
    def request_id(self) -> str | None:
        """The id under which the server, or the gateway before it, logged the request."""
        return next((self.headers[name] for name in _REQUEST_ID_HEADERS if name in self.headers), None)


@dataclass(frozen=True)
class Subject:
    """What a call was about: what its errors name. ``first_event`` is the position, in the
    caller's list, of the first event of this request."""

    session_id: str | None = None
    event_id: str | None = None
    ref: str | None = None
    pass_id: str | None = None
    idempotency_key: str | None = None
    first_event: int = 0


def parsed(answer: Answer, reader: Callable[[dict[str, Any], Answer], T]) -> T:
    """The body of a 2xx answer through a reader.

    Raises:
        UnexpectedResponse: not JSON, or not the shape that the API promises.
    """
    try:
        body = loads(answer.content)
        if not isinstance(body, dict):
            raise NotOurs("the body is not an object")
        return reader(body, answer)
    except (NotOurs, MalformedJson, InvalidRequest) as bad:
        raise UnexpectedResponse(
            f"The answer is not Turnlog's: {bad}", status=answer.status, request_id=answer.request_id
        ) from None


# --------------------------------------------------------------------------- readers


def _record(value: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": needed(value, "id", str),
        "user_id": needed(value, "user_id", str),
        "created_at": instant(value, "created_at"),
        "expires_at": optional_instant(value, "expires_at"),
        "metadata": json_object(value, "metadata"),
        "compaction": optional_object(value, "compaction"),
        "allow_system_messages": optional(value, "allow_system_messages", bool),
    }


def session_info(body: dict[str, Any], answer: Answer) -> SessionInfo:
    """The session resource."""
    return SessionInfo(
        **_record(body),
        version=needed(body, "version", int),
        last_seq=needed(body, "last_seq", int),
        generation=needed(body, "generation", int),
        etag=etag(answer.headers),
    )


def append_result(body: dict[str, Any], answer: Answer) -> AppendResult:
    """The answer to an append."""
    return AppendResult(
        events=tuple(
            Appended(needed(e, "id", str), needed(e, "seq", int), needed(e, "replayed", bool))
            for e in needed(body, "events", list)
        ),
        last_seq=needed(body, "last_seq", int),
        version=needed(body, "version", int),
        etag=etag(answer.headers),
    )


def _event(value: Mapping[str, Any], session_id: str) -> SessionEvent | LinkedEvent:
    position = optional(value, "position", dict)
    fields: dict[str, Any] = {
        "id": needed(value, "id", str),
        "session_id": session_id,
        "timestamp": instant(value, "timestamp"),
        "branch": optional(value, "branch", str),
        "metadata": json_object(value, "metadata"),
        "archived": needed(value, "archived", bool),
        "seq": optional(value, "seq", int),
        "position": None if position is None else _position(position),
    }
    link = optional(value, "link", dict)
    if link is not None:
        return LinkedEvent(link=_link(link), **fields)
    return SessionEvent(message=Message(JsonObject.of(needed(value, "message", dict))), **fields)


def _link(value: Mapping[str, Any]) -> EventLink:
    return EventLink(needed(value, "url", str), needed(value, "bytes", int), needed(value, "sha256", str))


def upload_grant(body: dict[str, Any], _: Answer) -> UploadGrant:
    """Leave to upload."""
    headers = needed(body, "headers", dict)
    if not all(isinstance(value, str) and value.isascii() and value.isprintable() for value in headers.values()):
        raise NotOurs("'headers' holds something that is no header")
    return UploadGrant(needed(body, "ref", str), needed(body, "url", str), headers)


def found_upload(body: dict[str, Any], _: Answer) -> FoundUpload:
    """What has been uploaded."""
    upload = Upload(
        ref=needed(body, "ref", str),
        media_type=needed(body, "media_type", str),
        bytes=needed(body, "bytes", int),
        sha256=needed(body, "sha256", str),
    )
    return FoundUpload(upload, needed(body, "url", str))


def _position(value: Mapping[str, Any]) -> Position:
    return Position(
        before_seq=needed(value, "before_seq", int),
        pass_id=needed(value, "pass", str),
        index=needed(value, "index", int),
        generation=optional(value, "generation", int) or 0,
    )


def event_of(session_id: str) -> Callable[[dict[str, Any], Answer], SessionEvent | LinkedEvent]:
    """The reader of one event."""
    return lambda body, _: _event(body, session_id)


def event_page_of(
    session_id: str, cursor: str | None
) -> Callable[[dict[str, Any], Answer], Page[SessionEvent | LinkedEvent]]:
    """The reader of the page of events at ``cursor``."""
    return lambda body, _: page(body, cursor, lambda value: _event(value, session_id))


def session_page_of(cursor: str | None) -> Callable[[dict[str, Any], Answer], Page[SessionSummary]]:
    """The reader of the page of the user's sessions at ``cursor``."""
    return lambda body, _: page(body, cursor, _summary)


def _summary(value: Mapping[str, Any]) -> SessionSummary:
    return SessionSummary(**_record(value), last_activity=optional_instant(value, "last_activity"))


# --------------------------------------------------------------------------- errors


def refusal(answer: Answer, subject: Subject) -> ApiError | UnexpectedResponse:
    """The error that an answer outside 2xx stands for."""
    if answer.status < 400:
        detail = f"The server answered {answer.status}; redirects are not followed, so that no token leaks."
        return UnexpectedResponse(detail, status=answer.status, request_id=answer.request_id)
    problem = problem_of(answer, subject.first_event)
    error = answered_class(problem)(problem)
    error.idempotency_key = subject.idempotency_key
    for name, value in _attributes(problem, subject).items():
        if name in _ATTRIBUTES.get(type(error).__name__, ()):
            setattr(error, name, value)
    return error


_ATTRIBUTES: Final[dict[str, tuple[str, ...]]] = {
    "SessionNotFound": ("session_id",),
    "EventNotFound": ("session_id", "event_id"),
    "UploadNotFound": ("session_id", "ref"),
    "PassNotFound": ("session_id", "pass_id"),
    "SessionExists": ("id",),
    "EventIdReused": ("id",),
    "NotNewestPass": ("session_id", "pass_id"),
    "PreconditionFailed": ("version", "number"),
    "PayloadTooLarge": ("limit_bytes",),
    "StoreUnavailable": ("retry_after",),
}
"""What the domain's classes carry beyond their text; a test proves the table complete."""


def _attributes(problem: Problem, subject: Subject) -> dict[str, object]:
    body = problem.body
    tag = body.get("version")
    parsed_tag = ETag.parse(tag) if isinstance(tag, str) else None
    limit = body.get("limit_bytes")
    return {
        "session_id": subject.session_id,
        "event_id": subject.event_id,
        "ref": subject.ref,
        "pass_id": subject.pass_id,
        "id": body.get("id", subject.session_id),
        "version": tag if isinstance(tag, str) else None,
        "number": parsed_tag.version.number if parsed_tag else tag if isinstance(tag, int) else None,
        "limit_bytes": limit if isinstance(limit, int) else 0,
        "retry_after": max(1, round(problem.retry_after or 1)),
    }


def problem_of(answer: Answer, first_event: int = 0) -> Problem:
    """An error answer, problem document or not. Pointers into ``/events`` are moved up by
    ``first_event``, so that they count in the caller's list."""
    body = _problem_body(answer)

    def text(key: str) -> str | None:
        value = body.get(key)
        return value if isinstance(value, str) else None

    retryable = body.get("retryable")
    return Problem(
        status=answer.status,
        # The gateway's own refusals are {"message": …}.
        detail=text("detail") or text("title") or text("message") or f"The server answered {answer.status}.",
        code=text("code"),
        title=text("title"),
        request_id=text("request_id") or answer.request_id,
        retryable=retryable if isinstance(retryable, bool) else None,
        retry_after=retry_after(answer.headers),
        errors=_field_errors(body, first_event),
        body=body,
    )


def _problem_body(answer: Answer) -> JsonObject:
    try:
        return JsonObject.parse(answer.content)
    except MalformedJson:
        return EMPTY  # a proxy's page: the status has to do


def _field_errors(body: Mapping[str, Any], first_event: int) -> tuple[FieldError, ...]:
    errors = body.get("errors")
    return tuple(
        FieldError(_moved(str(e.get("pointer", "")), first_event), str(e.get("detail", "")))
        for e in (errors if isinstance(errors, list) else ())
        if isinstance(e, dict)
    )


def _moved(pointer: str, first_event: int) -> str:
    found = _EVENT_POINTER.match(pointer)
    return f"/events/{int(found[1]) + first_event}{pointer[found.end() :]}" if found else pointer


_LONGEST_WAIT_DIGITS: Final = 9
"""30 years: nobody waits for longer, and a float holds it."""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The ``Retry-After`` header in seconds. A date is taken relative to the answer's own
    ``Date``, so that a wrong clock on this side does not matter."""
    value = headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return min(float(value[:_LONGEST_WAIT_DIGITS]), float(10**_LONGEST_WAIT_DIGITS))
    try:
        wait = parsedate_to_datetime(value) - parsedate_to_datetime(headers.get("date", ""))
    except (TypeError, ValueError):
        return None
    return max(0.0, wait.total_seconds())
