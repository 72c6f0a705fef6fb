"""Everything that the client raises, as one tree.

    TurnlogError
    ├── MalformedJson             something is not JSON that Turnlog accepts             400
    ├── InvalidRequest            a field's value is not valid; see ``errors``           422
    │   └── IdempotencyKeyReused  the key came before with another request               422
    ├── NotFound                                                                         404
    │   ├── SessionNotFound       unknown, deleted, expired, or another user's           404
    │   ├── EventNotFound         no event of that id in this session                    404
    │   ├── UploadNotFound        nothing was uploaded under that ref                    404
    │   └── PassNotFound          no compaction of that id in this session               404
    ├── Conflict                                                                         409
    │   ├── SessionExists         the id is taken by a live session                      409
    │   ├── EventIdReused         the id names a stored event with other content         409
    │   ├── NotNewestPass         another compaction has followed                        409
    │   └── TooFragmented         the archive state would outgrow its item               409
    ├── PreconditionFailed        If-Match did not hold; ``version`` is the current tag  412
    ├── PayloadTooLarge           over ``limit_bytes``                                   413
    ├── StoreUnavailable          try again after ``retry_after`` seconds        502, 503, 504
    ├── CorruptLog                the store contradicts itself                           500
    └── ClientError               a request did not succeed, or was not even made
        ├── ConnectionFailed      the server could not be reached, or hung up
        ├── TimedOut              no answer in time
        ├── UnexpectedResponse    an answer that Turnlog does not give
        ├── TransferFailed        the storage behind an upload or a link; ``status``
        └── ApiError              the server refused: ``status``, ``request_id``, ``problem``
            ├── Unauthorized      no token, or one that is not valid                     401
            ├── Forbidden         the token may not do this                              403
            └── RateLimited       too many requests; ``retry_after``                     429

The upper part is ``turnlog.domain.errors``: the same class says the same thing whether the
service or the client raised it. An error that the *server* answered is an ``ApiError`` as well,
so ``except SessionNotFound`` says what to handle and ``except ApiError`` what to log. A value that
the client refuses to send is a ``ClientError`` as well and no ``ApiError``: nothing was answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, cast

from ..domain.errors import (
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
from ..domain.exactjson import EMPTY, JsonObject


@dataclass(frozen=True)
class Problem:
    """An error answer (RFC 9457). One that is not a problem document, such as the gateway's own
    401, has only ``status``, a ``detail`` made from it, and perhaps ``request_id``.

    ``retryable`` is None when the answer did not say; ``retry_after`` is in seconds; ``body``
    holds every member as it was sent.
    """

    status: int
    detail: str
    code: str | None = None
    title: str | None = None
    request_id: str | None = None
    retryable: bool | None = None
    retry_after: float | None = None
    errors: tuple[FieldError, ...] = ()
    body: JsonObject = EMPTY


class ClientError(TurnlogError):
    """A request did not succeed, or a value was refused before one was made.

    ``idempotency_key`` is the key of the create, append or append_all that failed, made by the
    client unless one was given: the same call with it goes on without doubling anything.
    """

    code = "client-error"
    idempotency_key: str | None = None


class ConnectionFailed(ClientError):
    """The server could not be reached, or the connection broke before the answer was whole."""

    code = "connection-failed"
    retryable = True


class TimedOut(ClientError):
    """No answer in time. What was asked for may have happened all the same."""

    code = "timed-out"
    retryable = True


class UnexpectedResponse(ClientError):
    """An answer that is not Turnlog's: a redirect, a page of some proxy, a missing field."""

    code = "unexpected-response"

    def __init__(self, detail: str, *, status: int | None = None, request_id: str | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.request_id = request_id


class TransferFailed(ClientError):
    """The storage behind an upload, a download or a linked message refused, or gave something else
    than was stored. ``status`` is its HTTP status, None when the content was wrong."""

    code = "transfer-failed"

    def __init__(self, detail: str, *, status: int | None = None) -> None:
        super().__init__(detail)
        self.status = status


class ApiError(ClientError):
    """The server answered with an error. Most are a more telling class besides; a status that
    has none is an ``ApiError`` and nothing else."""

    code = "api-error"

    def __init__(self, problem: Problem) -> None:
        # Past the domain classes that a subclass mixes in: their constructors make a text of
        # their own, and here the server has written it.
        TurnlogError.__init__(self, problem.detail, errors=problem.errors)
        self.problem = problem

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.problem.status

    @property
    def request_id(self) -> str | None:
        """The id under which the server logged the request."""
        return self.problem.request_id

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (_kind_of(type(self)), self.problem), self.__dict__


class Unauthorized(ApiError):
    """No token, or one that is expired, forged or of another issuer."""

    code = "unauthorized"


class Forbidden(ApiError):
    """The token is valid and may not do this."""

    code = "forbidden"


class RateLimited(ApiError):
    """Too many requests; ``retry_after`` is in seconds when the server said."""

    code = "rate-limited"
    retryable = True

    @property
    def retry_after(self) -> float | None:
        """How long the server wants the caller to wait."""
        return self.problem.retry_after


_SAID_BY_DOMAIN: Final = (
    MalformedJson,
    InvalidRequest,
    IdempotencyKeyReused,
    NotFound,
    SessionNotFound,
    EventNotFound,
    UploadNotFound,
    PassNotFound,
    Conflict,
    SessionExists,
    EventIdReused,
    NotNewestPass,
    TooFragmented,
    PreconditionFailed,
    PayloadTooLarge,
    StoreUnavailable,
    CorruptLog,
)


def _answered(kind: type[TurnlogError]) -> type[ApiError]:
    """The class of a domain error that came as an answer: both at once, under the same name."""
    members = {"__module__": __name__, "__doc__": kind.__doc__, "code": kind.code, "retryable": kind.retryable}
    return cast("type[ApiError]", type(kind.__name__, (ApiError, kind), members))


_ANSWERED: Final = {kind: _answered(kind) for kind in _SAID_BY_DOMAIN}
BY_CODE: Final[dict[str, type[TurnlogError]]] = {
    kind.code: kind for kind in (*_SAID_BY_DOMAIN, Unauthorized, Forbidden, RateLimited)
}
BY_STATUS: Final[dict[int, type[TurnlogError]]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    412: PreconditionFailed,
    413: PayloadTooLarge,
    422: InvalidRequest,
    429: RateLimited,
    502: StoreUnavailable,
    503: StoreUnavailable,
    504: StoreUnavailable,
}


def _not_sent(kind: type[TurnlogError]) -> type[TurnlogError]:
    """The class of a domain error that the client raises before it sends: both at once, under the same name."""

    def reduce(self: TurnlogError) -> tuple[object, ...]:
        return refused, (kind, self.detail, self.errors), self.__dict__

    members = {"__module__": __name__, "__doc__": kind.__doc__, "code": kind.code, "__reduce__": reduce}
    return cast("type[TurnlogError]", type(kind.__name__, (ClientError, kind), members))


_REFUSED: Final[dict[type[TurnlogError], type[TurnlogError]]] = {
    kind: _not_sent(kind) for kind in (InvalidRequest, MalformedJson)
}


def refused(kind: type[TurnlogError], detail: str, errors: Sequence[FieldError]) -> TurnlogError:
    """The error for a value that the client does not send: a ``ClientError`` and of that kind."""
    return _REFUSED[kind](detail, errors=errors)


@contextmanager
def as_client_errors() -> Iterator[None]:
    """Raise what the domain refuses as :func:`refused`; also a decorator."""
    try:
        yield
    except InvalidRequest as bad:
        raise _refused_again(InvalidRequest, bad) from None
    except MalformedJson as bad:
        raise _refused_again(MalformedJson, bad) from None


def _refused_again(kind: type[TurnlogError], error: TurnlogError) -> TurnlogError:
    return error if isinstance(error, ClientError) else refused(kind, error.detail, error.errors)


def answered_class(problem: Problem) -> type[ApiError]:
    """The class for an error answer: by its code, and by its status if the code is unknown."""
    kind = BY_CODE.get(problem.code or "") or BY_STATUS.get(problem.status, ApiError)
    return _class_of(kind)


def _class_of(kind: type[TurnlogError]) -> type[ApiError]:
    return _ANSWERED[kind] if kind in _ANSWERED else cast("type[ApiError]", kind)


def _kind_of(answered: type[ApiError]) -> type[TurnlogError]:
    return next((kind for kind, cls in _ANSWERED.items() if cls is answered), answered)


def _restored(kind: type[TurnlogError], problem: Problem) -> ApiError:
    return _class_of(kind)(problem)


__all__ = [
    "ApiError",
    "ClientError",
    "Conflict",
    "ConnectionFailed",
    "CorruptLog",
    "EventIdReused",
    "EventNotFound",
    "FieldError",
    "Forbidden",
    "IdempotencyKeyReused",
    "InvalidRequest",
    "MalformedJson",
    "NotFound",
    "NotNewestPass",
    "PassNotFound",
    "PayloadTooLarge",
    "PreconditionFailed",
    "Problem",
    "RateLimited",
    "SessionExists",
    "SessionNotFound",
    "StoreUnavailable",
    "TimedOut",
    "TooFragmented",
    "TransferFailed",
    "TurnlogError",
    "Unauthorized",
    "UnexpectedResponse",
    "UploadNotFound",
]
