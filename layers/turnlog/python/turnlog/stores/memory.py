"""The reference store: a session repository in memory, for tests and for reading.

It is the behaviour that every other store has to show, written as plainly as it can be. One lock
makes every call atomic. Events are kept as their text and built anew for every reader, so nothing
that a caller holds can change the log.
"""

from __future__ import annotations

import base64
import binascii
import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ..domain import ids
from ..domain.archive import ActiveInsert, ArchiveState
from ..domain.due import Attempt, Due, DueView, WindowSize, never_due
from ..domain.errors import (
    Conflict,
    IdempotencyKeyReused,
    InvalidRequest,
    NotNewestPass,
    PassNotFound,
    PreconditionFailed,
    SessionExists,
    SessionNotFound,
)
from ..domain.event import EventDraft, Position, SessionEvent, has_text
from ..domain.exactjson import EMPTY, JsonObject
from ..domain.filter import EventFilter
from ..domain.instant import Instant
from ..domain.message import Message
from ..domain.passes import PassDetail, PassPage, PassRecord, generation_of, less
from ..domain.ports import (
    KEY_ENDED,
    Appended,
    AppendRequest,
    AppendResult,
    AppendView,
    CompactionPlan,
    IdempotencyKey,
    ListOrder,
    Order,
    PassOutcome,
    PassRequest,
    Place,
    SessionEntry,
    SessionPage,
    TokenCounter,
    Window,
    place_of,
)
from ..domain.session import Session, SessionChanges, StoredSession, Version
from ..domain.tokens import EstimatingCounter, format_message
from ..domain.turn import is_only_branches, starts_turn


@dataclass(frozen=True)
class _Pass:
    """A pass, and the archive state that it found."""

    record: PassRecord
    before: ArchiveState


@dataclass
class _Life:
    """One incarnation of a session id: everything that goes when it is deleted."""

    record: Session
    inc: int
    last_activity: Instant
    token: IdempotencyKey | None = None
    rev: int = 0
    generation: int = 0
    archive: ArchiveState = field(default_factory=ArchiveState)
    attempt: Attempt | None = None
    passes: list[_Pass] = field(default_factory=list)
    logged: list[SessionEvent] = field(default_factory=list)
    inserted: dict[str, tuple[SessionEvent, ...]] = field(default_factory=dict)
    by_id: dict[str, SessionEvent] = field(default_factory=dict)
    answers: dict[bytes, tuple[bytes, AppendResult]] = field(default_factory=dict)

    @property
    def version(self) -> Version:
        return Version(self.inc, len(self.logged), self.generation)

    def stored(self) -> StoredSession:
        return StoredSession(_fresh_record(self.record), self.version, self.rev, self.attempt)

    def log(self) -> list[SessionEvent]:
        """The full log in its order, each event as a reader may have it."""
        everything = [*self.logged, *(event for events in self.inserted.values() for event in events)]
        return [self.shown(event) for event in sorted(everything, key=place_of)]

    def shown(self, event: SessionEvent) -> SessionEvent:
        return _fresh(event).as_archived(not self.archive.is_active(event))


