"""What users do to one session, as plain values: drawn by hypothesis, or written out in a test.

The numbers in them are resolved against what has happened so far (the n-th id, the n-th request),
so any list of operations makes sense and can be shortened.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, TypeAlias

from turnlog.domain.errors import (
    Conflict,
    IdempotencyKeyReused,
    InvalidRequest,
    NotNewestPass,
    PassNotFound,
    PreconditionFailed,
    SessionNotFound,
    TurnlogError,
)
from turnlog.domain.event import EventDraft
from turnlog.domain.exactjson import JsonObject
from turnlog.domain.message import Message
from turnlog.domain.passes import PassDetail
from turnlog.domain.ports import CompactionPlan, IdempotencyKey, Insertion, PassRequest, Window
from turnlog.domain.session import SessionChanges, Version
from turnlog.service import CreateSession, SessionService
from turnlog.testing.builders import a_session

from .ledger import SESSION, Entry, Ledger, Request, window_of
from .process import Crash, Fault, Process, Race, Stale, Step, Torn, World

TTL_SECONDS: Final = 600


class Operation(Protocol):
    """One thing that a user does; it judges its own outcome by the ledger."""

    def run(self, actor: Actor) -> None:
        """Do it in the actor's process."""
        ...


@dataclass(frozen=True)
class Meanwhile:
    """As a :class:`Race` (or, with ``split``, as a :class:`Torn`): another process does this."""

    act: Act
    split: int | None = None


Planned: TypeAlias = Fault | Stale | Meanwhile


@dataclass(frozen=True)
class Act:
    """An operation, and what goes wrong at its calls."""

    operation: Operation
    script: Mapping[int, Sequence[Planned]] = field(default_factory=dict)
    process: int = 0


class Actor:
    """Runs operations in a few processes; whoever crashes is replaced by a new one."""

    def __init__(self, ledger: Ledger | None = None, *, name: str = "x") -> None:
        """With a ``ledger`` of somebody else, both act at once: nothing is ever undisturbed."""
        self.ledger = ledger or Ledger(World(page_rows=3))
        self.world = self.ledger.world
        self._alone = ledger is None
        self._name = name
        self._labels = 0
        self._processes: dict[int, Process] = {}
        self._running: list[int] = []

    @property
    def process(self) -> Process:
        """The process that runs the operation."""
        return self._processes[self._running[-1]]

    @property
    def service(self) -> SessionService:
        """The service over it."""
        return self.ledger.service(self.process.repository)

    def label(self) -> str:
        """A new name."""
        self._labels += 1
        return f"{self._name}{self._labels}"

    def act(self, act: Act) -> int:
        """Run an act to its end, or to its crash; how many calls it made."""
        place = 2 * len(self._running) + act.process
        process = self._processes.get(place)
        if process is None or process.crashed:
            process = self._processes[place] = Process(self.world)
        process.follow({i: [self._step(p) for p in planned] for i, planned in act.script.items()})
        self._running.append(place)
        try:
            act.operation.run(self)
        except Crash:
            pass
        finally:
            self._running.pop()
        return len(process.calls)

    def begin(self) -> Entry:
        """An operation begins."""
        return self.ledger.begin(disturbed=not self._alone or bool(self.process.script))

    def _step(self, planned: Planned) -> Step:
        if not isinstance(planned, Meanwhile):
            return planned

        def work() -> None:
            self.act(planned.act)

        return Race(work) if planned.split is None else Torn(work, planned.split)


def run_history(history: Sequence[Act]) -> Actor:
    """A session, and then one act after the other; after each, everything is as it should be."""
    actor = Actor()
    actor.act(Act(Create()))
    for act in history:
        actor.act(act)
        actor.ledger.settle()
    return actor


# ------------------------------------------------------------------ appends

Draw: TypeAlias = Literal["new", "big", "id", "old", "altered", "twin"]


@dataclass(frozen=True)
class Append:
    """A batch: events without id, large ones, with a new id, with the id of an earlier one and the
    same or other content, or with the id before in the same batch."""

    events: tuple[tuple[Draw, int], ...] = (("new", 0),)
    key: bool = False
    match: Literal["current", "old"] | None = None
    create: bool = False
    user: str = "alice"

    def run(self, actor: Actor) -> None:
        label = actor.label()
        drafts: list[EventDraft] = []
        known = [d for r in actor.ledger.sent for d in r.drafts if d.id is not None]
        for i, (kind, number) in enumerate(self.events):
            drafts.append(_draft(kind, number, f"{label}.{i}", known, drafts))
        key = IdempotencyKey(_hash(f"key {label}"), _hash(label)) if self.key else None
        request = Request(self.user, tuple(drafts), key, _tags(actor, self.match), self.create)
        actor.ledger.sent.append(request)
        send(actor, request)


