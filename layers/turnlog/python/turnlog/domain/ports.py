"""The ports: what the service needs of a store, a clock and a token counter.

Levels (DESIGN 10): a repository is bound to one tenant and has no policy of its own. It takes any
string as an id, accepts system messages, and lets an expired session work until somebody removes
it. What may happen at all is decided by the ``guard`` that the service hands in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from .archive import ArchiveState
from .due import NO_SIZE, Attempt, Due, WindowSize, never_due
from .event import EventDraft, SessionEvent
from .filter import EventFilter
from .instant import Instant
from .session import Session, SessionChanges, StoredSession, Version
from .uploads import EventLink, StoredUpload, UploadGrant, UploadRef, UploadRequest

if TYPE_CHECKING:
    from .passes import PassDetail, PassPage, PassRecord

Order = Literal["asc", "desc"]


class Clock(Protocol):
    """Where time comes from."""

    def now(self) -> Instant:
        """The present instant, in whole milliseconds."""
        ...


class TokenCounter(Protocol):
    """Text to a number of tokens; ``name`` and ``version`` are stored beside counts."""

    @property
    def name(self) -> str:
        """What it counts by: a tokenizer's name, or "estimate"."""
        ...

    @property
    def version(self) -> int:
        """Raised when the same text would get another count."""
        ...

    def count(self, text: str) -> int:
        """The number of tokens; 0 for the empty string."""
        ...


@dataclass(frozen=True)
class IdempotencyKey:
    """An ``Idempotency-Key`` and the hash of the request that came with it (both hashed: 16
    bytes of SHA-256, so that neither their length nor their content matters to a store)."""

    key: bytes
    request: bytes


KEY_ENDED = "The session that this Idempotency-Key created has been deleted since."
"""What a late retry of a create is told."""


@dataclass(frozen=True)
class AppendView:
    """What an append sees before it tries to win a slot, for the guard to judge.

    ``replays`` maps the draft's position in the request to the stored event of the same id.
    ``answered`` is True when the ``Idempotency-Key`` has been served before: then the first
    answer is given again, and only who may see it is left to decide.
    """

    session: StoredSession
    drafts: tuple[EventDraft, ...]
    replays: Mapping[int, SessionEvent]
    answered: bool = False


Guard = Callable[[AppendView], None]
"""Raises to refuse. A repository calls it again on a consistent view before it lets the refusal
out (DESIGN 4: any answer given without winning a slot comes from a consistent read)."""


def no_guard(view: AppendView) -> None:
    """The repository port by itself: everything is allowed, the first content of an id wins."""


@dataclass(frozen=True)
class AppendRequest:
    """A batch to append, all or nothing. Drafts without a timestamp get ``now``.

    ``crowded`` says that others are known to append at this moment (the caller has just lost a
    race to create the session), so that a store may spread them before they meet at one slot.
    ``due`` decides whether the commit asks for a pass.
    """

    session_id: str
    drafts: tuple[EventDraft, ...]
    now: Instant
    key: IdempotencyKey | None = None
    guard: Guard = field(default=no_guard)
    crowded: bool = False
    due: Due = field(default=never_due)


@dataclass(frozen=True)
class Appended:
    """Where one draft ended: ``replayed`` when its id had been in the log before. ``seq`` is None
    only for the replay of an event that a pass inserted."""

    id: str
    seq: int | None
    replayed: bool = False


@dataclass(frozen=True)
class AppendResult:
    """The answer to an append; ``version`` is that of the log right after it. ``due``: this append has
    asked for a pass."""

    events: tuple[Appended, ...]
    version: Version
    due: bool = False

    @property
    def all_replayed(self) -> bool:
        """Whether nothing new was written."""
        return all(e.replayed for e in self.events)


@dataclass(frozen=True)
class Insertion:
    """New events to stand right before an existing logged event, or at the end (None)."""

    before_seq: int | None
    events: tuple[EventDraft, ...]


@dataclass(frozen=True)
class CompactionPlan:
    """What a pass does: ids of events to archive in place, and events to insert (spec 3.6, N10).

    Inserted events of an earlier pass are archived together or not at all (DESIGN 4).
    """

    archive: frozenset[str] = frozenset()
    insert: tuple[Insertion, ...] = ()
    detail: PassDetail | None = None
    """What the pass says of itself; None says nothing."""
    attempt: Attempt | None = None
    """What the session remembers beside the pass: that the trigger still fires, for example."""


