"""SessionService: what callers call. It decides; the repository behind it stores.

Bound to one tenant through its repository; the user comes with each call. A session of another
user is reported exactly like an unknown one.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from .domain import ids
from .domain.due import Due, never_due
from .domain.errors import (
    EventIdReused,
    EventNotFound,
    InvalidRequest,
    PreconditionFailed,
    SessionExists,
    SessionNotFound,
    StoreUnavailable,
    UploadNotFound,
)
from .domain.event import EventDraft, SessionEvent
from .domain.exactjson import EMPTY, JsonObject
from .domain.filter import EventFilter
from .domain.instant import Instant
from .domain.listing import SCAN_BATCHES, EventCursor, EventPage, Listing, PageLimits
from .domain.ports import (
    AppendRequest,
    AppendResult,
    AppendView,
    Clock,
    IdempotencyKey,
    ListOrder,
    Order,
    SessionPage,
    SessionRepository,
    UploadStore,
)
from .domain.session import DEFAULT_TTL_SECONDS, ETag, Session, SessionChanges, StoredSession, Version, matches
from .domain.uploads import EventLink, StoredUpload, UploadGrant, UploadRef, UploadRequest, check_refs

SYSTEM_MESSAGES_DOC: Final = "docs/system-messages.md"
MAX_LAST_N: Final = 1000
CREATE_ROUNDS: Final = 6
"""How often find-or-create tries again when others create and delete the session meanwhile."""


@dataclass(frozen=True)
class ServiceSettings:
    """The stage's defaults."""

    default_ttl_seconds: int = DEFAULT_TTL_SECONDS
    allow_system_messages: bool = False


@dataclass(frozen=True)
class CreateSession:
    """A request to create (spec 1.4). ``id`` None or blank: the service makes one."""

    user_id: str | None
    id: str | None = None
    ttl_seconds: int | None = None
    metadata: JsonObject = EMPTY
    compaction: JsonObject | None = None
    allow_system_messages: bool | None = None