@dataclass(frozen=True)
class Resend:
    """An earlier request again, to the letter; only one that can be told from a new one."""

    number: int
    user: str | None = None

    def run(self, actor: Actor) -> None:
        requests = [r for r in actor.ledger.sent if r.key is not None or all(d.id is not None for d in r.drafts)]
        if requests:
            send(actor, requests[self.number % len(requests)])


@dataclass(frozen=True)
class ReuseKey:
    """An earlier key with another request."""

    number: int

    def run(self, actor: Actor) -> None:
        keyed = [r for r in actor.ledger.sent if r.key is not None]
        if not keyed:
            return
        former = keyed[self.number % len(keyed)]
        assert former.key is not None
        label = actor.label()
        key = IdempotencyKey(former.key.key, _hash(label))
        request = Request(former.user, (EventDraft(Message.user(label)),), key, None, create=False)
        actor.ledger.sent.append(request)
        life = actor.ledger.live_life(request.user)
        written = life is not None and any(
            r.version.inc == life.inc and not r.all_replayed and sent is former for sent, r in actor.ledger.appended
        )
        refused = send(actor, request)
        if written and not actor.begin().disturbed:
            assert isinstance(refused, IdempotencyKeyReused), "a key was taken twice"


def send(actor: Actor, request: Request) -> TurnlogError | None:
    """Append through the service and judge the outcome."""
    entry = actor.begin()
    life = actor.ledger.live_life(request.user)
    try:
        result = actor.service.append(
            request.user,
            SESSION,
            request.drafts,
            create_if_missing=request.create,
            if_match=request.if_match,
            key=request.key,
        )
    except TurnlogError as error:
        actor.ledger.append_failed(actor.ledger.end(entry), request, error)
        if not entry.disturbed and isinstance(error, PreconditionFailed):
            known = life.by_id if life else {}
            assert not all(d.id in known for d in request.drafts), "a replay is answered before If-Match"
        return error
    actor.ledger.append_ok(actor.ledger.end(entry), request, result)
    if life is not None and not entry.disturbed:
        old = [a for d, a in zip(request.drafts, result.events, strict=True) if d.id in life.by_id]
        assert [a.seq for a in old] == [life.by_id[a.id].seq for a in old], "a replay keeps its first seq"
        assert request.key is not None or all(a.replayed for a in old)
    return None


def _draft(kind: Draw, number: int, text: str, known: Sequence[EventDraft], batch: Sequence[EventDraft]) -> EventDraft:
    own = [d for d in batch if d.id is not None]
    if kind == "twin" and own:
        return own[-1]
    if kind == "old" and known:
        return known[number % len(known)]
    if kind == "altered" and known:
        return EventDraft(Message.user(text), id=known[number % len(known)].id)
    if kind == "big":
        text += " " + "".join(hashlib.sha256(f"{text}{i}".encode()).hexdigest() for i in range(20))
    return EventDraft(Message.user(text), id=None if kind in ("new", "big") else f"id-{text}")


def _tags(actor: Actor, match: str | None) -> tuple[str, ...] | None:
    if match is None:
        return None
    life = actor.ledger.live_life()
    version = Version(life.inc, len(life.events), len(life.passes)) if life else Version(1, 1, 1)
    return (version.etag() if match == "current" else Version(version.inc, version.last_seq - 1, 0).etag(),)


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:16]


# ------------------------------------------------------------------ lives


@dataclass(frozen=True)
class Create:
    """A new life, if there is no live session."""

    user: str = "alice"
    token: int | None = None

    def run(self, actor: Actor) -> None:
        token = None if self.token is None else IdempotencyKey(_hash(f"t{self.token}{self.user}"), _hash("r"))
        entry = actor.begin()
        request = CreateSession(self.user, SESSION, ttl_seconds=TTL_SECONDS)
        try:
            stored = actor.service.create(request, key=token)
        except TurnlogError as error:
            ended = (Conflict,) if token else ()  # what the key made has been deleted since
            actor.ledger.failed(actor.ledger.end(entry), error, None, expected=ended)
        else:
            actor.ledger.created(actor.ledger.end(entry), self.user, stored, replay=token is not None)


