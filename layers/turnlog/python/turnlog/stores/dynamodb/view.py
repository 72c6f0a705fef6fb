"""One look at a session: its head and its newest commit, in one query."""

from __future__ import annotations

from dataclasses import dataclass

from ...domain.errors import StoreUnavailable
from ...domain.session import StoredSession
from . import keys
from .items import Commit, Head, Totals, is_commit
from .known import NOTHING, Known
from .pacing import Pacing
from .rim import Rim


@dataclass(frozen=True)
class View:
    """Head and tail as one query showed them.

    ``tail`` is the newest commit of the head's own life; None for an empty log. ``orphan`` is a
    newer or older life's commit that stands where the tail would be. ``confirmed`` says that both
    were read consistently, so that a refusal may rest on them.
    """

    head: Head | None
    tail: Commit | None
    orphan: Commit | None = None
    confirmed: bool = False

    @property
    def live_head(self) -> Head | None:
        """The head, unless the life was ended by a delete."""
        return None if self.head is None or self.head.deleted else self.head

    @property
    def last_seq(self) -> int:
        """The newest seq of this life."""
        return self.tail.last if self.tail else 0

    @property
    def totals(self) -> Totals:
        """The totals up to the tail."""
        return self.tail.totals if self.tail else Totals()

    @property
    def known(self) -> Known:
        """The ids that the tail carries."""
        return self.tail.known if self.tail else NOTHING

    @property
    def fold(self) -> int:
        """Up to which seq ids lie in blocks."""
        return self.tail.fold if self.tail else 0

    @property
    def newest_inc(self) -> int:
        """The newest life that anything here belongs to; 0 when there is nothing."""
        found = (self.head, self.tail, self.orphan)
        return max((part.inc for part in found if part is not None), default=0)

    def stored(self) -> StoredSession | None:
        """The session as callers see it; None when it was never there or is deleted."""
        head = self.live_head
        return head.stored(self.last_seq) if head else None

    @property
    def is_torn(self) -> bool:
        """Whether head and commit are of moments that never were together: the commit is of a newer
        life than the head, or its writer saw a newer generation."""
        if self.head is None:
            return False
        if self.orphan is not None:
            return self.orphan.inc > self.head.inc
        return self.tail is not None and self.tail.generation > self.head.generation

    def with_tail(self, tail: Commit) -> View:
        """The same head behind a newer tail: what a lost race hands back. Not confirmed."""
        return View(self.head, tail)


class Viewer:
    """Reads views."""

    def __init__(self, rim: Rim, tenant: str, pacing: Pacing) -> None:
        self._rim = rim
        self._tenant = tenant
        self._pacing = pacing

    def pk(self, session_id: str) -> str:
        """The session's partition key. Raises ``InvalidRequest`` for a blank id."""
        return keys.session_pk(self._tenant, keys.required(session_id, "session_id"))

    def look(self, session_id: str, *, consistent: bool) -> View:
        """Head and newest commit. A combination that only a stale or torn read can show (a tail of
        a newer life, or one that saw a newer generation) is read again, consistently.

        Raises:
            StoreUnavailable: such a combination does not go away.
        """
        pk = self.pk(session_id)
        for attempt in range(6):
            view = self._once(pk, session_id, consistent)
            if not view.is_torn:
                return view
            if attempt > 1:
                self._pacing.wait(attempt)
            consistent = True
        raise StoreUnavailable("The session's head and log do not agree yet; try again.")

    def _once(self, pk: str, session_id: str, consistent: bool) -> View:
        page = self._rim.query(pk, keys.LOG_FROM, keys.HEAD, descending=True, limit=2, consistent=consistent)
        head: Head | None = None
        commit: Commit | None = None
        for item in page.items:
            if not is_commit(item):
                head = Head.of(item, session_id)
            elif commit is None:
                commit = Commit.of(item)
        if head is None or commit is None or commit.inc != head.inc:
            return View(head, None, orphan=commit, confirmed=consistent)
        return View(head, commit, confirmed=consistent)
