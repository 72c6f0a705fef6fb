"""Reading the log: commits into events, walks in both directions, single events by id.

A query is not a snapshot: even a consistent one may miss commit k and then meet k + 1, when both
were written while it ran. So every walk checks that each commit begins where the last one ended,
and asks again from there when it does not. Only a hole that stays is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol

from ...domain import ids
from ...domain.archive import ArchiveState
from ...domain.errors import CorruptLog
from ...domain.event import SessionEvent
from ...domain.ports import LOGGED, Order, Place, place_of
from ...domain.session import StoredSession
from . import keys
from .blobs import BlobStore
from .body import unpack
from .items import Blob, Commit, Head
from .pacing import Pacing
from .rim import Item, Rim

HOLE_RETRIES: Final = 5
SCATTERED: Final = 4
"""Up to so many single commits are read one by one; more are read as one stretch of the log."""


class Candidates(Protocol):
    """Something that suggests where an id may stand."""

    def candidates(self, event_id: str) -> list[int]:
        """Seqs whose event may have this id, oldest first."""
        ...


class Reader:
    """Reads one tenant's logs."""

    def __init__(self, rim: Rim, tenant: str, blobs: BlobStore, pacing: Pacing) -> None:
        self._rim = rim
        self._tenant = tenant
        self._blobs = blobs
        self._pacing = pacing

    # ------------------------------------------------------------------ commits

    def events_of(self, commit: Commit, session_id: str, archive: ArchiveState) -> list[SessionEvent]:
        """The events of a commit, archived flags set.

        Raises:
            CorruptLog: the body does not hold what the commit says.
        """
        body = commit.body
        unpacked = unpack(self._blobs.get(body) if isinstance(body, Blob) else body)
        if len(unpacked) != commit.count:
            raise CorruptLog(f"Commit {commit.key} says {commit.count} events and holds {len(unpacked)}.")
        is_archived = archive.is_archived_seq
        return [
            SessionEvent(
                ids.logged(commit.inc, seq) if event_id is None else event_id,
                session_id,
                message,
                timestamp,
                branch,
                metadata,
                is_archived(seq),
                seq,
            )
            for seq, (timestamp, message, event_id, branch, metadata) in enumerate(unpacked, start=commit.first)
        ]

    def commit_at(self, session: StoredSession, seq: int) -> Commit:
        """The commit that holds ``seq``.

        Raises:
            CorruptLog: there is none, though the log is longer.
        """
        pk, inc = self._pk(session), session.version.inc
        page = self._rim.query(
            pk, keys.commit_prefix(inc), keys.commit_sk(inc, seq), descending=True, limit=1, consistent=True
        )
        commit = Commit.of(page.items[0]) if page.items else None
        if commit is None or commit.last < seq:
            raise CorruptLog(f"Session {session.id!r} has no commit for seq {seq}.")
        return commit

    def commits(
        self, session: StoredSession, *, low: int, high: int | None, order: Order, hint: int | None
    ) -> Iterator[list[Commit]]:
        """The commits that hold the seqs ``low`` … ``high`` (None: as far as the log goes), in
        batches, without a hole.

        Raises:
            CorruptLog: a hole that stays.
        """
        walk = self._ascending if order == "asc" else self._descending
        return walk(session, low, session.version.last_seq if high is None and order == "desc" else high, hint)

    def _ascending(
        self, session: StoredSession, low: int, high: int | None, hint: int | None
    ) -> Iterator[list[Commit]]:
        pk, inc = self._pk(session), session.version.inc
        ceiling = keys.MAX_SEQ if high is None else high
        expected, retries = low, 0
        if 1 < low <= min(ceiling, session.version.last_seq):
            commit = self.commit_at(session, low)  # the commit that holds ``low`` may begin earlier
            yield [commit]
            expected = commit.last + 1
        while expected <= ceiling:
            low_sk, high_sk = keys.commit_sk(inc, expected), keys.commit_sk(inc, ceiling)
            page = self._rim.query(pk, low_sk, high_sk, limit=_commits(hint), consistent=True)
            batch, hole = _joined(page.items, expected)
            if batch:
                yield batch
                expected = batch[-1].last + 1
            ended = page.next is None or not batch  # a page of nothing but the closing commit has a next one
            if hole or (ended and expected <= min(ceiling, session.version.last_seq)):
                retries += 1
                self._check_hole(session, expected, retries)
            elif ended:
                return

    def _descending(
        self, session: StoredSession, low: int, high: int | None, hint: int | None
    ) -> Iterator[list[Commit]]:
        pk, inc = self._pk(session), session.version.inc
        expected = session.version.last_seq if high is None else high
        retries = 0
        while expected >= low:
            low_sk, high_sk = keys.commit_prefix(inc), keys.commit_sk(inc, expected)
            page = self._rim.query(pk, low_sk, high_sk, descending=True, limit=_commits(hint), consistent=True)
            batch, hole = _joined_down(page.items, expected)
            if batch:
                yield batch
                expected = batch[-1].first - 1
            if hole or ((page.next is None or not batch) and expected >= low):
                retries += 1
                self._check_hole(session, expected, retries)

    def _check_hole(self, session: StoredSession, seq: int, retries: int) -> None:
        """Wait before the same stretch is read again; a hole that stays is corruption."""
        if retries > HOLE_RETRIES:
            raise CorruptLog(f"The log of session {session.id!r} has a hole at seq {seq}.")
        self._pacing.wait(retries)

    def _pk(self, session: StoredSession) -> str:
        return keys.session_pk(self._tenant, session.id)

    # ------------------------------------------------------------------ events by id

    def find_known(
        self, session: StoredSession, head: Head, wanted: Iterable[str], lookup: Candidates
    ) -> dict[str, SessionEvent]:
        """Those of the ids that the log holds, with their events; the first content of an id."""
        inc, last = session.version.inc, session.version.last_seq
        seqs: dict[str, list[int]] = {}
        passes: list[str] = []
        for event_id in wanted:
            place = ids.parse(event_id)
            if isinstance(place, ids.LoggedId) and place.inc == inc and place.seq <= last:
                seqs[event_id] = [place.seq]
            elif (isinstance(place, ids.InsertedId) and place.inc == inc) or head.may_hold_insert(event_id):
                passes.append(event_id)
            elif hits := [s for s in lookup.candidates(event_id) if s <= last]:
                seqs[event_id] = hits
        at = self._events_at(session, head.archive, sorted({s for hits in seqs.values() for s in hits}))
        out = {i: at[s] for i, hits in seqs.items() for s in reversed(hits) if at[s].id == i}
        if passes:
            inserted = {e.id: e for e in self._inserted(head)}
            out |= {i: inserted[i] for i in passes if i in inserted}
        return out

    def _inserted(self, head: Head) -> list[SessionEvent]:
        """Every event that a pass has inserted, in log order."""
        if not head.last_pass:
            return []
        from .passes import inserted_events, read_chain  # noqa: PLC0415  (only compacted sessions pay for it)

        return inserted_events(head, read_chain(self._rim, head))

    def _events_at(
        self, session: StoredSession, archive: ArchiveState, seqs: Sequence[int]
    ) -> Mapping[int, SessionEvent]:
        out: dict[int, SessionEvent] = {}
        if len(seqs) > SCATTERED:
            for batch in self.commits(session, low=seqs[0], high=seqs[-1], order="asc", hint=None):
                for commit in batch:
                    if any(commit.first <= s <= commit.last for s in seqs):
                        out.update(_by_seq(self.events_of(commit, session.id, archive)))
            return out
        for seq in seqs:
            if seq not in out:
                out.update(_by_seq(self.events_of(self.commit_at(session, seq), session.id, archive)))
        return out

    # ------------------------------------------------------------------ walks

    def walk(
        self,
        session: StoredSession,
        head: Head,
        *,
        after: Place | None,
        order: Order,
        active_only: bool,
        hint: int | None,
    ) -> Iterator[list[SessionEvent]]:
        """The full log from a place on, inserted events at their places."""
        inserts = self._inserted(head)
        if active_only:
            inserts = [e for e in inserts if not e.archived]
        if order == "asc":
            yield from self._walk_up(session, head, inserts, after, active_only, hint)
        else:
            yield from self._walk_down(session, head, inserts, after, active_only, hint)

    def _walk_up(
        self,
        session: StoredSession,
        head: Head,
        inserts: list[SessionEvent],
        after: Place | None,
        active_only: bool,
        hint: int | None,
    ) -> Iterator[list[SessionEvent]]:
        pending = [e for e in inserts if after is None or place_of(e) > after]
        low = 1 if after is None else max(1, after.seq + (after.generation == LOGGED and after.index >= 0))
        if active_only:
            low = max(low, head.archive.first_active_seq)
        for batch in self.commits(session, low=low, high=None, order="asc", hint=hint):
            out: list[SessionEvent] = []
            for commit in batch:
                for event in self.events_of(commit, session.id, head.archive):
                    if event.seq is None or event.seq < low or (active_only and event.archived):
                        continue
                    here = place_of(event)
                    while pending and place_of(pending[0]) < here:
                        out.append(pending.pop(0))
                    out.append(event)
            yield out
        if pending:
            yield pending

    def _walk_down(
        self,
        session: StoredSession,
        head: Head,
        inserts: list[SessionEvent],
        after: Place | None,
        active_only: bool,
        hint: int | None,
    ) -> Iterator[list[SessionEvent]]:
        pending = [e for e in inserts if after is None or place_of(e) < after]
        high = session.version.last_seq
        if after is not None:
            high = min(high, after.seq - 1)  # whatever stands at ``seq``, the event below it is next
        low = head.archive.first_active_seq if active_only else 1
        for batch in self.commits(session, low=low, high=high, order="desc", hint=hint):
            out: list[SessionEvent] = []
            for commit in batch:
                for event in reversed(self.events_of(commit, session.id, head.archive)):
                    if event.seq is None or event.seq > high or event.seq < low or (active_only and event.archived):
                        continue
                    here = place_of(event)
                    while pending and place_of(pending[-1]) > here:
                        out.append(pending.pop())
                    out.append(event)
            yield out
        if pending:
            yield pending[::-1]


def _commits(hint: int | None) -> int | None:
    """A query's limit: a commit holds at least one event."""
    return None if hint is None else max(1, hint)


def _by_seq(events: Iterable[SessionEvent]) -> dict[int, SessionEvent]:
    return {e.seq: e for e in events if e.seq is not None}


def _joined(items: Sequence[Item], expected: int) -> tuple[list[Commit], bool]:
    """The commits that follow one another from ``expected`` on, and whether a hole cut them off."""
    out: list[Commit] = []
    for commit in map(Commit.of, items):
        if commit.is_closing:
            return out, False
        if commit.first != expected:
            return out, True
        out.append(commit)
        expected = commit.last + 1
    return out, False


def _joined_down(items: Sequence[Item], expected: int) -> tuple[list[Commit], bool]:
    """The same downwards: from the commit that holds ``expected``, newest first."""
    out: list[Commit] = []
    for commit in map(Commit.of, items):
        if commit.is_closing:
            continue
        if commit.last < expected:
            return out, True
        out.append(commit)
        expected = commit.first - 1
    return out, False
