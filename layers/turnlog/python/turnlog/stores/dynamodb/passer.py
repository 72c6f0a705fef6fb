"""apply_compaction and compact: from a plan to the pass that it makes, however long the session is."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from ...domain import ids
from ...domain.archive import ActiveInsert, ArchiveState
from ...domain.errors import InvalidRequest, PayloadTooLarge, SessionNotFound
from ...domain.event import SessionEvent
from ...domain.instant import Instant
from ...domain.passes import PassDetail, generation_of, new_pass_id
from ...domain.ports import CompactionPlan, PassOutcome, PassRequest, TokenCounter
from ...domain.session import Version
from ...domain.tokens import format_message
from .idblocks import IdBlocks, Lookup
from .items import Totals
from .known import hash_id
from .passcommit import PassCommitter, Prepared
from .passes import Before, Pass, find_pass, new_events
from .reader import Reader
from .rim import Rim
from .view import Viewer
from .window import WindowRead, WindowReader, require

MAX_INSERT_BYTES: Final = 300_000
"""The largest pass item; DynamoDB refuses items above 400 KB."""
MAX_STRAGGLERS: Final = 80
"""More scattered commits than one BatchGetItem takes beside the summaries are read as a stretch."""
NONCE_BYTES: Final = 6


class Passer:
    """Applies plans to one tenant's sessions."""

    def __init__(
        self,
        *,
        rim: Rim,
        viewer: Viewer,
        reader: Reader,
        windows: WindowReader,
        blocks: IdBlocks,
        counter: TokenCounter,
        committer: PassCommitter,
        new_nonce: Callable[[], bytes] = lambda: os.urandom(NONCE_BYTES),
    ) -> None:
        self._rim = rim
        self._viewer = viewer
        self._reader = reader
        self._windows = windows
        self._blocks = blocks
        self._counter = counter
        self._committer = committer
        self._new_nonce = new_nonce

    def apply(self, session_id: str, plan: CompactionPlan, expected_version: int, now: Instant) -> bool:
        """The strict form: nothing may have been appended or compacted since ``expected_version``."""
        read = require(self._windows.read(session_id), session_id)
        version = read.window.session.version
        if version.number != expected_version:
            return False
        return self._committer.write(self._prepare(read, plan, now), slot=version.last_seq + 1)

    def compact(self, request: PassRequest) -> PassOutcome:
        """See :meth:`turnlog.domain.ports.SessionRepository.compact`."""
        read = require(self._windows.read(request.session_id), request.session_id)
        window = read.window
        if window.session.record.expired(request.now):
            raise SessionNotFound(request.session_id)
        version = window.session.version
        taken = request.pass_id is not None and generation_of(request.pass_id) != version.generation + 1
        if taken or request.only_at not in (None, version):
            return self._late(read, request.pass_id)
        plan = request.decide(window)
        if plan is None:
            return PassOutcome("nothing", version)
        prepared = self._prepare(read, plan, request.now, request.pass_id)
        slot = None if request.only_at is None else version.last_seq + 1
        if not self._committer.write(prepared, slot=slot, now=request.now):
            return PassOutcome("coalesced", version)
        landed = Version(version.inc, version.last_seq, prepared.made.generation)
        return PassOutcome("landed", landed, prepared.made.record)

    def _late(self, read: WindowRead, pass_id: str | None) -> PassOutcome:
        """The session has moved on: by this very pass, whose answer was lost, or by another."""
        version = read.window.session.version
        made = None if pass_id is None else find_pass(self._rim, read.head, pass_id)
        return PassOutcome("coalesced", version) if made is None else PassOutcome("landed", version, made.record)

    # ------------------------------------------------------------------ the plan

    def _prepare(self, read: WindowRead, plan: CompactionPlan, now: Instant, pass_id: str | None = None) -> Prepared:
        head, version = read.head, read.window.session.version
        generation = version.generation + 1
        pass_id = pass_id or new_pass_id(generation, self._new_nonce())
        archived, dropped = self._resolve(read, plan.archive)
        for insertion in plan.insert:
            at = insertion.before_seq
            if at is not None and not 1 <= at <= version.last_seq:
                raise InvalidRequest.at("/insert", f"there is no event at seq {at} to insert before")
        events = new_events(
            plan.insert,
            session_id=head.record.id,
            inc=head.inc,
            pass_id=pass_id,
            generation=generation,
            last_seq=version.last_seq,
            now=now,
        )
        first = next((e.position.before_seq for e in events if e.position is not None), None)
        state = head.archive.after(
            archive=[e.seq for e in archived if e.seq is not None],
            drop_passes=dropped,
            insert=[ActiveInsert(pass_id, first)] if first is not None else [],
        )
        made = Pass(
            pass_id, generation, head.last_pass, now, events, Before.of(head), state, plan.detail or PassDetail()
        )
        start, stragglers = _places(read, state)
        after = replace(
            head,
            generation=generation,
            last_pass=pass_id,
            archive=state,
            start=start,
            stragglers=stragglers,
            cut=head.cut.plus(Totals.of(archived, self._counter)),
            held=self._tokens([*_inserted_that_stay(read, dropped), *events]),
            insert_ids=head.insert_ids + b"".join(hash_id(i) for i in self._given_ids(read, plan)),
            attempt=plan.attempt,
        )
        prepared = Prepared(made, head, after)
        if len(str(prepared.item["events"]).encode()) > MAX_INSERT_BYTES:
            raise PayloadTooLarge("The inserted events are too large for a pass.", limit_bytes=MAX_INSERT_BYTES)
        return prepared

    def _tokens(self, events: Iterable[SessionEvent]) -> int:
        return sum(self._counter.count(format_message(event.message)) for event in events)

    def _resolve(self, read: WindowRead, wanted: frozenset[str]) -> tuple[list[SessionEvent], list[str]]:
        """The active logged events to archive, and the passes whose inserts are dropped.

        Raises:
            InvalidRequest: an id that the log does not hold, or only some of a pass's events.
        """
        active = {e.id: e for e in read.window.events}
        self._check_known(read, wanted - active.keys())
        logged = [e for i, e in active.items() if i in wanted and e.position is None]
        groups: Mapping[str, list[SessionEvent]] = defaultdict(list)
        for event in active.values():
            if event.position is not None:
                groups[event.position.pass_id].append(event)
        dropped = []
        for pass_id, events in groups.items():
            named = [e for e in events if e.id in wanted]
            if named and len(named) < len(events):
                raise InvalidRequest.at("/archive", f"{named[0].id!r}: the events of one pass are archived together")
            if named:
                dropped.append(pass_id)
        return logged, dropped

    def _check_known(self, read: WindowRead, rest: frozenset[str]) -> None:
        """Ids outside the window have to be archived already."""
        if rest:
            for event_id in sorted(rest - self._find(read, rest).keys()):
                raise InvalidRequest.at("/archive", f"the log holds no event {event_id!r}")

    def _given_ids(self, read: WindowRead, plan: CompactionPlan) -> list[str]:
        """The ids that the caller gives to inserted events; each has to be new to the log.

        Raises:
            InvalidRequest: one is not, or is of the form that only the server makes.
        """
        given = [d.id for insertion in plan.insert for d in insertion.events if d.id is not None]
        if not given:
            return []
        for event_id in given:
            place = ids.parse(event_id)
            if place is not None and place.inc == read.head.inc:
                raise InvalidRequest.at("/insert", f"{event_id!r} is an id that the server makes")
        taken = [*self._find(read, given), *(i for i in given if given.count(i) > 1)]
        if taken:
            raise InvalidRequest.at("/insert", f"the log already holds an event {taken[0]!r}")
        return given

    def _find(self, read: WindowRead, wanted: Iterable[str]) -> dict[str, SessionEvent]:
        session, head = read.window.session, read.head
        view = self._viewer.look(session.id, consistent=True)
        if view.live_head is None or view.live_head.inc != head.inc:
            raise SessionNotFound(session.id)  # the ids of another life say nothing about this one
        blocks = self._blocks.read(head.pk, head.inc, at_least=view.fold)
        return self._reader.find_known(session, head, wanted, Lookup.of(view.known, blocks, last_seq=view.last_seq))


def _inserted_that_stay(read: WindowRead, dropped: Sequence[str]) -> list[SessionEvent]:
    return [e for e in read.window.events if e.position is not None and e.position.pass_id not in dropped]


def _places(read: WindowRead, state: ArchiveState) -> tuple[int, tuple[int, ...]]:
    """From which commit the window will be read, and the older commits it needs besides.

    The newest commit is always within, so that the window knows how long the log is.
    """
    last = read.window.session.version.last_seq
    if last == 0:
        return 1, ()
    commit = read.commit_of(min(state.tail_start, last))
    assert commit is not None, "a window holds the commits of all its events, and the newest"
    start = commit.first
    old = [c.first for c in read.commits if c.first < start and not state.covers_stretch(c.first, c.last)]
    if len(old) > MAX_STRAGGLERS:
        return old[0], ()
    return start, tuple(old)