@dataclass(frozen=True)
class PassRequest:
    """A pass to run in one go: read the window, decide, write.

    ``decide`` gives the plan for the window that was read, or None to leave it. By default the
    pass lands although events are appended meanwhile, and only another pass, or the session's end,
    makes it lose. With ``only_at`` it lands only if the log is, and stays, at that version.
    ``pass_id`` is the id that the pass gets, and makes the request safe to repeat.
    """

    session_id: str
    decide: Callable[[Window], CompactionPlan | None]
    now: Instant
    only_at: Version | None = None
    pass_id: str | None = None


PassStatus = Literal["landed", "nothing", "coalesced"]
"""``nothing``: the plan was None. ``coalesced``: another pass, or with ``only_at`` an append, was first."""


@dataclass(frozen=True)
class PassOutcome:
    """What became of a pass; ``version`` is the newest that is known."""

    status: PassStatus
    version: Version
    record: PassRecord | None = None


@dataclass(frozen=True, order=True)
class Place:
    """A place in the full log, inserted events included, for cursors: right at an event.

    A logged event sorts after everything inserted before it: ``(seq, LOGGED, 0)``.
    """

    seq: int
    generation: int
    index: int


LOGGED = 1 << 40
"""The ``generation`` of a logged event's :class:`Place`: after every pass's inserts."""


def place_of(event: SessionEvent) -> Place:
    """Where the event stands in the full log; places compare like tuples."""
    if event.position is not None:
        return Place(event.position.before_seq, event.position.generation, event.position.index)
    assert event.seq is not None
    return Place(event.seq, LOGGED, 0)


@dataclass(frozen=True)
class Window:
    """The active window: session, state, and the active events in log order."""

    session: StoredSession
    archive: ArchiveState
    events: tuple[SessionEvent, ...]
    size: WindowSize = NO_SIZE


@dataclass(frozen=True)
class SessionEntry:
    """One row of a user's list."""

    session: Session
    last_activity: Instant


@dataclass(frozen=True)
class SessionPage:
    """One page of a user's list; ``next_token`` is the store's own place to go on from."""

    entries: tuple[SessionEntry, ...]
    next_token: str | None


ListOrder = Literal["created", "activity"]


