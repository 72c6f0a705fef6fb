"""DynamoDBSessionRepository: the port, composed of the parts of this package."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ...domain.due import Attempt, Due, never_due
from ...domain.errors import SessionNotFound
from ...domain.event import SessionEvent
from ...domain.filter import EventFilter
from ...domain.instant import Instant
from ...domain.ports import (
    AppendRequest,
    AppendResult,
    CompactionPlan,
    IdempotencyKey,
    ListOrder,
    Order,
    PassOutcome,
    PassRequest,
    Place,
    SessionPage,
    TokenCounter,
    Window,
)
from ...domain.session import Session, SessionChanges, StoredSession, Version
from ...domain.tokens import EstimatingCounter
from . import keys
from .append import Appender
from .blobs import BlobStore
from .idblocks import IdBlocks, Lookup
from .items import Head
from .listing import Listing
from .lives import Lives
from .pacing import Pacing
from .reader import Reader
from .view import Viewer
from .window import WindowReader

if TYPE_CHECKING:
    from ...domain.passes import PassDetail, PassPage, PassRecord
    from .history import History
    from .passer import Passer
    from .rim import Rim

EVERYTHING = EventFilter()


class DynamoDBSessionRepository:
    """One tenant's sessions in one table. Thread-safe if its rim is.

    See :class:`turnlog.domain.ports.SessionRepository` for every method.
    """

    def __init__(
        self,
        tenant: str,
        *,
        rim: Rim,
        blobs: BlobStore,
        now: Callable[[], Instant],
        counter: TokenCounter | None = None,
        pacing: Pacing | None = None,
        blocks: IdBlocks | None = None,
    ) -> None:
        pacing, counter = pacing or Pacing(), counter or EstimatingCounter()
        self._rim = rim
        self._tenant = tenant
        self._blocks = blocks or IdBlocks(rim, pacing)
        self._viewer = Viewer(rim, tenant, pacing)
        self._reader = Reader(rim, tenant, blobs, pacing)
        self._windows = WindowReader(rim, self._viewer, self._reader, pacing)
        self._listing = Listing(rim, tenant)
        self._lives = Lives(rim=rim, tenant=tenant, viewer=self._viewer, listing=self._listing, pacing=pacing, now=now)
        self._appender = Appender(
            rim=rim,
            tenant=tenant,
            viewer=self._viewer,
            reader=self._reader,
            blocks=self._blocks,
            blobs=blobs,
            counter=counter,
            pacing=pacing,
        )
        self._counter = counter
        self._pacing = pacing

    # What only a pass needs is made when there is one: no other request, and no cold start, pays for it.

    @cached_property
    def _passer(self) -> Passer:
        from .passcommit import PassCommitter  # noqa: PLC0415  (see above)
        from .passer import Passer  # noqa: PLC0415

        return Passer(
            rim=self._rim,
            viewer=self._viewer,
            reader=self._reader,
            windows=self._windows,
            blocks=self._blocks,
            counter=self._counter,
            committer=PassCommitter(rim=self._rim, viewer=self._viewer, pacing=self._pacing),
        )

    @cached_property
    def _history(self) -> History:
        from .history import History  # noqa: PLC0415  (see above)
        from .passcommit import PassCommitter  # noqa: PLC0415

        committer = PassCommitter(rim=self._rim, viewer=self._viewer, pacing=self._pacing)
        return History(rim=self._rim, viewer=self._viewer, committer=committer, pacing=self._pacing)

    # ------------------------------------------------------------------ sessions

    def save(self, session: Session) -> StoredSession:
        """Insert or update the record alone."""
        return self._lives.save(session)

    def create(self, session: Session, *, now: Instant, token: IdempotencyKey | None = None) -> StoredSession:
        """Insert if the id is free or its last holder is dead at ``now``."""
        return self._lives.create(session, now, token)

    def find(self, session_id: str, *, consistent: bool = True) -> StoredSession | None:
        """The session, expired or not; one query."""
        return self._viewer.look(session_id, consistent=consistent).stored()

    def list_by_user(self, user_id: str) -> list[Session]:
        """All sessions of exactly this user."""
        return self._listing.all_of(keys.required(user_id, "user_id"))

    def page_by_user(
        self, user_id: str, *, now: Instant, limit: int, order: Order, order_by: ListOrder, token: str | None
    ) -> SessionPage:
        """One page of the user's live sessions; three requests, however many sessions there are."""
        return self._listing.page(user_id, now=now, limit=limit, order=order, order_by=order_by, token=token)

    def update(
        self,
        session_id: str,
        changes: SessionChanges,
        *,
        now: Instant,
        if_rev: int | None = None,
        due: Due = never_due,
    ) -> StoredSession:
        """Change a live session's record."""
        return self._lives.update(session_id, changes, now, if_rev, due)

    def delete(self, session_id: str) -> bool:
        """End this life of the session."""
        return self._lives.delete(session_id)

    def delete_expired(self, before: Instant) -> int:
        """Delete what expired before the instant. Scans the whole table: an admin's call."""
        found = self._rim.scan_heads(keys.tenant_prefix(self._tenant), before.ns)
        return sum(self._lives.delete_if_expired(_id_of(item), before) for item in found if not item.get("deleted"))

    # ------------------------------------------------------------------ events

    def append(self, request: AppendRequest) -> AppendResult:
        """Append a batch: two requests when nobody is in the way."""
        return self._appender.append(request)

    def read(self, session_id: str, filter: EventFilter = EVERYTHING) -> list[SessionEvent]:
        """The events that the filter selects, in log order."""
        view = self._viewer.look(session_id, consistent=True)
        session = view.stored()
        if session is None or view.head is None:
            return []
        return filter.window(list(self._matches(session, view.head, filter)))

    def _matches(self, session: StoredSession, head: Head, filter: EventFilter) -> Sequence[SessionEvent]:
        """Every match, or at least all that the window can select."""
        newest_first = filter.last_n is not None
        enough = filter.last_n
        if filter.page is not None and filter.page_size is not None:
            enough = (filter.page + 1) * filter.page_size
        found: list[SessionEvent] = []
        walk = self._reader.walk(
            session,
            head,
            after=None,
            order="desc" if newest_first else "asc",
            active_only=filter.archived is False,
            hint=enough,
        )
        for batch in walk:
            found.extend(e for e in batch if filter.matches(e))
            if enough is not None and len(found) >= enough:
                break
        if newest_first:
            found = found[:enough]
            found.reverse()
        return found

    def walk(
        self,
        session: StoredSession,
        *,
        after: Place | None = None,
        order: Order = "asc",
        active_only: bool = False,
        hint: int | None = None,
    ) -> Iterator[Sequence[SessionEvent]]:
        """The full log from a place on, in the batches that queries bring."""
        head = self._head(session)
        return self._reader.walk(session, head, after=after, order=order, active_only=active_only, hint=hint)

    def find_event(self, session: StoredSession, event_id: str) -> SessionEvent | None:
        """One event by its id."""
        view = self._viewer.look(session.id, consistent=True)
        if view.head is None or view.head.deleted or view.head.inc != session.version.inc:
            return None
        blocks = self._blocks.read(view.head.pk, view.head.inc, at_least=view.fold)
        lookup = Lookup.of(view.known, blocks, last_seq=view.last_seq)
        seen = view.head.stored(view.last_seq)
        return self._reader.find_known(seen, view.head, [event_id], lookup).get(event_id)

    def window(self, session_id: str, *, min_version: Version | None = None) -> Window | None:
        """The active window: two requests, three with summaries or stragglers."""
        read = self._windows.read(session_id, min_version)
        return read.window if read else None

    def version(self, session_id: str) -> int:
        """The version number; 0 when unknown."""
        found = self.find(session_id)
        return found.version.number if found else 0

    def apply_compaction(self, session_id: str, plan: CompactionPlan, expected_version: int, *, now: Instant) -> bool:
        """Archive in place and insert, if the version is still the expected one."""
        return self._passer.apply(session_id, plan, expected_version, now)

    # ------------------------------------------------------------------ passes

    def compact(self, request: PassRequest) -> PassOutcome:
        """Run one pass: the window's two or three requests, and two writes."""
        return self._passer.compact(request)

    def undo(self, session_id: str, pass_id: str, *, now: Instant, detail: PassDetail) -> PassOutcome:
        """Restore the window as it was before the newest pass."""
        return self._history.undo(session_id, pass_id, now, detail)

    def passes(self, session: StoredSession, *, first: str | None = None, limit: int = 20) -> PassPage:
        """The passes of this life, newest first."""
        return self._history.page(session, first, limit)

    def find_pass(self, session: StoredSession, pass_id: str) -> PassRecord | None:
        """One pass that counts, by its id."""
        return self._history.find(session, pass_id)

    def record_attempt(self, session: StoredSession, attempt: Attempt | None, *, now: Instant) -> bool:
        """Remember what became of a try; one write to the head."""
        return self._history.record(session, attempt, now)

    def _head(self, session: StoredSession) -> Head:
        item = self._rim.get((keys.session_pk(self._tenant, session.id), keys.HEAD))
        head = Head.of(item, session.id) if item else None
        if head is None or head.deleted or head.inc != session.version.inc:
            raise SessionNotFound(session.id)
        return head


def _id_of(head: dict[str, str | int | bytes | bool]) -> str:
    """The session id of a scanned head."""
    if "sid" in head:
        return str(head["sid"])
    return keys.decode(str(head["pk"]).split("#S#", 1)[1]) or ""
