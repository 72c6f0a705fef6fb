"""Errors as RFC 9457 problems: the one table from error to status, title and type."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from turnlog.domain.errors import (
    Conflict,
    CorruptLog,
    EventIdReused,
    EventNotFound,
    FieldError,
    IdempotencyKeyReused,
    InvalidRequest,
    MalformedJson,
    NotFound,
    NotNewestPass,
    PassNotFound,
    PayloadTooLarge,
    PreconditionFailed,
    SessionExists,
    SessionNotFound,
    StoreUnavailable,
    TooFragmented,
    TurnlogError,
    UploadNotFound,
)

from .answer import Answer

CONTENT_TYPE: Final = "application/problem+json"
TYPE_PREFIX: Final = "urn:turnlog:problem:"


class MalformedRequest(TurnlogError):
    """The request is broken below the level of JSON: its base64, or the encoding of its URL."""

    code = "malformed-request"


class Forbidden(TurnlogError):
    """Verified, but nobody: a token that names no tenant and user, or a role that may not act here."""

    code = "forbidden"


class RouteNotFound(TurnlogError):
    """No route has this path."""

    code = "route-not-found"


class MethodNotAllowed(TurnlogError):
    """The path exists, the method on it does not."""

    code = "method-not-allowed"

    def __init__(self, method: str, allowed: tuple[str, ...]) -> None:
        super().__init__(f"{method} is not allowed here; use {' or '.join(allowed)}.")
        self.allowed = allowed


class UnsupportedMediaType(TurnlogError):
    """The body is not declared as JSON."""

    code = "unsupported-media-type"


class InternalError(TurnlogError):
    """Something that nobody foresaw; what it was stands in the log only."""

    code = "internal-error"


@dataclass(frozen=True)
class Kind:
    """How one class of errors is told. ``detail`` replaces the error's own words where those
    would tell a stranger more than the status does."""

    status: HTTPStatus
    title: str
    detail: str | None = None


KINDS: Final[Mapping[type[TurnlogError], Kind]] = {
    TurnlogError: Kind(HTTPStatus.INTERNAL_SERVER_ERROR, "Internal error"),
    MalformedJson: Kind(HTTPStatus.BAD_REQUEST, "Malformed JSON"),
    MalformedRequest: Kind(HTTPStatus.BAD_REQUEST, "Malformed request"),
    Forbidden: Kind(HTTPStatus.FORBIDDEN, "Forbidden"),
    NotFound: Kind(HTTPStatus.NOT_FOUND, "Not found"),
    RouteNotFound: Kind(HTTPStatus.NOT_FOUND, "No such path"),
    SessionNotFound: Kind(HTTPStatus.NOT_FOUND, "No such session", "There is no session with this id."),
    EventNotFound: Kind(HTTPStatus.NOT_FOUND, "No such event", "This session holds no event with this id."),
    UploadNotFound: Kind(
        HTTPStatus.NOT_FOUND, "No such upload", "Nothing has been uploaded to this session under this ref."
    ),
    PassNotFound: Kind(
        HTTPStatus.NOT_FOUND, "No such compaction", "This session's history holds no compaction with this id."
    ),
    MethodNotAllowed: Kind(HTTPStatus.METHOD_NOT_ALLOWED, "Method not allowed"),
    Conflict: Kind(HTTPStatus.CONFLICT, "Conflict"),
    SessionExists: Kind(HTTPStatus.CONFLICT, "Session id is taken"),
    EventIdReused: Kind(HTTPStatus.CONFLICT, "Event id is taken"),
    NotNewestPass: Kind(HTTPStatus.CONFLICT, "Not the newest compaction"),
    TooFragmented: Kind(HTTPStatus.CONFLICT, "Archive too fragmented"),
    PreconditionFailed: Kind(HTTPStatus.PRECONDITION_FAILED, "Precondition failed"),
    PayloadTooLarge: Kind(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "Too large"),
    UnsupportedMediaType: Kind(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "Unsupported media type"),
    InvalidRequest: Kind(HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid request"),
    IdempotencyKeyReused: Kind(HTTPStatus.UNPROCESSABLE_ENTITY, "Idempotency key reused"),
    CorruptLog: Kind(HTTPStatus.INTERNAL_SERVER_ERROR, "Corrupt log", "The stored log contradicts itself."),
    InternalError: Kind(HTTPStatus.INTERNAL_SERVER_ERROR, "Internal error"),
    StoreUnavailable: Kind(HTTPStatus.SERVICE_UNAVAILABLE, "Store unavailable"),
}


def kind_of(error: type[TurnlogError]) -> Kind:
    """The entry of the class, or of its nearest ancestor that has one."""
    return next(KINDS[cls] for cls in error.__mro__ if cls in KINDS)


def problem_of(error: TurnlogError, *, instance: str, request_id: str) -> Answer:
    """The answer that tells an error. ``instance`` is the path of the request.

    Members beyond RFC 9457's: ``code`` and ``retryable`` for programs, ``request_id`` for finding
    it in the log, ``errors`` with a pointer for each wrong field, and those of :func:`_members`.
    """
    kind = kind_of(type(error))
    body: dict[str, Any] = {
        "type": TYPE_PREFIX + error.code,
        "title": kind.title,
        "status": kind.status.value,
        "detail": kind.detail or error.detail,
        "instance": instance,
        "code": error.code,
        "request_id": request_id,
        "retryable": error.retryable,
        "errors": [{"pointer": e.pointer, "detail": e.detail} for e in _field_errors(error)],
        **_members(error, instance),
    }
    text = json.dumps(body, separators=(",", ":"))
    return Answer(kind.status.value, text, _headers(error), content_type=CONTENT_TYPE, code=error.code)


def _field_errors(error: TurnlogError) -> tuple[FieldError, ...]:
    """Where the error does not say which field it is about, its class does."""
    if not error.errors:
        for cls, pointer in _FIELD_OF.items():
            if isinstance(error, cls):
                return (FieldError(pointer, error.detail),)
    return error.errors


_FIELD_OF: Final[Mapping[type[TurnlogError], str]] = {
    IdempotencyKeyReused: "header:Idempotency-Key",
    PreconditionFailed: "header:If-Match",
    SessionExists: "/id",
}


def _members(error: TurnlogError, instance: str) -> dict[str, Any]:
    if isinstance(error, PreconditionFailed):
        return {"version": error.version}
    if isinstance(error, (SessionExists, EventIdReused)):
        return {"id": error.id}
    if isinstance(error, PayloadTooLarge):
        return {"limit_bytes": error.limit_bytes, "uploads": _uploads(error, instance)}
    return {}


def _uploads(error: PayloadTooLarge, instance: str) -> str | None:
    """Where a part of a body that is too large can go instead. A field that is too large by itself
    has nowhere to go, and neither has the body of a request that is not about one session."""
    session = None if error.errors else _SESSION.match(instance)
    return None if session is None else f"{session[0]}/uploads"


_SESSION: Final = re.compile(r".*?/v1/sessions/[^/]+")


def _headers(error: TurnlogError) -> dict[str, str]:
    if isinstance(error, MethodNotAllowed):
        return {"allow": ", ".join(error.allowed)}
    if isinstance(error, PreconditionFailed) and error.version is not None:
        return {"etag": error.version}
    if error.retryable:
        return {"retry-after": str(getattr(error, "retry_after", 1))}
    return {}