class MemoryDatabase:
    """What several repositories share: one lock, and the sessions of every tenant."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.lives: dict[tuple[str, str], _Life] = {}
        self.last_inc: dict[tuple[str, str], int] = {}
        self.ended: dict[tuple[str, str], tuple[bytes, str]] = {}


class InMemorySessionRepository:
    """A :class:`~turnlog.domain.ports.SessionRepository` of one tenant.

    Args:
        tenant: whose sessions these are.
        database: where they lie; repositories of several tenants may share one.
        batch_size: how many events :meth:`walk` gives at once.
        counter: counts the tokens of the window's size.
    """

    def __init__(
        self,
        tenant: str = "default",
        *,
        database: MemoryDatabase | None = None,
        batch_size: int = 100,
        counter: TokenCounter | None = None,
    ) -> None:
        self._tenant = tenant
        self._db = MemoryDatabase() if database is None else database
        self._batch_size = batch_size
        self._counter = counter or EstimatingCounter()

    # ------------------------------------------------------------------ sessions

    def save(self, session: Session) -> StoredSession:
        """Insert or update the record alone (spec 1.6)."""
        _with_text(session.user_id, "user_id")
        with self._db.lock:
            life = self._find(session.id)
            if life is None:
                return self._begin(session, session.created_at, None).stored()
            life.record = _fresh_record(replace(session, created_at=life.record.created_at))
            life.rev += 1
            return life.stored()

    def create(self, session: Session, *, now: Instant, token: IdempotencyKey | None = None) -> StoredSession:
        """Insert if the id is free, or its last holder is dead at ``now``."""
        _with_text(session.user_id, "user_id")
        with self._db.lock:
            life = self._find(session.id)
            if life is None or life.record.expired(now):
                self._refuse_ended(session, token)
                return self._begin(session, now, token).stored()
            if token is None or life.token is None or token.key != life.token.key:
                raise SessionExists(session.id)
            if life.record.user_id != session.user_id:
                raise SessionExists(session.id)
            if token.request != life.token.request:
                raise _key_reused()
            return life.stored()

    def find(self, session_id: str, *, consistent: bool = True) -> StoredSession | None:
        """The session, expired or not; None when unknown or deleted."""
        with self._db.lock:
            life = self._find(session_id)
            return None if life is None else life.stored()

    def list_by_user(self, user_id: str) -> list[Session]:
        """All sessions of exactly this user, expired ones included."""
        _with_text(user_id, "user_id")
        with self._db.lock:
            return [_fresh_record(life.record) for life in self._lives() if life.record.user_id == user_id]

    def page_by_user(
        self, user_id: str, *, now: Instant, limit: int, order: Order, order_by: ListOrder, token: str | None
    ) -> SessionPage:
        """One page of the user's live sessions, by creation or by newest append, then by id."""
        _with_text(user_id, "user_id")
        after = None if token is None else _read_token(token, order_by)

        def key(life: _Life) -> tuple[int, str]:
            moment = life.record.created_at if order_by == "created" else life.last_activity
            return moment.ns, life.record.id

        with self._db.lock:
            mine = [life for life in self._lives() if life.record.user_id == user_id and not life.record.expired(now)]
            mine.sort(key=key, reverse=order == "desc")
            if after is not None:
                mine = [life for life in mine if (key(life) < after if order == "desc" else key(life) > after)]
            page = mine[:limit]
            entries = tuple(SessionEntry(_fresh_record(life.record), life.last_activity) for life in page)
            return SessionPage(entries, _token(order_by, key(page[-1])) if len(mine) > limit else None)

    def update(
        self,
        session_id: str,
        changes: SessionChanges,
        *,
        now: Instant,
        if_rev: int | None = None,
        due: Due = never_due,
    ) -> StoredSession:
        """Change a live session's record. Nobody is told of ``due`` here."""
        with self._db.lock:
            life = self._live(session_id, now)
            if if_rev is not None and if_rev != life.rev:
                raise PreconditionFailed(
                    "The session has changed since the version in If-Match.",
                    version=life.version.etag(life.rev),
                    number=life.version.number,
                )
            life.record = _fresh_record(life.record.changed(changes))
            life.rev += 1
            if changes.set_compaction:
                life.attempt = None
            return life.stored()

    def delete(self, session_id: str) -> bool:
        """End this life of the session; False when there was none."""
        with self._db.lock:
            if self._find(session_id) is None:
                return False
            life = self._db.lives.pop((self._tenant, session_id))
            if life.token is not None:
                self._db.ended[self._tenant, session_id] = (life.token.key, life.record.user_id)
            return True

    def delete_expired(self, before: Instant) -> int:
        """Delete every session that expired strictly before the instant; how many."""
        with self._db.lock:
            dead = [
                life.record.id
                for life in self._lives()
                if life.record.expires_at is not None and life.record.expires_at < before
            ]
            return sum(self.delete(session_id) for session_id in dead)

    # ------------------------------------------------------------------ the log

    def append(self, request: AppendRequest) -> AppendResult:
        """Append a batch, all or nothing."""
        with self._db.lock:
            life = self._get(request.session_id)
            known = None if request.key is None else life.answers.get(request.key.key)
            replays = {} if known else self._replays(life, request.drafts)
            request.guard(AppendView(life.stored(), request.drafts, replays, answered=known is not None))
            if known is not None:
                request_hash, answer = known
                if request.key is None or request.key.request != request_hash:
                    raise _key_reused()
                return answer
            return self._write(life, request)

    @staticmethod
    def _replays(life: _Life, drafts: Sequence[EventDraft]) -> dict[int, SessionEvent]:
        found = ((i, life.by_id.get(draft.id)) for i, draft in enumerate(drafts) if draft.id is not None)
        return {i: life.shown(event) for i, event in found if event is not None}

    def _write(self, life: _Life, request: AppendRequest) -> AppendResult:
        for i, draft in enumerate(request.drafts):
            if draft.id is not None and draft.id not in life.by_id:
                _refuse_made_up(draft.id, life.inc, f"/events/{i}/id")
        before, size = len(life.logged), WindowSize() if request.due is never_due else self._size(life)
        appended = tuple(self._write_one(life, draft, request.now) for draft in request.drafts)
        if len(life.logged) == before:
            return AppendResult(appended, life.version)
        life.last_activity = request.now
        due = request.due is not never_due and request.due(
            DueView(life.record.compaction, life.attempt, size, self._size(life))
        )
        result = AppendResult(appended, life.version, due)
        if request.key is not None:
            life.answers[request.key.key] = (request.key.request, result)
        return result

    @staticmethod
    def _write_one(life: _Life, draft: EventDraft, now: Instant) -> Appended:
        seq = len(life.logged) + 1
        event_id = ids.logged(life.inc, seq) if draft.id is None else draft.id
        known = life.by_id.get(event_id)
        if known is not None:
            return Appended(event_id, known.seq, replayed=True)
        event = replace(_event(draft, event_id, life.record.id, now), seq=seq)
        life.logged.append(event)
        life.by_id[event_id] = event
        return Appended(event_id, seq)

    def read(self, session_id: str, filter: EventFilter = EventFilter()) -> list[SessionEvent]:  # noqa: B008
        """The events that the filter selects, in log order; none for an unknown session."""
        with self._db.lock:
            life = self._find(session_id)
            return [] if life is None else filter.apply(life.log())

    def walk(
        self,
        session: StoredSession,
        *,
        after: Place | None = None,
        order: Order = "asc",
        active_only: bool = False,
        hint: int | None = None,
    ) -> Iterator[Sequence[SessionEvent]]:
        """The full log of this life from a place on, as it is when the call is made."""
        with self._db.lock:
            life = self._same_life(session)
            if life is None:
                raise SessionNotFound(session.id)
            events = life.log()
        if active_only:
            events = [event for event in events if not event.archived]
        if order == "desc":
            events.reverse()
        if after is not None:
            events = [e for e in events if (place_of(e) < after if order == "desc" else place_of(e) > after)]
        return (tuple(events[i : i + self._batch_size]) for i in range(0, len(events), self._batch_size))

    def find_event(self, session: StoredSession, event_id: str) -> SessionEvent | None:
        """One event by its id; None when the log does not hold it."""
        with self._db.lock:
            life = self._same_life(session)
            event = None if life is None else life.by_id.get(event_id)
            return None if life is None or event is None else life.shown(event)

    def window(self, session_id: str, *, min_version: Version | None = None) -> Window | None:
        """The active window; always the newest."""
        with self._db.lock:
            life = self._find(session_id)
            if life is None:
                return None
            active = tuple(e for e in life.log() if not e.archived)
            return Window(life.stored(), life.archive, active, self._size(life))

    def version(self, session_id: str) -> int:
        """The version number; 0 when unknown."""
        with self._db.lock:
            life = self._find(session_id)
            return 0 if life is None else life.version.number

    # ------------------------------------------------------------------ compaction

    def apply_compaction(self, session_id: str, plan: CompactionPlan, expected_version: int, *, now: Instant) -> bool:
        """Archive in place and insert, if the version is still the expected one."""
        with self._db.lock:
            life = self._get(session_id)
            if life.version.number != expected_version:
                return False
            self._land(life, plan, _pass_id(life.generation + 1), now)
            return True

    def compact(self, request: PassRequest) -> PassOutcome:
        """Run one pass. ``decide`` runs outside the lock, as between the calls to a real store."""
        with self._db.lock:
            life = self._live(request.session_id, request.now)
            made = self._made(life, request.pass_id)
            if made is not None:
                return made
            window = self.window(request.session_id)
        assert window is not None
        seen = window.session.version
        late = request.pass_id is not None and generation_of(request.pass_id) != seen.generation + 1
        if late or request.only_at not in (None, seen):
            return PassOutcome("coalesced", seen)
        plan = request.decide(window)
        if plan is None:
            return PassOutcome("nothing", seen)
        with self._db.lock:
            life = self._live(request.session_id, request.now)
            if life.inc != seen.inc:
                raise SessionNotFound(request.session_id)
            appended = request.only_at is not None and life.version.last_seq != seen.last_seq
            if life.generation != seen.generation or appended:
                return self._made(life, request.pass_id) or PassOutcome("coalesced", life.version)
            record = self._land(life, plan, request.pass_id or _pass_id(life.generation + 1), request.now)
            return PassOutcome("landed", life.version, record)

    def undo(self, session_id: str, pass_id: str, *, now: Instant, detail: PassDetail) -> PassOutcome:
        """Restore the window as it was before the newest pass; a pass itself."""
        with self._db.lock:
            life = self._live(session_id, now)
            known = {made.record.id for made in life.passes}
            if pass_id not in known:
                raise PassNotFound(session_id, pass_id)
            newest = life.passes[-1]
            if newest.record.undoes == pass_id:
                return PassOutcome("landed", life.version, newest.record)
            if newest.record.id != pass_id:
                raise NotNewestPass(session_id, pass_id)
            before = life.archive
            life.archive = newest.before
            life.generation += 1
            record = self._remember(life, before, _pass_id(life.generation), now, detail, undoes=pass_id)
            life.attempt = Attempt(1, "held", now, reason="undone", size=self._size(life))
            return PassOutcome("landed", life.version, record)

    def passes(self, session: StoredSession, *, first: str | None = None, limit: int = 20) -> PassPage:
        """The passes of this life, newest first."""
        with self._db.lock:
            life = self._same_life(session)
            if life is None:
                raise SessionNotFound(session.id)
            newest_first = [made.record for made in reversed(life.passes)]
            ids_ = [record.id for record in newest_first]
            if first is not None and first not in ids_:
                raise InvalidRequest.at("query:cursor", "names no compaction of this session")
            at = 0 if first is None else ids_.index(first)
            page = newest_first[at : at + limit]
            return PassPage(tuple(page), ids_[at + limit] if at + limit < len(ids_) else None)

    def find_pass(self, session: StoredSession, pass_id: str) -> PassRecord | None:
        """One pass that counts, by its id."""
        with self._db.lock:
            life = self._same_life(session)
            if life is None:
                raise SessionNotFound(session.id)
            made = self._made(life, pass_id)
            return None if made is None else made.record

    def record_attempt(self, session: StoredSession, attempt: Attempt | None, *, now: Instant) -> bool:
        """Remember what became of a try, if the session is as it was read."""
        with self._db.lock:
            life = self._same_life(session)
            same = life is not None and life.generation == session.version.generation
            if life is None or not same or life.attempt != session.attempt or life.record.expired(now):
                return False
            life.attempt = attempt
            return True

    def _made(self, life: _Life, pass_id: str | None) -> PassOutcome | None:
        """The outcome of a pass of that id, when it has been made before."""
        found = [made.record for made in life.passes if made.record.id == pass_id]
        return PassOutcome("landed", life.version, found[0]) if found else None

    def _land(self, life: _Life, plan: CompactionPlan, pass_id: str, now: Instant) -> PassRecord:
        seqs, passes = _archived_by(plan, life)
        new = _inserted_by(plan, life, pass_id, now)
        listed = [ActiveInsert(pass_id, _place_of_first(new))] if new else []
        before = life.archive
        life.archive = before.after(archive=seqs, drop_passes=passes, insert=listed)
        life.generation += 1
        life.attempt = plan.attempt
        if new:
            life.inserted[pass_id] = new
            life.by_id.update((event.id, event) for event in new)
        return self._remember(
            life, before, pass_id, now, plan.detail or PassDetail(), inserted=tuple(event.id for event in new)
        )

    @staticmethod
    def _remember(
        life: _Life,
        before: ArchiveState,
        pass_id: str,
        now: Instant,
        detail: PassDetail,
        *,
        inserted: tuple[str, ...] = (),
        undoes: str | None = None,
    ) -> PassRecord:
        record = PassRecord(
            id=pass_id,
            generation=life.generation,
            at=now,
            archived=less(life.archive.ranges, before.ranges),
            restored=less(before.ranges, life.archive.ranges),
            inserted=inserted,
            undoes=undoes,
            detail=detail,
        )
        life.passes.append(_Pass(record, before))
        return record

    def _size(self, life: _Life) -> WindowSize:
        everything = [*life.logged, *(event for events in life.inserted.values() for event in events)]
        active = [event for event in everything if life.archive.is_active(event)]
        only_branches = is_only_branches(life.logged)
        return WindowSize(
            turns=sum(starts_turn(event, only_branches=only_branches) for event in active),
            tokens=sum(self._counter.count(format_message(event.message)) for event in active),
        )

    # ------------------------------------------------------------------ helpers

    def _lives(self) -> list[_Life]:
        return [life for (tenant, _), life in self._db.lives.items() if tenant == self._tenant]

    def _find(self, session_id: str) -> _Life | None:
        return self._db.lives.get((self._tenant, _with_text(session_id, "session_id")))

    def _get(self, session_id: str) -> _Life:
        life = self._find(session_id)
        if life is None:
            raise SessionNotFound(session_id)
        return life

    def _live(self, session_id: str, now: Instant) -> _Life:
        life = self._get(session_id)
        if life.record.expired(now):
            raise SessionNotFound(session_id)
        return life

    def _same_life(self, session: StoredSession) -> _Life | None:
        life = self._find(session.id)
        return life if life is not None and life.inc == session.version.inc else None

    def _refuse_ended(self, session: Session, token: IdempotencyKey | None) -> None:
        """A late retry does not bring back what was deleted since."""
        ended = self._db.ended.get((self._tenant, session.id))
        if token is not None and ended == (token.key, session.user_id):
            raise Conflict(KEY_ENDED)

    def _begin(self, session: Session, now: Instant, token: IdempotencyKey | None) -> _Life:
        key = (self._tenant, session.id)
        inc = max(now.ms, self._db.last_inc.get(key, 0) + 1)
        self._db.last_inc[key] = inc
        life = self._db.lives[key] = _Life(_fresh_record(session), inc, now, token)
        return life


