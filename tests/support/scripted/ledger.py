"""Remembers every answer that a store gave, and holds each against what really stands in the table.

No model of the store is needed for that. An operation that was answered has to have had its effect,
once, between its begin and its end; one that was refused has to have met, in that time, a state
that refuses it; one that crashed or failed may have had its effect or not, but only once and only
whole. Between operations, when nothing goes on, plain reads have to show exactly what is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from turnlog.domain.errors import (
    CorruptLog,
    EventIdReused,
    IdempotencyKeyReused,
    InvalidRequest,
    PreconditionFailed,
    SessionExists,
    SessionNotFound,
    StoreUnavailable,
    TurnlogError,
)
from turnlog.domain.event import EventDraft, SessionEvent
from turnlog.domain.filter import EventFilter
from turnlog.domain.instant import Instant
from turnlog.domain.ports import (
    AppendResult,
    CompactionPlan,
    IdempotencyKey,
    SessionRepository,
    Window,
    place_of,
)
from turnlog.domain.session import StoredSession, Version
from turnlog.service import SessionService
from turnlog.stores.dynamodb import keys
from turnlog.stores.dynamodb.items import Head

from .process import Crash, Process, World
from .table import Moment
from .truth import Life, heads_of, in_order, lives_of

SESSION: Final = "s"
TENANT: Final = "acme"


@dataclass
class Entry:
    """One operation: when it ran, and what the world knew when it began."""

    began: Moment
    began_at: Instant
    disturbed: bool
    newest_inc: int
    acked: Mapping[int, int]
    closed: frozenset[int]
    ended: Moment = 0
    ended_at: Instant | None = None


@dataclass(frozen=True)
class Request:
    """An append that somebody sent, to be sent again."""

    user: str
    drafts: tuple[EventDraft, ...]
    key: IdempotencyKey | None
    if_match: tuple[str, ...] | None
    create: bool


@dataclass
class Ledger:
    """The books of one world and one session id."""

    world: World
    sent: list[Request] = field(default_factory=list)
    plans: dict[str, CompactionPlan] = field(default_factory=dict)
    refused_plans: set[str] = field(default_factory=set)
    acked: dict[int, int] = field(default_factory=dict)
    """Life to the newest seq that was answered."""
    appended: list[tuple[Request, AppendResult]] = field(default_factory=list)
    closed: set[int] = field(default_factory=set)
    """Lives whose end was answered."""
    patched: set[tuple[int, int]] = field(default_factory=set)
    """(life, rev) that a guarded change was answered for."""
    _lives: tuple[Moment, dict[int, Life]] | None = None
    _heads: tuple[Moment, list[tuple[Moment, Head | None]]] | None = None

    @property
    def pk(self) -> str:
        """The session's partition."""
        return keys.session_pk(TENANT, SESSION)

    def lives(self) -> dict[int, Life]:
        """What really stands there (read once for each moment)."""
        now = self.world.table.now
        if self._lives is None or self._lives[0] != now:
            self._lives = now, lives_of(self.world, self.pk, SESSION)
        return self._lives[1]

    def service(self, repository: SessionRepository) -> SessionService:
        """The service that users call."""
        return SessionService(repository, clock=self.world)

    # ------------------------------------------------------------------ running

    def begin(self, *, disturbed: bool) -> Entry:
        """An operation begins."""
        now = self.world.table.now
        head = self.head_at(now)
        inc = head[1] if head else 0
        return Entry(now, self.world.now(), disturbed, inc, dict(self.acked), frozenset(self.closed))

    def end(self, entry: Entry) -> Entry:
        """It has ended."""
        entry.ended, entry.ended_at = self.world.table.now, self.world.now()
        return entry

    # ------------------------------------------------------------------ what was there

    def head_at(self, moment: Moment) -> tuple[bool, int, str, Instant | None] | None:
        """(deleted, life, owner, expiry) of the head at a moment."""
        now = self.world.table.now
        if self._heads is None or self._heads[0] != now:
            self._heads = now, heads_of(self.world, self.pk, SESSION)
        found = next((head for at, head in reversed(self._heads[1]) if at <= moment), None)
        if found is None:
            return None
        return found.deleted, found.inc, found.record.user_id, found.record.expires_at

    def sometimes(self, entry: Entry, test: Callable[[bool, int, str, Instant | None], bool], *, none: bool) -> bool:
        """Whether some head between begin and end passes the test (``none``: what no head gives)."""
        heads = (self.head_at(moment) for moment in range(entry.began, entry.ended + 1))
        return any(none if head is None else test(*head) for head in heads)

    def was_dead(self, entry: Entry, user: str | None = None, *, expiry: bool = False) -> bool:
        """Whether at some moment there was no live session (of this user); at the port expiry does not
        end a session, unless the call itself asks (``expiry``)."""
        assert entry.ended_at is not None
        end = entry.ended_at

        def dead(deleted: bool, inc: int, owner: str, expires: Instant | None) -> bool:
            if user is None:
                return deleted or (expiry and expires is not None and expires <= end)
            return deleted or owner != user or (expires is not None and expires <= end)

        return self.sometimes(entry, dead, none=True)

    def was_live(self, entry: Entry, user: str | None = None) -> bool:
        """Whether at some moment there was a live session (of this user)."""

        def live(deleted: bool, inc: int, owner: str, expires: Instant | None) -> bool:
            return not deleted and user in (None, owner) and (expires is None or expires > entry.began_at)

        return self.sometimes(entry, live, none=False)

    # ------------------------------------------------------------------ judging

    def failed(
        self,
        entry: Entry,
        error: TurnlogError,
        user: str | None,
        *,
        expected: tuple[type, ...] = (),
        expiry: bool = False,
    ) -> None:
        """A refusal: something has to have been there that refuses."""
        assert not isinstance(error, CorruptLog), f"the store lost its own way: {error}"
        if isinstance(error, StoreUnavailable):
            assert entry.disturbed, f"unavailable, though nobody was in the way: {error}"
        elif isinstance(error, SessionNotFound):
            assert self.was_dead(entry, user, expiry=expiry), "not found, though it was there all the time"
        elif isinstance(error, SessionExists):
            assert self.was_live(entry), "taken, though nobody held it"
        else:
            assert isinstance(error, expected), f"an unexpected refusal: {error!r}"

    def append_failed(self, entry: Entry, request: Request, error: TurnlogError) -> None:
        """The refusals that an append has beside those of every operation."""
        lives = self.lives()
        if isinstance(error, EventIdReused):
            assert any(_other_content(lives[inc], request.drafts) for inc in self._incs(entry)), "no such id"
        elif isinstance(error, IdempotencyKeyReused):
            assert any(
                r.key is not None and request.key is not None and r.key.key == request.key.key
                for r in self.sent
                if r is not request
            )
        elif isinstance(error, PreconditionFailed):
            assert request.if_match is not None
            if not entry.disturbed:
                life = self.live_life(request.user)
                version = Version(life.inc, len(life.events), len(life.passes)) if life else None
                assert error.version == (version.etag() if version else None)
                assert error.number == (version.number if version else None)
                assert error.version not in request.if_match
        else:
            self.failed(entry, error, request.user)

    def append_ok(self, entry: Entry, request: Request, result: AppendResult) -> None:
        """What was acknowledged is there, once, in the order of the request."""
        inc = result.version.inc
        assert inc not in entry.closed, "an append was acknowledged by a life that had ended before it began"
        life = self.lives()[inc]
        assert request.user in life.owners
        fresh = [a.seq for a in result.events if not a.replayed]
        assert fresh == sorted(fresh, key=lambda seq: seq or 0)
        self._check_stored(life, request, result)
        if fresh and request.if_match is not None and not self._earlier(request, inc):
            assert fresh[0] is not None
            tags = [Version(inc, fresh[0] - 1, g).etag() for g in range(len(life.passes) + 1)]
            assert set(tags) & set(request.if_match), "If-Match did not guard the log"
        for earlier in self._earlier(request, inc):
            if request.key is not None and not earlier.all_replayed:
                assert earlier == result, "the key got another answer than the first time"
        self.appended.append((request, result))
        newest = max((a.seq or 0 for a in result.events), default=0)
        self.acked[inc] = max(self.acked.get(inc, 0), newest)

    def _earlier(self, request: Request, inc: int) -> list[AppendResult]:
        return [
            r
            for sent, r in self.appended
            if r.version.inc == inc and (sent is request or (sent.key is not None and sent.key == request.key))
        ]

    @staticmethod
    def _check_stored(life: Life, request: Request, result: AppendResult) -> None:
        for draft, place in zip(request.drafts, result.events, strict=True):
            stored = life.by_seq.get(place.seq) if place.seq is not None else life.by_id.get(place.id)
            assert stored is not None, f"acknowledged and lost: {place}"
            assert stored.id == place.id
            assert stored.message == draft.message, f"{place} holds {stored.message.text!r}"
            assert draft.id in (None, place.id)

    def _incs(self, entry: Entry) -> set[int]:
        heads = (self.head_at(moment) for moment in range(entry.began, entry.ended + 1))
        return {head[1] for head in heads if head is not None}

    def created(self, entry: Entry, user: str, stored: StoredSession, *, replay: bool) -> None:
        """A new life, later than all before; or, with a token, the one that it made before."""
        inc = stored.version.inc
        assert stored.record.user_id == user
        if not replay:
            assert inc > entry.newest_inc, "a life that was there before"
        assert inc not in entry.closed
        assert user in self.lives()[inc].owners
        self.acked.setdefault(inc, 0)

    def ended(self, entry: Entry, *, only_dead: bool) -> None:
        """The end of the life that was there at the begin was answered (``only_dead``: if it had
        been marked by then)."""
        head = self.head_at(entry.began)
        if head is not None and (head[0] or not only_dead):
            deleted_now = self.head_at(entry.ended)
            assert deleted_now is None or deleted_now[0] or deleted_now[1] > head[1], "answered, and still there"
            life = self.lives()[head[1]]
            assert life.commits, "a life without a closing commit is not closed"
            assert life.commits[-1][1].is_closing, "DELETE was answered before the log was closed"
            self.closed.add(head[1])

    def passed(self, entry: Entry, label: str, seen: Version, applied: bool, *, strict: bool = True) -> None:
        """True: the pass counts, and nothing came between; without ``strict``, no other pass. False: it
        does not count, ever."""
        found = [(life, p) for life in self.lives().values() for p in life.passes if p.label == label]
        assert len(found) == applied, f"the pass was answered {applied} and counts {len(found)} times"
        if not applied:
            self.refused_plans.add(label)
        for life, one in found:
            # The port knows versions as plain numbers, so a next life may stand at the same one.
            if strict:
                assert life.last_seq_at(one.moment) + one.generation - 1 == seen.number, "something came between"
            else:
                assert (life.inc, one.generation - 1) == (seen.inc, seen.generation), "a pass came between"

    def read(self, entry: Entry, session: StoredSession, events: Sequence[SessionEvent], *, generation: int) -> None:
        """What a read showed of a life, as of a generation, is what stands there."""
        version = session.version
        assert version.inc >= max(entry.acked, default=0), "an old life was shown"
        life = self.lives()[version.inc]
        assert version.last_seq >= entry.acked.get(version.inc, 0), "an acknowledged event is not shown"
        assert version.last_seq <= len(life.events)
        expected = self.expected(life, last_seq=version.last_seq, generation=generation)
        assert content(events) == content(expected)

    def expected(self, life: Life, *, last_seq: int | None = None, generation: int | None = None) -> list[SessionEvent]:
        """The full log, archived flags set by what the passes that count were told to archive."""
        archived: set[str] = set()
        inserted: set[str] = set()
        found: dict[str, tuple[set[str], set[str]]] = {}
        for one in life.passes:
            if generation is not None and one.generation > generation:
                break
            found[one.id] = set(archived), set(inserted)
            if one.undoes is not None:
                archived_then, inserted_then = found[one.undoes]
                archived = archived_then | (inserted - inserted_then)
            else:
                archived |= self.plans[one.label].archive
                inserted |= {e.id for e in one.events}
        return [
            event.as_archived(event.id in archived)
            for event in in_order(life)
            if (event.position is not None and event.id in inserted)
            or (event.seq is not None and (last_seq is None or event.seq <= last_seq))
        ]

    def live_life(self, user: str | None = None) -> Life | None:
        """The life that a consistent read finds now (of this user, and not expired)."""
        head = self.head_at(self.world.table.now)
        if head is None or head[0]:
            return None
        if user is not None and (head[2] != user or (head[3] is not None and head[3] <= self.world.now())):
            return None
        return self.lives()[head[1]]

    # ------------------------------------------------------------------ when nothing goes on

    def settle(self, users: Iterable[str] = ("alice", "bob")) -> None:
        """Plain reads of a new process show exactly what is there, and nothing answered is gone."""
        lives = self.lives()
        for request, result in self.appended:
            self._check_stored(lives[result.version.inc], request, result)
        labels = [p.label for life in lives.values() for p in life.passes]
        assert len(set(labels)) == len(labels), "a pass counts twice"
        assert not self.refused_plans & set(labels), "a refused pass counts"
        self._check_once(lives)
        repository = Process(self.world).repository
        life = self.live_life()
        for user in users:
            listed = [SESSION] if life is not None and life.owner == user else []
            assert [s.id for s in repository.list_by_user(user)] == listed
        found = repository.find(SESSION)
        if life is None:
            assert (found, repository.window(SESSION), repository.read(SESSION)) == (None, None, [])
            return
        assert found is not None
        assert found.version == Version(life.inc, len(life.events), len(life.passes))
        self._check_reads(repository, found, life)

    def _check_once(self, lives: Mapping[int, Life]) -> None:
        """A request that was sent once, without id or key, was stored once in all lives."""
        texts = [e.message.text for life in lives.values() for e in life.events]
        for request in self.sent:
            if request.key is None:
                for draft in request.drafts:
                    assert draft.id is not None or texts.count(draft.message.text) <= 1, "stored in two lives"

    def _check_reads(self, repository: SessionRepository, found: StoredSession, life: Life) -> None:
        full = self.expected(life)
        active = [e for e in full if not e.archived]
        up = [e for batch in repository.walk(found) for e in batch]
        down = [e for batch in repository.walk(found, order="desc") for e in batch]
        assert content(up) == content(full) == content(reversed(down)), "a plain read shows another log"
        if full:
            middle = place_of(full[len(full) // 2])
            rest = [e for batch in repository.walk(found, after=middle, hint=2) for e in batch]
            assert content(rest) == content(e for e in full if place_of(e) > middle)
        assert content(repository.read(SESSION)) == content(full)
        assert content(repository.read(SESSION, EventFilter(archived=False, last_n=2))) == content(active[-2:])
        archived = repository.read(SESSION, EventFilter(archived=True))
        assert content(archived) == content(e for e in full if e.archived)
        window = repository.window(SESSION)
        assert window is not None
        assert content(window.events) == content(active)
        for event in full[:: max(1, len(full) // 3)]:
            assert content([_found(repository, found, event.id)]) == content([event])


def _found(repository: SessionRepository, session: StoredSession, event_id: str) -> SessionEvent:
    event = repository.find_event(session, event_id)
    assert event is not None, f"{event_id} is not found by its id"
    return event


def _other_content(life: Life, drafts: Sequence[EventDraft]) -> bool:
    by_id = dict[str, str | None]()
    for draft in drafts:
        if draft.id is not None and by_id.setdefault(draft.id, draft.message.text) != draft.message.text:
            return True
    return any(d.id in life.by_id and not d.same_as(life.by_id[d.id]) for d in drafts if d.id is not None)


def content(events: Iterable[SessionEvent]) -> list[tuple[object, ...]]:
    """All that an event says, short enough to be read in a failure."""
    return [
        (e.seq, e.position, e.id, e.archived, e.message.raw, e.timestamp.text, e.branch, e.metadata.raw) for e in events
    ]


def window_of(window: Window) -> tuple[StoredSession, tuple[SessionEvent, ...], int]:
    """What :meth:`Ledger.read` wants of a window."""
    return window.session, window.events, window.session.version.generation


__all__ = ["SESSION", "TENANT", "Crash", "Entry", "InvalidRequest", "Ledger", "Request", "content", "window_of"]