class SessionRepository(Protocol):
    """Where one tenant's sessions live. Every method is atomic to its callers."""

    def save(self, session: Session) -> StoredSession:
        """Insert or update the record alone; an update keeps the stored ``created_at``, the log
        and the version are never touched (spec 1.6)."""
        ...

    def create(self, session: Session, *, now: Instant, token: IdempotencyKey | None = None) -> StoredSession:
        """Insert if the id is free, or its last holder is deleted or expired at ``now``.

        The same ``token`` again gives the stored session: a lost answer is replayed. It does not
        bring back a session that was deleted since (as long as the store remembers that one).

        Raises:
            SessionExists: a live session holds the id.
            Conflict: the session that this token created was deleted.
            IdempotencyKeyReused: it was created with this token's key and another request.
        """
        ...

    def find(self, session_id: str, *, consistent: bool = True) -> StoredSession | None:
        """The session, expired or not; None when unknown or deleted (spec 1.7)."""
        ...

    def list_by_user(self, user_id: str) -> list[Session]:
        """All sessions of exactly this user, expired ones included, in no order (spec 1.8)."""
        ...

    def page_by_user(
        self, user_id: str, *, now: Instant, limit: int, order: Order, order_by: ListOrder, token: str | None
    ) -> SessionPage:
        """One page of the user's live sessions; a page may be short, the token says if more come.

        Raises:
            InvalidRequest: the token is not one of this store's.
        """
        ...

    def update(
        self,
        session_id: str,
        changes: SessionChanges,
        *,
        now: Instant,
        if_rev: int | None = None,
        due: Due = never_due,
    ) -> StoredSession:
        """Change a live session's record. A new policy forgets the attempts of the old one, and
        ``due`` decides whether it asks for a pass at once.

        Raises:
            SessionNotFound: unknown, deleted, or expired at ``now``.
            PreconditionFailed: its ``rev`` is not ``if_rev``.
        """
        ...

    def append(self, request: AppendRequest) -> AppendResult:
        """Append a batch, all or nothing; ids already in the log are replays, first content wins
        (spec 3.4), and the order of the batch is the order of the log.

        Raises:
            SessionNotFound: unknown or deleted.
            IdempotencyKeyReused: the key came before with another request.
            StoreUnavailable: no slot could be won in time.
            Whatever the guard raises.
        """
        ...

    def read(self, session_id: str, filter: EventFilter = ...) -> list[SessionEvent]:
        """The events that the filter selects, in log order; none for an unknown session."""
        ...

    def walk(
        self,
        session: StoredSession,
        *,
        after: Place | None = None,
        order: Order = "asc",
        active_only: bool = False,
        hint: int | None = None,
    ) -> Iterator[Sequence[SessionEvent]]:
        """The full log in ``order`` from a place on (exclusive), in the batches that the store
        reads. With ``active_only`` it may skip stretches that are archived whole; ``hint`` is how
        many events the caller expects to use, so that a store need not read further at once.

        Raises:
            SessionNotFound: this life of the session has ended.
            CorruptLog: a consistent read shows a gap.
        """
        ...

    def find_event(self, session: StoredSession, event_id: str) -> SessionEvent | None:
        """One event by its id, client's or server's; None when the log does not hold it."""
        ...

    def window(self, session_id: str, *, min_version: Version | None = None) -> Window | None:
        """The active window, at least as new as ``min_version``; consistent without one.

        Raises:
            CorruptLog: a gap, or a listed insert that does not come back.
        """
        ...

    def version(self, session_id: str) -> int:
        """The version number; 0 when unknown (spec 3.2)."""
        ...

    def apply_compaction(self, session_id: str, plan: CompactionPlan, expected_version: int, *, now: Instant) -> bool:
        """Archive in place and insert, if the version is still the expected one; an empty plan
        counts as a change too. False when the version differs.

        Raises:
            SessionNotFound: unknown or deleted.
            InvalidRequest: an id or anchor that the log does not hold; nothing changes.
            TooFragmented: the archive state would grow over its limit; nothing changes.
        """
        ...

    def compact(self, request: PassRequest) -> PassOutcome:
        """Run one pass; what it writes does not depend on the length of the session (DESIGN 4).

        Raises:
            SessionNotFound: unknown, deleted, or expired at ``request.now``.
            InvalidRequest: the plan names an id or anchor that the log does not hold.
            TooFragmented: the archive state would grow over its limit; nothing changes.
            StoreUnavailable: it could not be committed in time.
            Whatever ``decide`` raises.
        """
        ...

    def undo(self, session_id: str, pass_id: str, *, now: Instant, detail: PassDetail) -> PassOutcome:
        """Restore the window as it was before the newest pass, which ``pass_id`` has to name. That is
        a pass itself, so undoing it does the first one again; until the window has grown no trigger
        runs another. A repeated call gives the undo that the first one made.

        Raises:
            SessionNotFound: unknown, deleted, or expired at ``now``.
            PassNotFound: the session's history holds no such pass.
            NotNewestPass: another pass has followed it.
            StoreUnavailable: it could not be committed in time.
        """
        ...

    def passes(self, session: StoredSession, *, first: str | None = None, limit: int = 20) -> PassPage:
        """The passes of this life, newest first, beginning at ``first``.

        Raises:
            SessionNotFound: this life of the session has ended.
            InvalidRequest: ``first`` is not a pass of this history.
            CorruptLog: a pass is listed but gone.
        """
        ...

    def find_pass(self, session: StoredSession, pass_id: str) -> PassRecord | None:
        """One pass that counts, by its id; None when the history holds no such pass.

        Raises:
            SessionNotFound: this life of the session has ended.
        """
        ...

    def record_attempt(self, session: StoredSession, attempt: Attempt | None, *, now: Instant) -> bool:
        """Remember what became of a try (None: forget it), if nobody has remembered another one, or run
        a pass, since ``session`` was read. False when somebody has, or when the session has ended.

        Raises:
            StoreUnavailable: whether it was written is not known.
        """
        ...

    def delete(self, session_id: str) -> bool:
        """End this life of the session: record and log. False when there was none (spec 1.9).
        A repeated call completes what a crash left half-done."""
        ...

    def delete_expired(self, before: Instant) -> int:
        """Delete every session that expired strictly before the instant; how many (spec 1.10).
        An admin's call: it scans the tenant."""
        ...


class UploadStore(Protocol):
    """Where one tenant's uploads lie, and the copies that links lead to. Who may ask is decided
    before: every session handed in is the caller's own and alive."""

    def grant(self, session: StoredSession, request: UploadRequest) -> UploadGrant:
        """Leave to upload a content into this life of the session. Writes nothing; the same
        content again is the same upload, and the last media type counts.

        Raises:
            StoreUnavailable: a URL could not be made just now.
        """
        ...

    def find(self, session: StoredSession, ref: UploadRef) -> StoredUpload | None:
        """What has been uploaded into this life of the session under ``ref``; None when nothing
        has, and for a ref of another life.

        Raises:
            StoreUnavailable: the store could not be asked just now.
        """
        ...

    def link(self, session: StoredSession, text: str) -> EventLink:
        """Keep a copy of the text for at least as long as the link works, and link to it. The same
        text of the same life is one copy.

        Raises:
            StoreUnavailable: the copy could not be written just now.
        """
        ...