def _archived_by(plan: CompactionPlan, life: _Life) -> tuple[set[int], set[str]]:
    """The seqs and the passes that a plan archives."""
    seqs: set[int] = set()
    named: dict[str, int] = {}
    for event_id in plan.archive:
        event = life.by_id.get(event_id)
        if event is None:
            raise InvalidRequest.at("/archive", f"the log holds no event {event_id!r}")
        if event.position is not None:
            named[event.position.pass_id] = named.get(event.position.pass_id, 0) + 1
        elif event.seq is not None:
            seqs.add(event.seq)
    active = {insert.pass_id for insert in life.archive.inserts}
    for pass_id, count in named.items():
        if pass_id in active and count != len(life.inserted[pass_id]):
            raise InvalidRequest.at("/archive", f"the events that pass {pass_id} inserted are archived together")
    return seqs, set(named)


def _inserted_by(plan: CompactionPlan, life: _Life, pass_id: str, now: Instant) -> tuple[SessionEvent, ...]:
    """The events that a plan inserts, each at its position."""
    last_seq, generation = len(life.logged), life.generation + 1
    new: list[SessionEvent] = []
    taken = set(life.by_id)
    for insertion in plan.insert:
        before = last_seq + 1 if insertion.before_seq is None else insertion.before_seq
        if insertion.before_seq is not None and not 1 <= before <= last_seq:
            raise InvalidRequest.at("/insert", f"the log holds no event of seq {before} to insert before")
        for draft in insertion.events:
            index = len(new)
            event_id = ids.inserted(life.inc, pass_id, index) if draft.id is None else draft.id
            if draft.id is not None:
                _refuse_made_up(draft.id, life.inc, "/insert")
            if event_id in taken:
                raise InvalidRequest.at("/insert", f"the log already holds an event {event_id!r}")
            taken.add(event_id)
            position = Position(before, pass_id, index, generation)
            new.append(replace(_event(draft, event_id, life.record.id, now), position=position))
    return tuple(new)