class SessionService:
    """Create, append, read, change and delete sessions of one tenant.

    ``uploads`` may be left out where nothing is uploaded or linked, as in most tests. ``due`` decides
    which appends ask for a pass; without it none does.
    """

    def __init__(
        self,
        repository: SessionRepository,
        *,
        clock: Clock,
        settings: ServiceSettings | None = None,
        uploads: UploadStore | None = None,
        due: Due = never_due,
    ) -> None:
        self._repository = repository
        self._clock = clock
        self._settings = settings or ServiceSettings()
        self._upload_store = uploads
        self._due = due

    @property
    def settings(self) -> ServiceSettings:
        """The stage's defaults."""
        return self._settings

    # ------------------------------------------------------------------ sessions

    def create(self, request: CreateSession, *, key: IdempotencyKey | None = None) -> StoredSession:
        """Create a session; it always gets an expiry (spec 1.5).

        With an idempotency key and no id, the id follows from user and key, so that a retry finds
        what the lost answer made.

        Raises:
            InvalidRequest: ``user_id`` without text.
            SessionExists: the id is taken by a live session, whoever owns it.
            IdempotencyKeyReused: the key came before with another request.
        """
        now = self._clock.now()
        ttl = self._settings.default_ttl_seconds if request.ttl_seconds is None else request.ttl_seconds
        session = Session.build(
            id=request.id,
            user_id=request.user_id,
            now=now,
            ttl_seconds=ttl,
            metadata=request.metadata,
            compaction=request.compaction,
            allow_system_messages=request.allow_system_messages,
        )
        if key is not None and session.id != request.id:
            session = replace(session, id=_id_of_key(session.user_id, key))
        return self._repository.create(session, now=now, token=key)

    def get(self, user_id: str, session_id: str) -> StoredSession:
        """A live session of this user; raises ``SessionNotFound``."""
        return self._live(self._repository.find(session_id), user_id, session_id)

    def list(
        self,
        user_id: str,
        *,
        limit: int = 20,
        order: Order = "desc",
        order_by: ListOrder = "created",
        token: str | None = None,
    ) -> SessionPage:
        """One page of the user's live sessions, newest first unless ``order`` says otherwise."""
        return self._repository.page_by_user(
            user_id, now=self._clock.now(), limit=limit, order=order, order_by=order_by, token=token
        )

    def update(
        self, user_id: str, session_id: str, changes: SessionChanges, *, if_match: tuple[str, ...] | None = None
    ) -> StoredSession:
        """Change metadata, lifetime, policy or flags.

        Raises:
            SessionNotFound: not live, or another user's.
            PreconditionFailed: no tag of ``if_match`` is the session's ETag.
        """
        found = self.get(user_id, session_id)
        rev = self._matched_rev(found, if_match)
        return self._repository.update(session_id, changes, now=self._clock.now(), if_rev=rev, due=self._due)

    def delete(self, user_id: str, session_id: str, *, if_match: tuple[str, ...] | None = None) -> None:
        """End the session for good; raises ``SessionNotFound`` or ``PreconditionFailed``."""
        found = self._repository.find(session_id)
        if found is None:
            # A crash may have left an earlier DELETE between its two steps; complete it first.
            self._repository.delete(session_id)
            raise SessionNotFound(session_id)
        self._matched_rev(self._live(found, user_id, session_id), if_match)
        if not self._repository.delete(session_id):
            raise SessionNotFound(session_id)

    # ------------------------------------------------------------------ events

    def append(
        self,
        user_id: str,
        session_id: str,
        drafts: tuple[EventDraft, ...],
        *,
        create_if_missing: bool = False,
        if_match: tuple[str, ...] | None = None,
        key: IdempotencyKey | None = None,
    ) -> AppendResult:
        """Append a batch, all or nothing, in its order.

        An id already in the log with the same content is a replay and keeps its first seq.

        Raises:
            SessionNotFound: not live, or another user's (also with ``create_if_missing``).
            InvalidRequest: an empty batch, a system message where they are off, a made-up server id,
                a media ref that is not of this session's present life.
            EventIdReused: an id is in the log, or twice in the batch, with other content.
            IdempotencyKeyReused: the key came before with another request.
            PreconditionFailed: the log is not at any tag of ``if_match``.
            StoreUnavailable: the session is too contended just now.
        """
        if not drafts:
            raise InvalidRequest.at("/events", "must hold at least one event")
        _check_twins(drafts)

        def guard(view: AppendView) -> None:
            self._judge(view, user_id, session_id, self._clock.now(), if_match)

        def attempt(*, crowded: bool) -> AppendResult:
            return self._repository.append(
                AppendRequest(session_id, drafts, self._clock.now(), key, guard, crowded=crowded, due=self._due)
            )

        if not create_if_missing:
            return attempt(crowded=False)
        return self._append_creating(user_id, session_id, drafts, if_match, attempt)

    def _append_creating(
        self,
        user_id: str,
        session_id: str,
        drafts: tuple[EventDraft, ...],
        if_match: tuple[str, ...] | None,
        attempt: Callable[..., AppendResult],
    ) -> AppendResult:
        """Append; create the session first if there is none.

        A race can create or delete it between our two steps, so this goes round a few times;
        whoever created it meanwhile, the guard decides whether we may write.
        """
        crowded = False
        for _ in range(CREATE_ROUNDS):
            try:
                return attempt(crowded=crowded)
            except SessionNotFound:
                found = self._repository.find(session_id)
                if (
                    found is not None
                    and found.record.user_id != user_id
                    and not found.record.expired(self._clock.now())
                ):
                    raise
                # What would be refused must not leave an empty session behind.
                self._judge_first(user_id, session_id, drafts, if_match)
                try:
                    self.create(CreateSession(user_id=user_id, id=session_id))
                except SessionExists:
                    crowded = True
        raise StoreUnavailable("The session is created and deleted by others at this moment; try again.")

    def _judge_first(
        self, user_id: str, session_id: str, drafts: tuple[EventDraft, ...], if_match: tuple[str, ...] | None
    ) -> None:
        """Judge the first append of a session that does not exist yet."""
        if if_match is not None:
            raise PreconditionFailed("There is no session yet that If-Match could name.")
        now = self._clock.now()
        record = Session.build(id=session_id, user_id=user_id, now=now)
        view = AppendView(StoredSession(record, Version(0, 0, 0)), drafts, {})
        self._judge(view, user_id, session_id, now, None)
        for i, draft in enumerate(drafts):
            check_refs(draft.message.media_refs, None, f"/events/{i}/message")

    def _judge(
        self, view: AppendView, user_id: str, session_id: str, now: Instant, if_match: tuple[str, ...] | None
    ) -> None:
        """The order of DESIGN 4, append 2; ownership first, so that nothing is told to strangers."""
        record = view.session.record
        if record.user_id != user_id or record.expired(now):
            raise SessionNotFound(session_id)
        if view.answered:
            return
        for i, stored in view.replays.items():
            if not view.drafts[i].same_as(stored):
                raise EventIdReused(stored.id, pointer=f"/events/{i}/id")
        if len(view.replays) == len(view.drafts):
            return
        if if_match is not None and not matches(if_match, ETag(view.session.version)):
            raise PreconditionFailed(
                "The log has changed since the version in If-Match.",
                version=view.session.version.etag(),
                number=view.session.version.number,
            )
        allowed = record.allow_system_messages
        system_ok = self._settings.allow_system_messages if allowed is None else allowed
        for i, draft in enumerate(view.drafts):
            if i in view.replays:
                continue
            if draft.message.role == "system" and not system_ok:
                raise InvalidRequest.at(f"/events/{i}/message/role", _system_refused(session_id))
            if draft.id is not None and ids.is_server_made(draft.id):
                raise InvalidRequest.at(f"/events/{i}/id", "ids that begin with ~ are made by the server")
            check_refs(draft.message.media_refs, view.session, f"/events/{i}/message")

    def event(self, user_id: str, session_id: str, event_id: str) -> tuple[StoredSession, SessionEvent]:
        """One event by its id; raises ``SessionNotFound`` or ``EventNotFound``."""
        session = self.get(user_id, session_id)
        found = self._repository.find_event(session, event_id)
        if found is None:
            raise EventNotFound(session_id, event_id)
        return session, found

    def events(
        self,
        user_id: str,
        session_id: str,
        filter: EventFilter | None = None,
        *,
        order: Order = "asc",
        limits: PageLimits | None = None,
        cursor: EventCursor | None = None,
    ) -> EventPage:
        """One page of the log under a filter; ``last_n`` is exact, however many pages it takes.

        Raises:
            SessionNotFound: not live, or another user's.
            InvalidRequest: the cursor belongs to an earlier life of the session, or ``last_n`` is
                over ``MAX_LAST_N``.
        """
        session = self.get(user_id, session_id)
        filter = filter or EventFilter()
        if filter.page is not None:
            raise InvalidRequest.at("query:page", "a listing is paged by its cursor")
        if cursor is not None and cursor.inc != session.version.inc:
            raise InvalidRequest.at("query:cursor", "belongs to an earlier life of this session; start again")
        if filter.last_n is not None and filter.last_n > MAX_LAST_N:
            raise InvalidRequest.at("query:last_n", f"must be at most {MAX_LAST_N}")
        listing = Listing(self._repository, session, filter, order, limits or PageLimits())
        return listing.page(cursor or EventCursor(session.version.inc, need=filter.last_n))

    # ------------------------------------------------------------------ uploads

    def create_upload(self, user_id: str, session_id: str, request: UploadRequest) -> UploadGrant:
        """Leave to upload a content into the session's present life; nothing is written.

        Raises:
            SessionNotFound: not live, or another user's.
            StoreUnavailable: the store cannot give one just now.
        """
        return self._uploads.grant(self.get(user_id, session_id), request)

    def upload(self, user_id: str, session_id: str, ref: UploadRef) -> StoredUpload:
        """What has been uploaded under a ref, with a URL to read it at.

        Raises:
            SessionNotFound: not live, or another user's.
            UploadNotFound: nothing has, or the ref is of another session or life.
            StoreUnavailable: the store cannot be asked just now.
        """
        found = self._uploads.find(self.get(user_id, session_id), ref)
        if found is None:
            raise UploadNotFound(session_id, str(ref))
        return found

    def event_link(self, session: StoredSession, event: SessionEvent) -> EventLink:
        """A link to the message of an event that :meth:`event` or :meth:`events` gave with this
        session; raises ``StoreUnavailable``."""
        return self._uploads.link(session, event.message.raw)

    @property
    def _uploads(self) -> UploadStore:
        if self._upload_store is None:
            raise RuntimeError("this SessionService was made without an upload store")
        return self._upload_store

    # ------------------------------------------------------------------ helpers

    def _live(self, found: StoredSession | None, user_id: str, session_id: str) -> StoredSession:
        if found is None or found.record.user_id != user_id or found.record.expired(self._clock.now()):
            raise SessionNotFound(session_id)
        return found

    @staticmethod
    def _matched_rev(found: StoredSession, if_match: tuple[str, ...] | None) -> int | None:
        if if_match is None:
            return None
        if not matches(if_match, ETag(found.version, found.rev)):
            raise PreconditionFailed(
                "The session has changed since the version in If-Match.",
                version=found.version.etag(found.rev),
                number=found.version.number,
            )
        return found.rev


