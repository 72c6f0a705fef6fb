"""Append: one conditional put on the next slot is the compare-and-swap (DESIGN 4).

Time-line of one append, and what each clause is there for:

    look      Query head + newest commit, a stale answer allowed: the slot will tell
    judge     replays, then the guard. A refusal needs a consistent look: look again, judge again
    slot      Put E#<inc>#<last+1> IF attribute_not_exists(pk)
                  won                  done, in 2 requests
                  refused by our cid   our own answer was lost: done
                  refused by another   that item is the new tail: judge again on it
                  no answer            unknown: the same put again, the cid tells

The incarnation in the key keeps lives apart: a writer that still believes in an ended life meets
that life's closing commit, never the new life's log.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from ...domain import ids
from ...domain.due import DueView, never_due
from ...domain.errors import (
    FieldError,
    IdempotencyKeyReused,
    InvalidRequest,
    SessionNotFound,
    StoreUnavailable,
    TurnlogError,
)
from ...domain.event import SessionEvent
from ...domain.ports import Appended, AppendRequest, AppendResult, AppendView, TokenCounter
from ...domain.session import StoredSession, Version
from . import keys
from .blobs import BlobStore
from .body import pack, to_bytes
from .idblocks import Blocks, IdBlocks, Lookup
from .items import Blob, Commit, Head, Totals
from .known import FOLD_AFTER, FOLD_BEFORE, KEY_HASH, NOTHING, Known, KnownKey, hash_id
from .pacing import Pacing, Race
from .reader import Reader
from .rim import Absent, ConditionFailed, Put, Rim, Unavailable
from .view import View, Viewer

BLOB_ABOVE: Final = 32 * 1024
"""Bodies above this many bytes go to S3: beyond it an object is cheaper than write units."""

CID_BYTES: Final = 8


@dataclass(frozen=True)
class _Judged:
    """What one look led to: an answer that needs no slot, or the seqs that the request gets."""

    answer: AppendResult | None
    placed: tuple[Appended, ...] = ()
    known: Known = NOTHING
    fold: int = 0
    crossed: bool = False


class Appender:
    """Appends to one tenant's sessions."""

    def __init__(
        self,
        *,
        rim: Rim,
        tenant: str,
        viewer: Viewer,
        reader: Reader,
        blocks: IdBlocks,
        blobs: BlobStore,
        counter: TokenCounter,
        pacing: Pacing,
        new_cid: Callable[[], bytes] = lambda: os.urandom(CID_BYTES),
    ) -> None:
        self._rim = rim
        self._tenant = tenant
        self._viewer = viewer
        self._reader = reader
        self._blocks = blocks
        self._blobs = blobs
        self._counter = counter
        self._pacing = pacing
        self._new_cid = new_cid

    def append(self, request: AppendRequest) -> AppendResult:
        """See :meth:`turnlog.domain.ports.SessionRepository.append`."""
        if not request.drafts:
            raise InvalidRequest.at("/events", "must hold at least one event")
        cid, race = self._new_cid(), Race(self._pacing, crowded=request.crowded)
        view = self._viewer.look(request.session_id, consistent=False)
        while True:
            try:
                judged = self._judge(request, view)
            except TurnlogError:
                if view.confirmed:
                    raise
                view = self._viewer.look(request.session_id, consistent=True)
                continue
            if judged.answer is not None:
                if view.confirmed:
                    return judged.answer
                view = self._viewer.look(request.session_id, consistent=True)
                continue
            commit = self._commit(request, view, judged, cid)
            taken = self._put_slot(commit, race)
            if taken is None:
                self._fold_after(judged, commit)
                return AppendResult(judged.placed, Version(commit.inc, commit.last, commit.generation), commit.due)
            view = self._after_loss(request, view, taken, race)

    # ------------------------------------------------------------------ judging

    def _judge(self, request: AppendRequest, view: View) -> _Judged:
        head = view.live_head
        if head is None or (view.tail is not None and view.tail.is_closing):
            raise SessionNotFound(request.session_id)
        session = head.stored(view.last_seq)
        lookup = self._lookup(request, view, head)
        served = self._served(request, lookup)
        replays = {} if served else self._replays(request, session, head, lookup)
        request.guard(AppendView(session, request.drafts, replays, answered=served is not None))
        if served is not None:
            return _Judged(self._first_answer(request, session, served))
        placed = self._place(request, session, replays)
        if all(p.replayed for p in placed):
            return _Judged(AppendResult(placed, session.version))
        return self._with_ids(request, view, placed, lookup)

    def _lookup(self, request: AppendRequest, view: View, head: Head) -> Lookup:
        """The ids that could matter: the tail's, and the blocks' if the request has any to ask."""
        asks = request.key is not None or any(d.id is not None for d in request.drafts)
        if not asks or view.fold == 0:
            return Lookup(view.known, Blocks(), view.fold)
        # A tail with so many ids has probably been folded since; adopting that block makes room.
        folded = view.known.count > FOLD_AFTER
        blocks = self._blocks.read(head.pk, head.inc, at_least=view.fold, newer=folded)
        return Lookup.of(view.known, blocks, last_seq=view.last_seq)

    @staticmethod
    def _served(request: AppendRequest, lookup: Lookup) -> KnownKey | None:
        if request.key is None:
            return None
        served = lookup.find_key(request.key)
        if served is not None and served.request != request.key.request[:KEY_HASH]:
            # Only the owner may learn this, so it is said after the guard has let the caller in.
            return replace(served, seqs=())
        return served

    def _first_answer(self, request: AppendRequest, session: StoredSession, served: KnownKey) -> AppendResult:
        """The answer that the key got. The request is the same, so its ids are too; the commit
        that holds the newest seq tells what was new and which version that made."""
        if not served.seqs:
            raise IdempotencyKeyReused(
                "This Idempotency-Key was used before with a different request.",
                errors=[FieldError("header:Idempotency-Key", "was used before with a different request")],
            )
        commit = self._reader.commit_at(session, served.last_seq)
        inc = session.version.inc
        placed = tuple(
            Appended(draft.id or ids.logged(inc, seq), seq or None, replayed=seq < commit.first)
            for draft, seq in zip(request.drafts, served.seqs, strict=True)
        )
        return AppendResult(_with_twins(placed), Version(inc, commit.last, commit.generation))

    def _replays(
        self, request: AppendRequest, session: StoredSession, head: Head, lookup: Lookup
    ) -> dict[int, SessionEvent]:
        """Drafts whose id is in the log, with the stored event."""
        wanted = {d.id: i for i, d in reversed(list(enumerate(request.drafts))) if d.id is not None}
        stored = self._reader.find_known(session, head, wanted, lookup)
        for event_id, i in wanted.items():
            place = ids.parse(event_id)
            if place is not None and place.inc == head.inc and event_id not in stored:
                raise InvalidRequest.at(f"/events/{i}/id", "is made by the server and names no event of this log")
        return {i: stored[d.id] for i, d in enumerate(request.drafts) if d.id is not None and d.id in stored}

    @staticmethod
    def _place(
        request: AppendRequest, session: StoredSession, replays: Mapping[int, SessionEvent]
    ) -> tuple[Appended, ...]:
        """Where each draft ends: its first seq if its id is known, else the next free one."""
        seq, twins, placed = session.version.last_seq, dict[str, int](), list[Appended]()
        for i, draft in enumerate(request.drafts):
            if i in replays:
                placed.append(Appended(replays[i].id, replays[i].seq, replayed=True))
            elif draft.id is not None and draft.id in twins:
                placed.append(Appended(draft.id, twins[draft.id], replayed=True))
            else:
                seq += 1
                if draft.id is not None:
                    twins[draft.id] = seq
                placed.append(Appended(draft.id or ids.logged(session.version.inc, seq), seq))
        return tuple(placed)

    # ------------------------------------------------------------------ ids and folding

    def _with_ids(self, request: AppendRequest, view: View, placed: tuple[Appended, ...], lookup: Lookup) -> _Judged:
        """The ids that the commit will carry: those since the fold, and its own. A commit leaves
        out only ids in blocks that it has read, and says so in ``fold``."""
        fresh = tuple(
            (hash_id(d.id), p.seq)
            for d, p in zip(request.drafts, placed, strict=True)
            if d.id is not None and p.seq is not None and not p.replayed
        )
        key = () if request.key is None else (KnownKey.of(request.key, (p.seq or 0 for p in placed)),)
        own = Known(fresh, key)
        carried, fold = lookup.carried, lookup.fold
        if own.count and carried.count and carried.count + own.count > FOLD_BEFORE:
            carried, fold = self._fold_before(view, own, carried, fold)
        return _Judged(None, placed, carried.plus(own), fold, crossed=carried.count <= FOLD_AFTER)

    def _fold_before(self, view: View, own: Known, carried: Known, fold: int) -> tuple[Known, int]:
        """Make room among the ids that this commit will carry. The block is most often there: the
        writer that crossed the line has put it; then it is only adopted."""
        head = view.head
        assert head is not None
        blocks = self._blocks.read(head.pk, head.inc, at_least=fold, newer=True)
        now = Lookup.of(carried, blocks, last_seq=view.last_seq)
        if now.carried.count and now.carried.count + own.count > FOLD_BEFORE:
            self._blocks.put(head.pk, head.inc, now.fold, view.last_seq, now.carried)
            blocks = self._blocks.read(head.pk, head.inc, at_least=now.fold + 1)
            now = Lookup.of(now.carried, blocks, last_seq=view.last_seq)
        return now.carried, now.fold

    def _fold_after(self, judged: _Judged, commit: Commit) -> None:
        """Fold when this append crossed the line. The append has succeeded whatever happens here:
        ids that are not folded stay on the commits until somebody folds them."""
        if judged.crossed and commit.known.count > FOLD_AFTER:
            try:
                self._blocks.put(commit.pk, commit.inc, commit.fold, commit.last, commit.known)
            except Unavailable:
                return

    # ------------------------------------------------------------------ the slot

    def _commit(self, request: AppendRequest, view: View, judged: _Judged, cid: bytes) -> Commit:
        head = view.head
        assert head is not None
        events = self._events(request, judged.placed)
        pk = self._viewer.pk(request.session_id)
        packed = pack(events, head.inc)
        body: str | bytes | Blob = packed
        if len(packed if isinstance(packed, bytes) else packed.encode()) > BLOB_ABOVE:
            key = keys.blob_key(self._tenant, request.session_id, head.inc, cid)
            body = self._blobs.put(key, to_bytes(packed))
        first = view.last_seq + 1
        if first + len(events) - 1 > keys.MAX_SEQ:
            raise InvalidRequest.at("/events", f"a session holds at most {keys.MAX_SEQ} events")
        totals = view.totals.plus(Totals.of(events, self._counter))
        due = request.due is not never_due and self._is_due(request, head, view.totals, totals)
        commit = Commit(pk, head.inc, first, len(events), cid, head.generation, body, totals.encode())
        return replace(commit, known=judged.known, fold=judged.fold, due=due)

    @staticmethod
    def _is_due(request: AppendRequest, head: Head, before: Totals, after: Totals) -> bool:
        sizes = head.window_size(before), head.window_size(after)
        return request.due(DueView(head.record.compaction, head.attempt, *sizes))

    @staticmethod
    def _events(request: AppendRequest, placed: tuple[Appended, ...]) -> list[SessionEvent]:
        return [
            SessionEvent(
                id=p.id,
                session_id=request.session_id,
                message=d.message,
                timestamp=d.timestamp or request.now,
                branch=d.branch,
                metadata=d.metadata,
                seq=p.seq,
            )
            for d, p in zip(request.drafts, placed, strict=True)
            if not p.replayed
        ]

    def _put_slot(self, commit: Commit, race: Race) -> Commit | None:
        """None when the slot is ours, else the commit that holds it.

        An unknown outcome is tried again with the same cid: whatever happened, the cid tells.
        """
        attempt = 0
        while True:
            try:
                self._rim.put(Put(commit.item(), Absent()))
                return None
            except ConditionFailed as refused:
                if refused.old is None:  # purged between condition and answer: nothing is there now
                    raise StoreUnavailable("The session is being removed; try again.") from None
                taken = Commit.of(refused.old)
                return None if taken.cid == commit.cid else taken
            except Unavailable:
                attempt += 1
                if race.is_over:
                    raise
                self._pacing.wait(attempt)

    def _after_loss(self, request: AppendRequest, view: View, taken: Commit, race: Race) -> View:
        """Go on from the tail that the refusal handed back, so that the retry costs one request
        more; or from a new look when a wait has made that tail old (a look costs a tenth of the put
        that would be refused again), or when its writer knew more of the head than we do."""
        if race.is_over:
            raise StoreUnavailable("The session is written by too many at once; try again.", retry_after=1)
        waited, after = race.lose(), view.with_tail(taken)
        if waited or taken.is_closing or after.is_torn:
            return self._viewer.look(request.session_id, consistent=taken.is_closing or after.is_torn)
        return after


def _with_twins(placed: tuple[Appended, ...]) -> tuple[Appended, ...]:
    """The second of two equal ids in one batch was answered as a replay of the first."""
    seen: set[int] = set()
    out = []
    for one in placed:
        twin = one.seq is not None and one.seq in seen
        out.append(replace(one, replayed=True) if twin else one)
        seen.add(one.seq or 0)
    return tuple(out)
