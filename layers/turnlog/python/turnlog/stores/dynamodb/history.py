"""What is remembered of passes: the history, the undo of its newest, and tries that changed nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Final

from ...domain.due import Attempt
from ...domain.errors import InvalidRequest, NotNewestPass, PassNotFound, SessionNotFound, StoreUnavailable
from ...domain.instant import Instant
from ...domain.passes import PassDetail, PassPage, PassRecord, new_pass_id
from ...domain.ports import PassOutcome
from ...domain.session import StoredSession, Version
from . import keys
from .items import ATTEMPT_OPTIONAL, Head, attempt_attributes
from .lives import alive, not_expired
from .pacing import Pacing
from .passcommit import PassCommitter, Prepared
from .passer import NONCE_BYTES
from .passes import Before, Pass, find_pass, walk_chain
from .rim import Absent, Compare, ConditionFailed, Item, Rim, Unavailable, Update, both
from .view import View, Viewer

UNDO_ROUNDS: Final = 4
RECORD_ATTEMPTS: Final = 4


class History:
    """The passes of one tenant's sessions."""

    def __init__(
        self,
        *,
        rim: Rim,
        viewer: Viewer,
        committer: PassCommitter,
        pacing: Pacing,
        new_nonce: Callable[[], bytes] = lambda: os.urandom(NONCE_BYTES),
    ) -> None:
        self._rim = rim
        self._viewer = viewer
        self._committer = committer
        self._pacing = pacing
        self._new_nonce = new_nonce

    # ------------------------------------------------------------------ reading

    def page(self, session: StoredSession, first: str | None, limit: int) -> PassPage:
        """See :meth:`turnlog.domain.ports.SessionRepository.passes`."""
        head = self._head(session)
        if first is not None and find_pass(self._rim, head, first) is None:
            raise InvalidRequest.at("query:cursor", "names no compaction of this session")
        found = list(islice(walk_chain(self._rim, head, first), limit))
        following = found[-1].prev if len(found) == limit else ""
        return PassPage(tuple(made.record for made in found), following or None)

    def find(self, session: StoredSession, pass_id: str) -> PassRecord | None:
        """One pass that counts, by its id."""
        made = find_pass(self._rim, self._head(session), pass_id)
        return None if made is None else made.record

    def _head(self, session: StoredSession) -> Head:
        item = self._rim.get((self._viewer.pk(session.id), keys.HEAD))
        head = Head.of(item, session.id) if item else None
        if head is None or head.deleted or head.inc != session.version.inc:
            raise SessionNotFound(session.id)
        return head

    # ------------------------------------------------------------------ undo

    def undo(self, session_id: str, pass_id: str, now: Instant, detail: PassDetail) -> PassOutcome:
        """See :meth:`turnlog.domain.ports.SessionRepository.undo`. A pass of somebody else's in
        between makes the answer "not the newest", which only a new look can tell."""
        for attempt in range(1, UNDO_ROUNDS + 1):
            view = self._viewer.look(session_id, consistent=True)
            head = view.live_head
            if head is None or head.record.expired(now):
                raise SessionNotFound(session_id)
            newest = next(walk_chain(self._rim, head), None)
            if newest is not None and newest.undoes == pass_id:
                return PassOutcome("landed", Version(head.inc, view.last_seq, head.generation), newest.record)
            if newest is None or newest.id != pass_id:
                raise self._refusal(head, session_id, pass_id)
            prepared = self._prepare(view, head, newest, now, detail)
            if self._committer.write(prepared, now=now):
                made = prepared.made
                return PassOutcome("landed", Version(head.inc, view.last_seq, made.generation), made.record)
            self._pacing.wait(attempt)
        raise StoreUnavailable("The session is compacted by too many at once; try again.")

    def _refusal(self, head: Head, session_id: str, pass_id: str) -> Exception:
        if find_pass(self._rim, head, pass_id) is None:
            return PassNotFound(session_id, pass_id)
        return NotNewestPass(session_id, pass_id)

    def _prepare(self, view: View, head: Head, newest: Pass, now: Instant, detail: PassDetail) -> Prepared:
        old, generation = newest.before, head.generation + 1
        made = Pass(
            id=new_pass_id(generation, self._new_nonce()),
            generation=generation,
            prev=newest.id,
            at=now,
            before=Before.of(head),
            after=old.archive,
            detail=detail,
            undoes=newest.id,
        )
        after = replace(
            head,
            generation=generation,
            last_pass=made.id,
            archive=old.archive,
            start=old.start,
            stragglers=old.stragglers,
            cut=old.cut,
            held=old.held,
        )
        size = after.window_size(view.totals)
        return Prepared(made, head, replace(after, attempt=Attempt(1, "held", now, reason="undone", size=size)))

    # ------------------------------------------------------------------ attempts

    def record(self, session: StoredSession, attempt: Attempt | None, now: Instant) -> bool:
        """See :meth:`turnlog.domain.ports.SessionRepository.record_attempt`."""
        version = session.version
        sets: Item = attempt_attributes(attempt)
        old = attempt_attributes(session.attempt).get("att")
        same = Absent("att") if old is None else Compare("att", "=", old)
        condition = both(*alive(version.inc).parts, not_expired(now), Compare("gen", "=", version.generation), same)
        gone = tuple(name for name in ATTEMPT_OPTIONAL if name not in sets)
        write = Update((self._viewer.pk(session.id), keys.HEAD), condition, sets, gone)
        for tried in range(1, RECORD_ATTEMPTS + 1):
            try:
                self._rim.update(write)
                return True
            except ConditionFailed as failed:
                return failed.old is not None and self._is_ours(failed.old, version, sets)
            except Unavailable:
                if tried == RECORD_ATTEMPTS:
                    raise
                self._pacing.wait(tried)
        raise AssertionError("unreachable")

    @staticmethod
    def _is_ours(found: Item, version: Version, sets: Item) -> bool:
        """Whether the attempt that is there is this one: then only the answer was lost."""
        here = found.get("inc"), found.get("gen"), found.get("att")
        return here == (version.inc, version.generation, sets.get("att")) and not found.get("deleted")
