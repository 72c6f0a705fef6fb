"""The lives of a session: create, save, change, delete. All that writes the head but passes.

A session id lives again and again; each life has an incarnation of its own, greater than all
before. Time-line of an end, and of a new life on the same id:

    delete      mark the head (deleted)        from here on reads say 404
                closing commit in the next free slot
                                               from here on no append can win a slot
                list entry
    create      ... on a dead head: the same first two steps, then the new head
                IF inc = :old AND attribute_exists(deleted), with inc = max(now, old + 1)

Each step can be repeated, so a crash between two of them is completed by whoever comes next.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from ...domain.due import Due, DueView, WindowSize
from ...domain.errors import (
    Conflict,
    FieldError,
    IdempotencyKeyReused,
    PreconditionFailed,
    SessionExists,
    SessionNotFound,
    StoreUnavailable,
)
from ...domain.instant import NS, Instant
from ...domain.ports import KEY_ENDED, IdempotencyKey
from ...domain.session import Session, SessionChanges, StoredSession
from . import keys
from .append import CID_BYTES
from .items import ATTEMPT_OPTIONAL, RECORD_OPTIONAL, Commit, Head, record_attributes
from .known import KEY_HASH
from .listing import Listing, entry, newer_than
from .pacing import Pacing
from .rim import (
    Absent,
    All,
    Compare,
    Condition,
    ConditionFailed,
    Item,
    Present,
    Put,
    Rim,
    TransactionFailed,
    Unavailable,
    Update,
    Value,
    both,
    either,
)
from .view import View, Viewer

KEEP_DEAD_SECONDS: Final = 24 * 3600
"""How long a deleted head stays before DynamoDB may remove it: longer than any request that
might still hold it, and than the purge needs."""


def alive(inc: int) -> All:
    """The head is there, of this life, and not deleted."""
    return both(Present(), Compare("inc", "=", inc), Absent("deleted"))


def not_expired(now: Instant) -> Condition:
    """The exact expiry lies ahead, or there is none."""
    return either(Absent("xat"), Compare("xat", ">", now.ns))


class Lives:
    """Begins, changes and ends the lives of one tenant's sessions."""

    def __init__(
        self,
        *,
        rim: Rim,
        tenant: str,
        viewer: Viewer,
        listing: Listing,
        pacing: Pacing,
        now: Callable[[], Instant],
        new_cid: Callable[[], bytes] = lambda: os.urandom(CID_BYTES),
    ) -> None:
        self._rim = rim
        self._tenant = tenant
        self._viewer = viewer
        self._listing = listing
        self._pacing = pacing
        self._now = now
        self._new_cid = new_cid

    # ------------------------------------------------------------------ create

    def create(self, session: Session, now: Instant, token: IdempotencyKey | None) -> StoredSession:
        """A new life, unless a live session holds the id. See the port."""
        keys.required(session.user_id, "user_id")
        return self._begin(session, now, token, expired_is_dead=True)

    def save(self, session: Session) -> StoredSession:
        """Insert or update the record alone (spec 1.6); expiry does not matter here."""
        keys.required(session.user_id, "user_id")
        owners: set[str] = set()
        for attempt in range(1, 6):
            view = self._viewer.look(session.id, consistent=True)
            head = view.live_head
            if head is not None:
                owners.add(head.record.user_id)
                updated = self._replace_record(view, head, session)
                if updated is not None:
                    self._relist(updated.record, head.inc, owners)
                    return updated
            else:
                try:
                    return self._begin(session, self._now(), None, expired_is_dead=False)
                except SessionExists:
                    pass  # somebody saved it meanwhile: update theirs
            self._pacing.wait(attempt)
        raise StoreUnavailable("The session is written by too many at once; try again.")

    def _begin(
        self, session: Session, now: Instant, token: IdempotencyKey | None, *, expired_is_dead: bool
    ) -> StoredSession:
        cid = self._new_cid()
        floor = 0
        deadline, attempt = self._pacing.deadline(), 0
        while True:
            view = self._viewer.look(session.id, consistent=True)
            head = view.head
            if head is not None and not head.deleted and not (expired_is_dead and head.record.expired(now)):
                return self._already(head, view, cid, token, session.user_id)
            _refuse_ended(head, token, session.user_id)
            try:
                if head is not None:
                    self._end(view, head, only_expired_at=now)
                inc = max(now.ms, view.newest_inc + 1, floor)
                fresh = self._first_head(session, inc, head, cid, token)
                self._put_first(fresh, head)
                return fresh.stored(0)
            except (TransactionFailed, Unavailable, ConditionFailed) as failed:
                attempt += 1
                if self._pacing.monotonic() >= deadline:
                    raise StoreUnavailable("The session could not be created in time; try again.") from failed
                floor = max(floor, _listed_inc(failed) + 1)
                self._pacing.wait(attempt)

    def _first_head(
        self, session: Session, inc: int, old: Head | None, cid: bytes, token: IdempotencyKey | None
    ) -> Head:
        return Head(
            pk=self._viewer.pk(session.id),
            record=session,
            inc=inc,
            prev_inc=old.inc if old else 0,
            cid=cid,
            token=b"" if token is None else token.key[:KEY_HASH] + token.request[:KEY_HASH],
        )

    def _put_first(self, fresh: Head, old: Head | None) -> None:
        condition: Condition = Absent()
        if old is not None:
            condition = both(Compare("inc", "=", old.inc), Present("deleted"))
        listed = Put(entry(self._tenant, fresh.record, fresh.inc), newer_than(fresh.inc))
        self._rim.transact([Put(fresh.item(), condition), listed])

    @staticmethod
    def _already(head: Head, view: View, cid: bytes, token: IdempotencyKey | None, user_id: str) -> StoredSession:
        """A live head: ours (the answer was lost), our key's, or somebody else's."""
        if head.cid == cid:
            return head.stored(view.last_seq)
        ours = head.record.user_id == user_id
        if token is not None and ours and head.token[:KEY_HASH] == token.key[:KEY_HASH]:
            if head.token[KEY_HASH:] != token.request[:KEY_HASH]:
                detail = "was used before with a different request"
                raise IdempotencyKeyReused(
                    f"This Idempotency-Key {detail}.", errors=[FieldError("header:Idempotency-Key", detail)]
                )
            return head.stored(view.last_seq)
        raise SessionExists(head.record.id)

    # ------------------------------------------------------------------ change

    def update(
        self, session_id: str, changes: SessionChanges, now: Instant, if_rev: int | None, due: Due
    ) -> StoredSession:
        """Change a live session's record. See the port."""
        mark = self._new_cid()
        for attempt in range(1, 6):
            view = self._viewer.look(session_id, consistent=True)
            head = view.live_head
            if head is None or head.record.expired(now):
                raise SessionNotFound(session_id)
            if head.mark == mark:
                return head.stored(view.last_seq)  # the answer to our own change was lost
            if if_rev is not None and head.rev != if_rev:
                raise PreconditionFailed(
                    "The session has changed since the version in If-Match.",
                    version=head.stored(view.last_seq).version.etag(head.rev),
                    number=head.stored(view.last_seq).version.number,
                )
            condition = both(*alive(head.inc).parts, not_expired(now), Compare("rev", "=", head.rev))
            record, extra = head.record.changed(changes), Item()
            gone: tuple[str, ...] = ()
            if changes.set_compaction:
                asks = due(DueView(record.compaction, None, WindowSize(), head.window_size(view.totals)))
                extra = {"due": True} if asks else {}
                gone = tuple(name for name in ATTEMPT_OPTIONAL if name not in extra)
            done = self._write_record(head, record, mark, condition, extra, gone)
            if done is not None:
                return done.stored(view.last_seq)
            self._pacing.wait(attempt)
        raise StoreUnavailable("The session is changed by too many at once; try again.")

    def _replace_record(self, view: View, head: Head, session: Session) -> StoredSession | None:
        record = replace(session, created_at=head.record.created_at)
        condition = both(*alive(head.inc).parts, Compare("rev", "=", head.rev))
        done = self._write_record(head, record, self._new_cid(), condition)
        if done is None:
            return None
        return done.stored(view.last_seq)

    def _relist(self, record: Session, inc: int, owners: set[str]) -> None:
        """The owner's list names the session. This is done even when the owner seems unchanged: an
        earlier save may have changed the record and died before it came to the list."""
        self._listing.put(record, inc)
        for former in owners - {record.user_id}:
            self._listing.remove(former, record.id, inc)

    def _write_record(
        self,
        head: Head,
        record: Session,
        mark: bytes,
        condition: Condition,
        extra: Mapping[str, Value] = MappingProxyType({}),
        also_gone: tuple[str, ...] = (),
    ) -> Head | None:
        """The head afterwards; None when it changed meanwhile, or the outcome is not known."""
        attributes = record_attributes(record)
        gone = (*(name for name in RECORD_OPTIONAL if name not in attributes), *also_gone)
        write = Update((head.pk, keys.HEAD), condition, {**attributes, **extra, "mark": mark}, gone, {"rev": 1})
        try:
            return Head.of(self._rim.update(write), record.id)
        except ConditionFailed as failed:
            old = Head.of(failed.old, record.id) if failed.old else None
            return old if old is not None and old.mark == mark and not old.deleted else None
        except Unavailable:
            return None

    # ------------------------------------------------------------------ end

    def delete(self, session_id: str) -> bool:
        """End this life; False when there was none. A repeated call completes an earlier one."""
        view = self._viewer.look(session_id, consistent=True)
        if view.head is None:
            return False
        return self._finish(view, view.head, session_id, None)

    def delete_if_expired(self, session_id: str, before: Instant) -> bool:
        """The same, if it expired strictly before the instant; one guarded mark decides."""
        view = self._viewer.look(session_id, consistent=True)
        if view.head is None or view.head.deleted:
            return False
        try:
            return self._finish(view, view.head, session_id, before)
        except ConditionFailed:
            return False

    def _finish(self, view: View, head: Head, session_id: str, before: Instant | None) -> bool:
        marked = False
        if not head.deleted:
            extra = () if before is None else (Compare("xat", "<", before.ns),)
            marked = self._mark(head, extra)
        self._close(session_id, head)
        self._listing.remove(head.record.user_id, session_id, head.inc)
        return marked

    def _end(self, view: View, head: Head, *, only_expired_at: Instant) -> None:
        """Make way for a new life: mark a head that is only expired, and close its log."""
        if not head.deleted:
            self._mark(head, (Compare("xat", "<=", only_expired_at.ns),))
        self._close(head.record.id, head)

    def _mark(self, head: Head, extra: tuple[Condition, ...]) -> bool:
        """Mark the head deleted. False when somebody else has.

        Raises:
            ConditionFailed: the head is of another life, or ``extra`` does not hold.
        """
        mark = self._new_cid()
        until = self._now().ns // NS + KEEP_DEAD_SECONDS
        sets: Item = {"deleted": True, "expires": until, "mark": mark}
        gone = ("gpk", "created", "due")  # nobody needs to look at its passes any more
        write = Update((head.pk, keys.HEAD), both(*alive(head.inc).parts, *extra), sets, gone, {"rev": 1})
        attempt = 0
        while True:
            try:
                self._rim.update(write)
                return True
            except ConditionFailed as failed:
                old = Head.of(failed.old, head.record.id) if failed.old else None
                if old is None or old.inc != head.inc:
                    return False
                if old.deleted:
                    return old.mark == mark
                raise
            except Unavailable:
                attempt += 1
                if attempt == 4:
                    raise
                self._pacing.wait(attempt)

    def _close(self, session_id: str, head: Head) -> None:
        """Put the closing commit of this life, walking on until it holds a slot."""
        cid = self._new_cid()
        deadline, attempt = self._pacing.deadline(), 0
        tail = self._newest(head)
        while tail is None or not tail.is_closing:
            first = tail.last + 1 if tail else 1
            closing = Commit(head.pk, head.inc, first, 0, cid, head.generation)
            try:
                self._rim.put(Put(closing.item(), Absent()))
                return
            except ConditionFailed as refused:
                tail = Commit.of(refused.old) if refused.old else self._newest(head)
                if tail is not None and tail.is_closing:
                    return
            except Unavailable:
                pass
            attempt += 1
            if self._pacing.monotonic() >= deadline:
                raise StoreUnavailable("The session could not be closed in time; try again.")
            if attempt > 2:
                self._pacing.wait(attempt - 2)
                tail = self._newest(head)

    def _newest(self, head: Head) -> Commit | None:
        """The newest commit of exactly this life."""
        prefix = keys.commit_prefix(head.inc)
        page = self._rim.query(head.pk, prefix, prefix + "~", descending=True, limit=1, consistent=True)
        return Commit.of(page.items[0]) if page.items else None


def _refuse_ended(head: Head | None, token: IdempotencyKey | None, user_id: str) -> None:
    """A late retry does not bring back what was deleted since (known while the dead head stands)."""
    if head is None or token is None or not head.deleted or head.record.user_id != user_id:
        return
    if head.token[:KEY_HASH] == token.key[:KEY_HASH]:
        raise Conflict(KEY_ENDED)


def _listed_inc(failed: Exception) -> int:
    """The life that the list entry names, when that is what cancelled the transaction."""
    if isinstance(failed, TransactionFailed) and (listed := failed.failed.get(1)):
        inc = listed.get("inc", 0)
        return inc if isinstance(inc, int) else 0
    return 0
