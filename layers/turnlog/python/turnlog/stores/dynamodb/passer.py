"""apply_compaction: a pass is its item and one transaction, however long the session is."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ...domain import ids
from ...domain.archive import ActiveInsert, ArchiveState
from ...domain.errors import InvalidRequest, PayloadTooLarge, SessionNotFound, StoreUnavailable
from ...domain.event import SessionEvent
from ...domain.instant import Instant
from ...domain.ports import CompactionPlan, TokenCounter
from ...domain.tokens import format_message
from . import keys
from .idblocks import IdBlocks, Lookup
from .items import Head, Totals
from .known import hash_id
from .lives import alive
from .pacing import Pacing
from .passes import Pass, new_events, new_pass_id, pass_item, read_chain
from .reader import Reader
from .rim import Absent, Check, Compare, Item, Put, Rim, TransactionFailed, Unavailable, Update, both
from .view import Viewer
from .window import WindowRead, WindowReader, require

MAX_INSERT_BYTES: Final = 300_000
"""The largest pass item; DynamoDB refuses items above 400 KB."""
MAX_STRAGGLERS: Final = 80
"""More scattered commits than one BatchGetItem takes beside the summaries are read as a stretch."""
NONCE_BYTES: Final = 6


@dataclass(frozen=True)
class _Prepared:
    """A plan against one window: the pass, and the head that it leads to."""

    made: Pass
    item: Item
    head: Head


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
        pacing: Pacing,
        new_nonce: Callable[[], bytes] = lambda: os.urandom(NONCE_BYTES),
    ) -> None:
        self._rim = rim
        self._viewer = viewer
        self._reader = reader
        self._windows = windows
        self._blocks = blocks
        self._counter = counter
        self._pacing = pacing
        self._new_nonce = new_nonce

    def apply(self, session_id: str, plan: CompactionPlan, expected_version: int, now: Instant) -> bool:
        """The strict form: nothing may have been appended or compacted since ``expected_version``."""
        read = require(self._windows.read(session_id), session_id)
        version = read.window.session.version
        if version.number != expected_version:
            return False
        prepared = self._prepare(read, plan, now)
        self._put_pass(prepared.item)
        return self._commit(session_id, read, prepared)

    # ------------------------------------------------------------------ the plan

    def _prepare(self, read: WindowRead, plan: CompactionPlan, now: Instant) -> _Prepared:
        head, version = read.head, read.window.session.version
        generation = version.generation + 1
        pass_id = new_pass_id(generation, self._new_nonce())
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
        made = Pass(pass_id, generation, head.last_pass, events)
        item = pass_item(head, made, {**plan.detail, "at": now.text}, state.encode())
        if len(str(item["events"]).encode()) > MAX_INSERT_BYTES:
            raise PayloadTooLarge("The inserted events are too large for a pass.", limit_bytes=MAX_INSERT_BYTES)
        start, stragglers = _places(read, state)
        after = replace(
            head,
            generation=generation,
            last_pass=pass_id,
            archive=state,
            start=start,
            stragglers=stragglers,
            cut=self._cut(head.cut, archived),
            insert_ids=head.insert_ids + b"".join(hash_id(i) for i in self._given_ids(read, plan)),
        )
        return _Prepared(made, item, after)

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

    def _cut(self, cut: Totals, archived: Sequence[SessionEvent]) -> Totals:
        return cut.plus(
            turns=sum(e.is_turn_start for e in archived),
            tokens=sum(self._counter.count(format_message(e.message)) for e in archived),
            size=sum(len(e.message.raw.encode()) for e in archived),
        )

    # ------------------------------------------------------------------ the writes

    def _put_pass(self, item: Item) -> None:
        """Its id is new, so putting it again changes nothing."""
        for attempt in range(1, 5):
            try:
                self._rim.put(Put(item))
                return
            except Unavailable:
                if attempt == 4:
                    raise
                self._pacing.wait(attempt)

    def _commit(self, session_id: str, read: WindowRead, prepared: _Prepared) -> bool:
        head, version = read.head, read.window.session.version
        after = prepared.head
        sets: Item = {"gen": after.generation, **after.archive_attributes()}
        condition = both(*alive(head.inc).parts, Compare("gen", "=", head.generation))
        update = Update((head.pk, keys.HEAD), condition, sets)
        next_slot = Check((head.pk, keys.commit_sk(head.inc, version.last_seq + 1)), Absent())
        for attempt in range(1, 8):
            try:
                self._rim.transact([update, next_slot])
                return True
            except TransactionFailed as failed:
                if failed.failed:
                    return self._is_ours(session_id, prepared)
            except Unavailable:
                if self._is_ours(session_id, prepared):
                    return True
            self._pacing.wait(attempt)
        raise StoreUnavailable("The pass could not be committed in time; try again.")

    def _is_ours(self, session_id: str, prepared: _Prepared) -> bool:
        """Whether this very pass counts: then only the answer was lost. Another pass may stand on
        top of it by now, so that it has to be looked for in the chain.

        Raises:
            SessionNotFound: the session was deleted meanwhile.
        """
        view = self._viewer.look(session_id, consistent=True)
        head = view.live_head
        if head is None or head.inc != prepared.head.inc:
            raise SessionNotFound(session_id)
        if head.generation <= prepared.made.generation:
            return head.last_pass == prepared.made.id
        return prepared.made.id in read_chain(self._rim, head)


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