def _check_twins(drafts: tuple[EventDraft, ...]) -> None:
    """The same id twice in one batch is a replay of itself, if the content is the same."""
    first: dict[str, EventDraft] = {}
    for i, draft in enumerate(drafts):
        if draft.id is None:
            continue
        twin = first.setdefault(draft.id, draft)
        same = (
            twin.message == draft.message
            and twin.branch == draft.branch
            and twin.metadata == draft.metadata
            and (twin.timestamp is None or draft.timestamp is None or twin.timestamp == draft.timestamp)
        )
        if not same:
            raise EventIdReused(draft.id, pointer=f"/events/{i}/id", where="stands twice in the batch,")


def _id_of_key(user_id: str, key: IdempotencyKey) -> str:
    return str(uuid.UUID(bytes=hashlib.sha256(user_id.encode() + b"\0" + key.key).digest()[:16], version=4))


def _system_refused(session_id: str) -> str:
    return (
        f"Session {session_id!r} does not store system messages. A system prompt is configuration: supply it with "
        "every request to the model, and keep per-session settings in the session's metadata. To store them all the "
        "same, set allow_system_messages on the session, or TURNLOG_ALLOW_SYSTEM_MESSAGES=true for the stage. "
        f"See {SYSTEM_MESSAGES_DOC}."
    )


__all__ = [
    "SCAN_BATCHES",
    "CreateSession",
    "EventCursor",
    "EventPage",
    "PageLimits",
    "ServiceSettings",
    "SessionService",
]
