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
from ..domain.instant import Instant
from ..domain.message import Message
from ..domain.ports import Appended
from ..domain.session import ETag
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
    idempotency_key: str | None = None
    first_event: int = 0


class _NotOurs(Exception):
    """A field is missing, or is not of the type that the API promises."""


def parsed(answer: Answer, reader: Callable[[dict[str, Any], Answer], T]) -> T:
    """The body of a 2xx answer through a reader.

    Raises:
        UnexpectedResponse: not JSON, or not the shape that the API promises.
    """
    try:
        body = loads(answer.content)
        if not isinstance(body, dict):
            raise _NotOurs("the body is not an object")
        return reader(body, answer)
    except (_NotOurs, MalformedJson, InvalidRequest) as bad:
        raise UnexpectedResponse(
            f"The answer is not Turnlog's: {bad}", status=answer.status, request_id=answer.request_id
        ) from None


# --------------------------------------------------------------------------- readers


def _get(value: Mapping[str, Any], key: str, kind: type[T]) -> T:
    found = value.get(key)
    if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
        raise _NotOurs(f"{key!r} is not of type {kind.__name__}")
    return found


def _optional(value: Mapping[str, Any], key: str, kind: type[T]) -> T | None:
    return None if value.get(key) is None else _get(value, key, kind)


def _instant(value: Mapping[str, Any], key: str) -> Instant:
    return Instant.parse(_get(value, key, str), pointer=key)


def _optional_instant(value: Mapping[str, Any], key: str) -> Instant | None:
    return None if value.get(key) is None else _instant(value, key)


def _object(value: Mapping[str, Any], key: str) -> JsonObject:
    found = _optional(value, key, dict)
    return JsonObject.of(found) if found else EMPTY


def _optional_object(value: Mapping[str, Any], key: str) -> JsonObject | None:
    found = _optional(value, key, dict)
    return None if found is None else JsonObject.of(found)


def _etag(answer: Answer) -> str:
    tag = answer.headers.get("etag", "")
    # A proxy that compresses may have weakened it; the server compares strong tags only.
    tag = tag.removeprefix("W/")
    if ETag.parse(tag) is None:
        raise _NotOurs("the ETag header is missing")
    return tag


def _record(value: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": _get(value, "id", str),
        "user_id": _get(value, "user_id", str),
        "created_at": _instant(value, "created_at"),
        "expires_at": _optional_instant(value, "expires_at"),
        "metadata": _object(value, "metadata"),
        "compaction": _optional_object(value, "compaction"),
        "allow_system_messages": _optional(value, "allow_system_messages", bool),
    }


def session_info(body: dict[str, Any], answer: Answer) -> SessionInfo:
    """The session resource."""
    return SessionInfo(
        **_record(body),
        version=_get(body, "version", int),
        last_seq=_get(body, "last_seq", int),
        generation=_get(body, "generation", int),
        etag=_etag(answer),
    )


def append_result(body: dict[str, Any], answer: Answer) -> AppendResult:
    """The answer to an append."""
    return AppendResult(
        events=tuple(
            Appended(_get(e, "id", str), _get(e, "seq", int), _get(e, "replayed", bool))
            for e in _get(body, "events", list)
        ),
        last_seq=_get(body, "last_seq", int),
        version=_get(body, "version", int),
        etag=_etag(answer),
    )


def _event(value: Mapping[str, Any], session_id: str) -> SessionEvent | LinkedEvent:
    position = _optional(value, "position", dict)
    fields: dict[str, Any] = {
        "id": _get(value, "id", str),
        "session_id": session_id,
        "timestamp": _instant(value, "timestamp"),
        "branch": _optional(value, "branch", str),
        "metadata": _object(value, "metadata"),
        "archived": _get(value, "archived", bool),
        "seq": _optional(value, "seq", int),
        "position": None if position is None else _position(position),
    }
    link = _optional(value, "link", dict)
    if link is not None:
        return LinkedEvent(link=_link(link), **fields)
    return SessionEvent(message=Message(JsonObject.of(_get(value, "message", dict))), **fields)


def _link(value: Mapping[str, Any]) -> EventLink:
    return EventLink(_get(value, "url", str), _get(value, "bytes", int), _get(value, "sha256", str))


def upload_grant(body: dict[str, Any], _: Answer) -> UploadGrant:
    """Leave to upload."""
    headers = _get(body, "headers", dict)
    if not all(isinstance(value, str) and value.isascii() and value.isprintable() for value in headers.values()):
        raise _NotOurs("'headers' holds something that is no header")
    return UploadGrant(_get(body, "ref", str), _get(body, "url", str), headers)


def found_upload(body: dict[str, Any], _: Answer) -> FoundUpload:
    """What has been uploaded."""
    upload = Upload(
        ref=_get(body, "ref", str),
        media_type=_get(body, "media_type", str),
        bytes=_get(body, "bytes", int),
        sha256=_get(body, "sha256", str),
    )
    return FoundUpload(upload, _get(body, "url", str))


def _position(value: Mapping[str, Any]) -> Position:
    return Position(
        before_seq=_get(value, "before_seq", int),
        pass_id=_get(value, "pass", str),
        index=_get(value, "index", int),
        generation=_optional(value, "generation", int) or 0,
    )


def event_of(session_id: str) -> Callable[[dict[str, Any], Answer], SessionEvent | LinkedEvent]:
    """The reader of one event."""
    return lambda body, _: _event(body, session_id)


def _page(body: Mapping[str, Any], cursor: str | None, item: Callable[[Mapping[str, Any]], T]) -> Page[T]:
    items = tuple(item(value) for value in _get(body, "data", list))
    following = _optional(body, "next_cursor", str)
    if following is not None and following == cursor:
        raise _NotOurs("the page leads to itself, so reading on would never end")
    return Page(items, following)


def event_page_of(
    session_id: str, cursor: str | None
) -> Callable[[dict[str, Any], Answer], Page[SessionEvent | LinkedEvent]]:
    """The reader of the page of events at ``cursor``."""
    return lambda body, _: _page(body, cursor, lambda value: _event(value, session_id))


def session_page_of(cursor: str | None) -> Callable[[dict[str, Any], Answer], Page[SessionSummary]]:
    """The reader of the page of the user's sessions at ``cursor``."""
    return lambda body, _: _page(body, cursor, _summary)


def _summary(value: Mapping[str, Any]) -> SessionSummary:
    return SessionSummary(**_record(value), last_activity=_optional_instant(value, "last_activity"))


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
    "SessionExists": ("id",),
    "EventIdReused": ("id",),
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