@dataclass(frozen=True)
class Delete:
    """The owner's DELETE."""

    user: str = "alice"

    def run(self, actor: Actor) -> None:
        entry = actor.begin()
        try:
            actor.service.delete(self.user, SESSION)
        except SessionNotFound as error:
            actor.ledger.failed(actor.ledger.end(entry), error, self.user)
            actor.ledger.ended(entry, only_dead=True)
        except TurnlogError as error:
            actor.ledger.failed(actor.ledger.end(entry), error, self.user)
        else:
            actor.ledger.ended(actor.ledger.end(entry), only_dead=False)


@dataclass(frozen=True)
class Expire:
    """Time goes by until every session has expired; with ``purge`` they are deleted as well."""

    purge: bool = False

    def run(self, actor: Actor) -> None:
        actor.world.sleep(TTL_SECONDS + 1)
        if self.purge:
            entry = actor.begin()
            try:
                actor.process.repository.delete_expired(actor.world.now())
            except TurnlogError as error:
                actor.ledger.failed(actor.ledger.end(entry), error, None)


@dataclass(frozen=True)
class Patch:
    """A change of the record, guarded by the ETag or not."""

    guarded: bool = False
    user: str = "alice"

    def run(self, actor: Actor) -> None:
        label = actor.label()
        entry = actor.begin()
        try:
            seen = actor.service.get(self.user, SESSION)
            tags = (seen.version.etag(seen.rev),) if self.guarded else None
            changes = SessionChanges(metadata=JsonObject.of({"label": label}))
            stored = actor.service.update(self.user, SESSION, changes, if_match=tags)
        except TurnlogError as error:
            expected = (PreconditionFailed,) if self.guarded and entry.disturbed else ()
            actor.ledger.failed(actor.ledger.end(entry), error, self.user, expected=expected)
            return
        actor.ledger.end(entry)
        assert stored.record.metadata["label"] == label
        if self.guarded:
            place = (stored.version.inc, seen.rev)
            assert place not in actor.ledger.patched, "two guarded changes of one revision were answered"
            actor.ledger.patched.add(place)


@dataclass(frozen=True)
class Save:
    """The port's insert or update of a record, for the owner that it has."""

    user: str = "alice"

    def run(self, actor: Actor) -> None:
        entry = actor.begin()
        life = actor.ledger.live_life()
        record = a_session(SESSION, user_id=life.owner if life else self.user, now=actor.world.now())
        try:
            stored = actor.process.repository.save(record)
        except TurnlogError as error:
            actor.ledger.failed(actor.ledger.end(entry), error, None)
            return
        actor.ledger.end(entry)
        assert stored.record.user_id == record.user_id
        assert stored.version.inc >= entry.newest_inc
        actor.ledger.acked.setdefault(stored.version.inc, 0)


# ------------------------------------------------------------------ passes and reads


@dataclass(frozen=True)
class Compact:
    """A pass over the window: archive its first events, or some of them, and insert a summary."""

    count: int = 2
    scattered: bool = False
    summary: bool = True
    stale: bool = False
    strict: bool = True

    def run(self, actor: Actor) -> None:
        entry = actor.begin()
        try:
            window = actor.process.repository.window(SESSION)
        except TurnlogError as error:
            actor.ledger.failed(actor.ledger.end(entry), error, None)
            return
        if window is None:
            return
        label = actor.label()
        logged = [e for e in window.events if e.seq is not None]
        gone = logged[: self.count : 2] if self.scattered else logged[: self.count]
        rest = [e.seq for e in logged if e not in gone]
        inserts = [e.id for e in window.events if e.position is not None]
        summary = EventDraft(Message.user(f"summary {label}"))
        plan = CompactionPlan(
            frozenset([*(e.id for e in gone), *inserts]),
            (Insertion(rest[0] if rest else None, (summary,)),) if self.summary else (),
            PassDetail(user=label),
        )
        actor.ledger.plans[label] = plan
        seen = window.session.version
        entry = actor.begin()
        try:
            applied = self._apply(actor, plan, seen)
        except TurnlogError as error:
            # Another life may hold the id by now, and none of the plan's events.
            expected = (InvalidRequest,) if entry.disturbed else ()
            actor.ledger.failed(actor.ledger.end(entry), error, None, expected=expected, expiry=not self.strict)
        else:
            actor.ledger.passed(actor.ledger.end(entry), label, seen, applied, strict=self.strict)
            assert applied or entry.disturbed or self.stale, "a pass without a rival was refused"

    def _apply(self, actor: Actor, plan: CompactionPlan, seen: Version) -> bool:
        repository, now = actor.process.repository, actor.world.now()
        if self.strict:
            return repository.apply_compaction(SESSION, plan, seen.number - self.stale, now=now)

        def decide(window: Window) -> CompactionPlan | None:
            """The plan is for one generation of one life; it may have been made long before."""
            version = window.session.version
            same = (version.inc, version.generation) == (seen.inc, seen.generation - self.stale)
            return plan if same else None

        return repository.compact(PassRequest(SESSION, decide, now)).status == "landed"


