"""Everything that can go wrong, as one tree.

    TurnlogError
    ├── MalformedJson             the bytes are not JSON that Turnlog accepts            400
    ├── InvalidRequest            well-formed, but a field's value is not valid          422
    │   └── IdempotencyKeyReused  the key came before with another request               422
    ├── NotFound
    │   ├── SessionNotFound       unknown, deleted, expired, or another user's           404
    │   ├── EventNotFound         no event of that id in this session                    404
    │   ├── UploadNotFound        nothing has been uploaded under that ref               404
    │   └── PassNotFound          no pass of that id in this session's history           404
    ├── Conflict
    │   ├── SessionExists         the id is taken by a live session                      409
    │   ├── EventIdReused         the id names a stored event with other content         409
    │   ├── NotNewestPass         another pass has followed the one to be undone         409
    │   └── TooFragmented         the archive state would outgrow its item               409
    ├── PreconditionFailed        If-Match / If-None-Match did not hold                  412
    ├── PayloadTooLarge           over a size limit                                      413
    ├── StoreUnavailable          throttled, contended or unreachable: try again         503
    └── CorruptLog                the store contradicts itself: never a silent gap       500

The HTTP status stands here for the reader; the table that decides it is in
``session_api.problems``, and a test proves that the table is complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self


@dataclass(frozen=True)
class FieldError:
    """One thing wrong with one field; ``pointer`` is an RFC 6901 JSON pointer into the body,
    or ``query:<name>``, ``header:<name>``, ``path:<name>`` for a value that stands elsewhere."""

    pointer: str
    detail: str


class TurnlogError(Exception):
    """The base of every error that Turnlog raises on purpose.

    ``code`` is stable and meant for programs; ``retryable`` tells whether the same request may
    succeed later without being changed.
    """

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False

    def __init__(self, detail: str, *, errors: Sequence[FieldError] = ()) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = tuple(errors)


class MalformedJson(TurnlogError):
    """The text is not JSON, or uses something that Turnlog refuses everywhere: NaN, duplicate
    keys, lone surrogates, nesting deeper than 64, numbers longer than 1,000 digits."""

    code = "malformed-json"


class InvalidRequest(TurnlogError):
    """A value is well-formed but not valid; ``errors`` names the field."""

    code = "invalid-request"

    @classmethod
    def at(cls, pointer: str, detail: str) -> Self:
        """The error for one field: its pointer is repeated in the message, for logs."""
        return cls(f"{pointer}: {detail}", errors=[FieldError(pointer, detail)])


class IdempotencyKeyReused(InvalidRequest):
    """The ``Idempotency-Key`` was used before with a different request."""

    code = "idempotency-key-reused"


class NotFound(TurnlogError):
    """What the request names does not exist for this caller."""

    code = "not-found"


class SessionNotFound(NotFound):
    """No live session of that id belongs to this caller. A foreign session looks the same."""

    code = "session-not-found"

    def __init__(self, session_id: str) -> None:
        super().__init__(f"There is no session {session_id!r}.")
        self.session_id = session_id


class EventNotFound(NotFound):
    """No event of that id is in the session."""

    code = "event-not-found"

    def __init__(self, session_id: str, event_id: str) -> None:
        super().__init__(f"Session {session_id!r} holds no event {event_id!r}.")
        self.session_id = session_id
        self.event_id = event_id


class UploadNotFound(NotFound):
    """Nothing has been uploaded under the ref, or it belongs to another session or life."""

    code = "upload-not-found"

    def __init__(self, session_id: str, ref: str) -> None:
        super().__init__(f"Session {session_id!r} holds no upload {ref!r}.")
        self.session_id = session_id
        self.ref = ref


class PassNotFound(NotFound):
    """No pass of that id is in the session's history."""

    code = "compaction-not-found"

    def __init__(self, session_id: str, pass_id: str) -> None:
        super().__init__(f"Session {session_id!r} holds no compaction {pass_id!r}.")
        self.session_id = session_id
        self.pass_id = pass_id


class Conflict(TurnlogError):
    """The request is valid, but the present state refuses it."""

    code = "conflict"


class SessionExists(Conflict):
    """The session id is taken; create never takes a session over."""

    code = "session-exists"

    def __init__(self, session_id: str) -> None:
        super().__init__(f"A session {session_id!r} already exists.")
        self.id = session_id


class EventIdReused(Conflict):
    """The event id is in the log with other content; the stored event is untouched."""

    code = "event-id-reused"

    def __init__(self, event_id: str, *, pointer: str | None = None, where: str = "is already in the log") -> None:
        detail = f"Event id {event_id!r} {where} with different content."
        super().__init__(detail, errors=[FieldError(pointer, detail)] if pointer else ())
        self.id = event_id


class NotNewestPass(Conflict):
    """Another pass has followed the one that was to be undone."""

    code = "compaction-not-newest"

    def __init__(self, session_id: str, pass_id: str) -> None:
        super().__init__(
            f"Only the newest compaction of session {session_id!r} can be undone, "
            f"and {pass_id!r} has been followed by another."
        )
        self.session_id = session_id
        self.pass_id = pass_id


class TooFragmented(Conflict):
    """The pass would leave an archive state over its size limit (DESIGN 4: about 2 KB)."""

    code = "too-fragmented"


class PreconditionFailed(TurnlogError):
    """``If-Match`` or ``If-None-Match`` did not hold; ``version`` is the current ETag text."""

    code = "precondition-failed"

    def __init__(
        self,
        detail: str,
        *,
        version: str | None = None,
        number: int | None = None,
        errors: Sequence[FieldError] = (),
    ) -> None:
        super().__init__(detail, errors=errors)
        self.version = version
        self.number = number


class PayloadTooLarge(TurnlogError):
    """Over a size limit; ``limit_bytes`` says which."""

    code = "payload-too-large"

    def __init__(self, detail: str, *, limit_bytes: int, errors: Sequence[FieldError] = ()) -> None:
        super().__init__(detail, errors=errors)
        self.limit_bytes = limit_bytes


class StoreUnavailable(TurnlogError):
    """The store could not answer in time; nothing is known to have failed for good.

    ``retry_after`` is in whole seconds.
    """

    code = "store-unavailable"
    retryable = True

    def __init__(self, detail: str, *, retry_after: int = 1) -> None:
        super().__init__(detail)
        self.retry_after = retry_after


class CorruptLog(TurnlogError):
    """A consistent read shows a hole, a missing insert or an unreadable body."""

    code = "corrupt-log"