def _pass_id(generation: int) -> str:
    return str(generation)


def _place_of_first(events: Sequence[SessionEvent]) -> int:
    return min(event.position.before_seq for event in events if event.position is not None)


def _refuse_made_up(event_id: str, inc: int, pointer: str) -> None:
    """An id that the server could have made in this life, but has not, would meet the real one."""
    parsed = ids.parse(event_id)
    if parsed is not None and parsed.inc == inc:
        raise InvalidRequest.at(pointer, f"{event_id!r} is an id that the server makes, and it has not made it")


def _event(draft: EventDraft, event_id: str, session_id: str, now: Instant) -> SessionEvent:
    return _fresh(
        SessionEvent(event_id, session_id, draft.message, draft.timestamp or now, draft.branch, draft.metadata)
    )


def _fresh(event: SessionEvent) -> SessionEvent:
    """The same event, sharing no parsed value with the one given."""
    return replace(event, message=Message(JsonObject(event.message.raw)), metadata=_fresh_json(event.metadata))


def _fresh_record(record: Session) -> Session:
    compaction = None if record.compaction is None else _fresh_json(record.compaction)
    return replace(record, metadata=_fresh_json(record.metadata), compaction=compaction)


def _with_text(value: str, name: str) -> str:
    """At the port any string with text is an id (spec 1.7)."""
    if not has_text(value):
        raise InvalidRequest.at(name, "must have text")
    return value


def _fresh_json(value: JsonObject) -> JsonObject:
    return EMPTY if value.raw == EMPTY.raw else JsonObject(value.raw)


def _key_reused() -> IdempotencyKeyReused:
    return IdempotencyKeyReused.at("header:Idempotency-Key", "was used before with a different request")


def _token(order_by: ListOrder, place: tuple[int, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps([order_by, *place]).encode()).decode()


def _read_token(token: str, order_by: ListOrder) -> tuple[int, str]:
    try:
        value = json.loads(base64.b64decode(token.encode("ascii"), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError):
        value = None
    match value:
        case [str(kind), int(moment), str(session_id)] if kind == order_by:
            return moment, session_id
        case _:
            raise InvalidRequest.at("query:cursor", "is not a cursor of this list")