_IF_DISTURBED: Final[Mapping[bool, tuple[type, ...]]] = {True: (NotNewestPass, PassNotFound), False: ()}


@dataclass(frozen=True)
class Undo:
    """The newest pass undone, as a window shows it; somebody else may run another one meanwhile."""

    def run(self, actor: Actor) -> None:
        entry = actor.begin()
        repository, now = actor.process.repository, actor.world.now()
        label = actor.label()
        try:
            session = repository.find(SESSION)
            newest = repository.passes(session, limit=1).passes if session else ()
            if not newest:
                actor.ledger.end(entry)
                return
            outcome = repository.undo(SESSION, newest[0].id, now=now, detail=PassDetail(user=label))
        except (NotNewestPass, PassNotFound) as error:
            actor.ledger.failed(actor.ledger.end(entry), error, None, expected=_IF_DISTURBED[entry.disturbed])
        except TurnlogError as error:
            actor.ledger.failed(actor.ledger.end(entry), error, None, expiry=True)
        else:
            actor.ledger.end(entry)
            assert outcome.record is not None
            assert outcome.record.undoes == newest[0].id
            counting = [p for life in actor.ledger.lives().values() for p in life.passes]
            assert [p.undoes for p in counting if p.id == outcome.record.id] == [newest[0].id]


@dataclass(frozen=True)
class ReadWindow:
    """The active window; with ``min_version`` a stale one will do if it shows what was answered."""

    min_version: bool = False

    def run(self, actor: Actor) -> None:
        entry = actor.begin()
        life = actor.ledger.live_life()
        floor = None
        if self.min_version and life is not None:
            floor = Version(life.inc, actor.ledger.acked.get(life.inc, 0), 0)
        try:
            window = actor.process.repository.window(SESSION, min_version=floor)
        except TurnlogError as error:
            actor.ledger.failed(actor.ledger.end(entry), error, None)
            return
        actor.ledger.end(entry)
        if window is None:
            assert actor.ledger.was_dead(entry), "no window, though the session was there"
            return
        session, events, generation = window_of(window)
        shown = actor.ledger.expected(
            actor.ledger.lives()[session.version.inc], last_seq=session.version.last_seq, generation=generation
        )
        archived = [e for e in shown if e.archived]
        actor.ledger.read(entry, session, sorted([*events, *archived], key=shown.index), generation=generation)


@dataclass(frozen=True)
class Walk:
    """The whole log in one direction, from a consistent look on."""

    order: Literal["asc", "desc"] = "asc"
    hint: int | None = None

    def run(self, actor: Actor) -> None:
        entry = actor.begin()
        try:
            session = actor.process.repository.find(SESSION)
            if session is None:
                actor.ledger.end(entry)
                assert actor.ledger.was_dead(entry), "not found, though it was there all the time"
                return
            entry.acked = dict(actor.ledger.acked) if not entry.disturbed else entry.acked
            events = [
                e for batch in actor.process.repository.walk(session, order=self.order, hint=self.hint) for e in batch
            ]
        except TurnlogError as error:
            actor.ledger.failed(actor.ledger.end(entry), error, None)
            return
        actor.ledger.end(entry)
        self._check(actor, entry, events, session.version)

    def _check(self, actor: Actor, entry: Entry, events: list[Any], version: Version) -> None:
        """A walk goes on to the end of the log, so it may show more than the look that began it."""
        up = events if self.order == "asc" else events[::-1]
        seqs = [e.seq for e in up if e.seq is not None]
        assert seqs == list(range(1, len(seqs) + 1)), "a walk shows a gap"
        assert len(seqs) >= version.last_seq >= entry.acked.get(version.inc, 0)
        life = actor.ledger.lives()[version.inc]
        flags = [
            {(e.id, e.archived) for e in actor.ledger.expected(life, last_seq=len(seqs), generation=generation)}
            for generation in range(version.generation, len(life.passes) + 1)
        ]
        assert {(e.id, e.archived) for e in up} in flags, "the archived flags are of no moment"
        for event in up:
            stored = life.by_id[event.id]
            assert (event.message, event.seq, event.position) == (stored.message, stored.seq, stored.position)
