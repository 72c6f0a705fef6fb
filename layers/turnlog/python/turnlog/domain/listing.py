"""Listing a log a page at a time: under a filter, forwards, backwards, or the newest ``n``.

A page is complete by its cursor: sizes and store reads are capped, what is found never is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from .event import SessionEvent
from .filter import EventFilter
from .ports import LOGGED, Order, Place, SessionRepository, place_of
from .session import StoredSession

SCAN_BATCHES: Final = 8
"""How many store reads (each of at most 1 MB) one listing makes before it answers with what it
has and a cursor."""


@dataclass(frozen=True)
class EventCursor:
    """Where a listing goes on.

    ``after`` is exclusive; ``until`` (inclusive) and ``need`` belong to ``last_n``: the newest
    place when it began, and how many matches are still wanted on the way back.
    """

    inc: int
    after: Place | None = None
    until: Place | None = None
    need: int | None = None


@dataclass(frozen=True)
class EventPage:
    """One page of a listing. ``cursor`` None: nothing more. A page may be short, even empty, and
    still have a cursor: sizes and reads are capped, completeness is not."""

    session: StoredSession
    events: tuple[SessionEvent, ...]
    cursor: EventCursor | None


@dataclass(frozen=True)
class PageLimits:
    """What ends a page: a number of events, and a size by the caller's own measure."""

    events: int = 50
    size: int = 5_000_000
    measure: Callable[[SessionEvent], int] = lambda event: len(event.message.raw)


class Listing:
    """One page of one life of a session; whether the caller may see it has been decided."""

    def __init__(
        self,
        repository: SessionRepository,
        session: StoredSession,
        filter: EventFilter,
        order: Order,
        limits: PageLimits,
    ) -> None:
        self._repository = repository
        self._session = session
        self._filter = filter
        self._order = order
        self._limits = limits

    def page(self, cursor: EventCursor) -> EventPage:
        """The page from the cursor on; raises what ``SessionRepository.walk`` does."""
        if self._order == "asc" and cursor.need is not None:
            return self._seek(cursor)
        return self._collect(cursor)

    def _walk(self, after: Place | None, order: Order, hint: int | None) -> Iterator[Sequence[SessionEvent]]:
        return self._repository.walk(
            self._session, after=after, order=order, active_only=self._filter.archived is False, hint=hint
        )

    def _hint(self, events: int) -> int | None:
        """Only an unfiltered read knows how much of the log it will use (a walk skips what is archived)."""
        criteria = self._filter.without_window()
        unfiltered = criteria in (EventFilter(), EventFilter.active())
        return events + 1 if unfiltered else None

    def _seek(self, cursor: EventCursor) -> EventPage:
        """The newest ``need`` matches, found by walking back; answered oldest first."""
        last = self._session.version.last_seq
        until = cursor.until or Place(last + 1, LOGGED - 1, 0)
        need, back, found = cursor.need or 0, cursor.after, list[SessionEvent]()
        for reads, batch in enumerate(self._walk(back, "desc", self._hint(need)), start=1):
            for event in batch:
                back = place_of(event)
                if back <= until and self._filter.matches(event):
                    found.append(event)
                    if len(found) == need:
                        break
            if len(found) == need:
                start = place_of(found[-1])
                return self._from(cursor, found, replace(start, index=start.index - 1), until)
            if reads == SCAN_BATCHES:
                return EventPage(self._session, (), replace(cursor, after=back, until=until, need=need - len(found)))
        return self._from(cursor, found, None, until)

    def _from(self, cursor: EventCursor, found: list[SessionEvent], start: Place | None, until: Place) -> EventPage:
        """The first page of a finished search: what was found is at hand unless an earlier call
        began the search."""
        forward = EventCursor(cursor.inc, after=start, until=until)
        if cursor.after is not None:
            return self._collect(forward)
        page: list[SessionEvent] = []
        size = 0
        for event in reversed(found):
            size += self._limits.measure(event)
            if page and size > self._limits.size:
                return EventPage(self._session, tuple(page), replace(forward, after=place_of(page[-1])))
            page.append(event)
        return EventPage(self._session, tuple(page), None)

    def _collect(self, cursor: EventCursor) -> EventPage:
        limits, need, last, size = self._limits, cursor.need, cursor.after, 0
        most = limits.events if need is None else need
        page: list[SessionEvent] = []

        def ended(after: Place | None) -> EventPage:
            rest = None if need is None else need - len(page)
            if rest == 0:
                return EventPage(self._session, tuple(page), None)
            return EventPage(self._session, tuple(page), replace(cursor, after=after, need=rest))

        for reads, batch in enumerate(self._walk(last, self._order, self._hint(most)), start=1):
            for event in batch:
                place = place_of(event)
                if cursor.until is not None and place > cursor.until:
                    return EventPage(self._session, tuple(page), None)
                if self._filter.matches(event):
                    if len(page) == most and need is not None:
                        return EventPage(self._session, tuple(page), None)
                    size += limits.measure(event)
                    if len(page) == most or (page and size > limits.size):
                        return ended(last)
                    page.append(event)
                last = place
            if reads == SCAN_BATCHES:
                return ended(last)
        return EventPage(self._session, tuple(page), None)
