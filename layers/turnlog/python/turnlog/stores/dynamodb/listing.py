"""A user's list of sessions: one item a session under the user's key, two indexes to sort it.

The list only says where to look. Whether a session lives, and what it is, comes from its head, so
an entry that was left behind shows nothing wrong; it is merely skipped.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable
from typing import cast

from ...domain.errors import InvalidRequest
from ...domain.instant import Instant
from ...domain.ports import ListOrder, Order, SessionEntry, SessionPage
from ...domain.session import Session
from . import keys
from .items import Head
from .rim import Absent, Compare, Condition, ConditionFailed, Delete, IndexPlace, Item, Key, Put, Rim, either


def entry(tenant: str, session: Session, inc: int) -> Item:
    """The list entry of a new life. ``sid`` stands beside the key only when that holds a hash."""
    pk = keys.user_pk(tenant, session.user_id)
    created = f"{max(session.created_at.ms, 0):013d}"
    item: Item = {
        "pk": pk,
        "sk": keys.list_sk(session.id),
        "gpk": pk,
        "inc": inc,
        "created": created,
        "activity": created,
    }
    if keys.decode(keys.encode(session.id)) is None:
        item["sid"] = session.id
    return item


def newer_than(inc: int) -> Condition:
    """An entry may only be replaced by that of a later life."""
    return either(Absent(), Compare("inc", "<", inc))


class Listing:
    """Reads and repairs one tenant's lists."""

    def __init__(self, rim: Rim, tenant: str) -> None:
        self._rim = rim
        self._tenant = tenant

    def put(self, session: Session, inc: int) -> None:
        """Write the entry, unless one of this life or a later one is there."""
        try:
            self._rim.put(Put(entry(self._tenant, session, inc), newer_than(inc)))
        except ConditionFailed:
            return

    def remove(self, user_id: str, session_id: str, inc: int) -> None:
        """Remove the entry of this life or an earlier one."""
        key = keys.user_pk(self._tenant, user_id), keys.list_sk(session_id)
        try:
            self._rim.delete(Delete(key, either(Absent(), Compare("inc", "<=", inc))))
        except ConditionFailed:
            return

    def all_of(self, user_id: str) -> list[Session]:
        """Every session of the user that is not deleted, expired ones included."""
        pk = keys.user_pk(self._tenant, user_id)
        entries: list[Item] = []
        start: Key | None = None
        while True:
            page = self._rim.query(pk, "L#", "L$", consistent=True, start=start)  # "$" follows "#"
            entries += page.items
            start = page.next
            if start is None:
                break
        heads = self._heads(user_id, {_session_id(e): e for e in entries})
        return [head.record for head, _ in heads]

    def page(
        self, user_id: str, *, now: Instant, limit: int, order: Order, order_by: ListOrder, token: str | None
    ) -> SessionPage:
        """One page through an index: the index, the entries, the heads."""
        pk = keys.user_pk(self._tenant, user_id)
        start = None if token is None else self._start(token, user_id, order_by)
        # One row more tells whether anything follows; the index's own "next" only says where it stopped.
        page = self._rim.query_index(f"by_{order_by}", pk, descending=order == "desc", limit=limit + 1, start=start)
        shown = page.rows[:limit]
        found = self._rim.batch_get([row.key for row in shown])
        entries = {_session_id(found[row.key]): found[row.key] for row in shown if row.key in found}
        rows = tuple(
            SessionEntry(head.record, Instant.of_ms(int(str(item["activity"]))))
            for head, item in self._heads(user_id, entries)
            if not head.record.expired(now)
        )
        return SessionPage(rows, _token(shown[-1], order_by) if len(page.rows) > limit else None)

    def _heads(self, user_id: str, entries: dict[str, Item]) -> list[tuple[Head, Item]]:
        """The living heads behind entries, in the entries' order."""
        head_keys = {sid: (keys.session_pk(self._tenant, sid), keys.HEAD) for sid in entries}
        found = self._rim.batch_get(list(head_keys.values()))
        heads = ((Head.of(found[key], sid), entries[sid]) for sid, key in head_keys.items() if key in found)
        return [(h, e) for h, e in heads if not h.deleted and h.record.user_id == user_id]

    def _start(self, token: str, user_id: str, order_by: ListOrder) -> IndexPlace:
        """Where a token says to go on; its key is rebuilt from the caller's own user."""
        try:
            parts = json.loads(base64.urlsafe_b64decode(token.encode("ascii")))
            by, sort, session_id = parts
        except (ValueError, binascii.Error, UnicodeError, TypeError):
            raise InvalidRequest.at("query:cursor", "is not a cursor of this list") from None
        if by != order_by or not (isinstance(sort, str) and isinstance(session_id, str) and sort.isdigit()):
            raise InvalidRequest.at("query:cursor", "is not a cursor of this list")
        return IndexPlace(sort, (keys.user_pk(self._tenant, user_id), f"L#{_safe(session_id)}"))


def _session_id(item: Item) -> str:
    if "sid" in item:
        return str(item["sid"])
    return cast("str", keys.decode(str(item["sk"]).removeprefix("L#")))


def _token(place: IndexPlace, order_by: ListOrder) -> str:
    text = json.dumps([order_by, place.sort, place.key[1].removeprefix("L#")], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode()


def _safe(encoded: str) -> str:
    """An already encoded session id, refused when it is none."""
    allowed: Iterable[str] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:%=~"
    if not encoded or len(encoded) > keys.MAX_PART or any(c not in allowed for c in encoded):
        raise InvalidRequest.at("query:cursor", "is not a cursor of this list")
    return encoded
