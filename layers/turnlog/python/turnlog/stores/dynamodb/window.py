"""The active window in two requests, three with summaries or stragglers (DESIGN 4)."""

from __future__ import annotations

from dataclasses import dataclass

from ...domain.errors import CorruptLog, SessionNotFound
from ...domain.event import SessionEvent
from ...domain.ports import Window, place_of
from ...domain.session import Version
from . import keys
from .items import NO_TOTALS, Commit, Head, is_commit
from .pacing import Pacing
from .reader import Reader
from .rim import Item, Key, Rim
from .view import Viewer

ATTEMPTS = 6


@dataclass(frozen=True)
class WindowRead:
    """A window with what a pass needs to know of it: the head, and the commit of each event."""

    window: Window
    head: Head
    commits: tuple[Commit, ...]

    def commit_of(self, seq: int) -> Commit | None:
        """The commit that holds ``seq``, if the window has read it."""
        return next((c for c in self.commits if c.first <= seq <= c.last), None)


class WindowReader:
    """Reads active windows."""

    def __init__(self, rim: Rim, viewer: Viewer, reader: Reader, pacing: Pacing) -> None:
        self._rim = rim
        self._viewer = viewer
        self._reader = reader
        self._pacing = pacing

    def read(self, session_id: str, min_version: Version | None = None) -> WindowRead | None:
        """The window; None for an unknown or deleted session.

        With ``min_version`` the first try is eventually consistent, at half the cost, and good
        enough if it shows that version. Whatever does not fit together is read again, consistently.

        Raises:
            CorruptLog: consistent reads do not fit together either: never a silent gap.
        """
        pk = self._viewer.pk(session_id)
        consistent = min_version is None
        for attempt in range(ATTEMPTS):
            found = self._rim.get((pk, keys.HEAD), consistent=consistent)
            head = Head.of(found, session_id) if found else None
            if head is not None and not head.deleted:
                read = self._from(head, session_id, consistent)
                if read is not None and _reaches(read, min_version, consistent):
                    return read
            elif consistent:
                return None
            if consistent:
                self._pacing.wait(attempt + 1)
            consistent = True
        raise CorruptLog(f"The active window of session {session_id!r} does not fit together.")

    def _from(self, head: Head, session_id: str, consistent: bool) -> WindowRead | None:
        """One try; None when the reads do not fit together."""
        commits, again = self._commits(head, session_id, consistent)
        if again is None or (again.inc, again.generation, again.deleted) != (head.inc, head.generation, head.deleted):
            return None
        more = self._more(head, consistent)
        if more is None:
            return None
        stragglers, inserted = more
        everything = (*stragglers, *commits)
        if not _whole(head, everything):
            return None
        newest = everything[-1] if everything else None
        session = again.stored(newest.last if newest else 0)
        size = again.window_size(newest.totals if newest else NO_TOTALS)
        events = [e for c in everything for e in self._reader.events_of(c, session_id, head.archive) if not e.archived]
        events = sorted([*events, *inserted], key=place_of) if inserted else events
        return WindowRead(Window(session, head.archive, tuple(events), size), again, everything)

    def _commits(self, head: Head, session_id: str, consistent: bool) -> tuple[list[Commit], Head | None]:
        commits: list[Commit] = []
        again: Head | None = None
        start: Key | None = None
        low = keys.commit_sk(head.inc, head.start)
        while True:
            page = self._rim.query(head.pk, low, keys.HEAD, consistent=consistent, start=start)
            for item in page.items:
                if not is_commit(item):
                    again = Head.of(item, session_id)
                elif (commit := Commit.of(item)).inc == head.inc and not commit.is_closing:
                    commits.append(commit)
            start = page.next
            if start is None:
                return commits, again

    def _more(self, head: Head, consistent: bool) -> tuple[list[Commit], list[SessionEvent]] | None:
        """Stragglers and inserted events; None when one of them does not come back."""
        if not head.archive.inserts and not head.stragglers:
            return [], []
        from .passes import decode_pass, pass_key  # noqa: PLC0415  (only compacted sessions pay for it)

        passes = [pass_key(head, i.pass_id) for i in head.archive.inserts]
        old = [(head.pk, keys.commit_sk(head.inc, first)) for first in head.stragglers]
        found: dict[Key, Item] = self._rim.batch_get([*passes, *old], consistent=consistent)
        if len(found) != len(passes) + len(old):
            return None
        events = [e for k in passes for e in decode_pass(found[k], head.record.id).events]
        return [Commit.of(found[k]) for k in old], events


def _whole(head: Head, commits: tuple[Commit, ...]) -> bool:
    """Whether no seq that may be active is missing between the commits that came back.

    Before ``head.start`` only the stragglers are read: what is skipped there has to be archived.
    """
    expected = 1
    for commit in commits:
        if commit.first < expected:
            return False
        if commit.first > expected and not head.archive.covers_stretch(expected, commit.first - 1):
            return False
        expected = commit.last + 1
    return expected >= head.archive.tail_start


def _reaches(read: WindowRead, min_version: Version | None, consistent: bool) -> bool:
    if min_version is None or min_version.reached_by(read.window.session.version):
        return True
    return consistent  # a consistent read that is older than the caller's version: it has changed since


def require(read: WindowRead | None, session_id: str) -> WindowRead:
    """The window, or ``SessionNotFound``."""
    if read is None:
        raise SessionNotFound(session_id)
    return read
