"""Sessions whose compaction somebody has to look at: found by their partition, as a stream's record
names it, or in the index of attempts whose time has come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ...domain.instant import Instant
from . import keys
from .items import PENDING
from .rim import IndexPlace, Rim

INDEX: Final = "by_created"
PAGE: Final = 100


@dataclass(frozen=True)
class SessionPlace:
    """A session as a key names it. ``tenant`` goes into other keys as it is; it is a hash where the
    tenant's name is too long for a key."""

    tenant: keys.Encoded
    session_id: str


def place_of(rim: Rim, pk: str) -> SessionPlace | None:
    """The session of a partition; None for another kind of partition, and for one that holds a
    hash only and whose head is gone."""
    parts = keys.parse_session_pk(pk)
    if parts is None:
        return None
    tenant, session = parts
    session_id = keys.decode(session)
    if session_id is None:
        head = rim.get((pk, keys.HEAD))
        session_id = None if head is None or "sid" not in head else str(head["sid"])
    return None if session_id is None else SessionPlace(tenant, session_id)


def pending(rim: Rim, now: Instant, *, limit: int) -> list[SessionPlace]:
    """Sessions whose attempt was to be looked at by ``now``, the oldest first; at most ``limit``."""
    until = f"{max(now.ms, 0):013d}"
    found: list[SessionPlace] = []
    start: IndexPlace | None = None
    while True:
        page = rim.query_index(INDEX, PENDING, descending=False, limit=PAGE, start=start)
        for row in page.rows:
            if row.sort > until or len(found) == limit:
                return found
            place = place_of(rim, row.key[0])
            if place is not None:
                found.append(place)
        start = page.next
        if start is None:
            return found
