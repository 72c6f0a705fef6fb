"""A table in memory that keeps every version of every item, so that it can serve old reads.

It is what the store sees of DynamoDB (AWS: "Read consistency", "Condition expressions", "Amazon
DynamoDB Transactions"): each write is atomic, a transaction is all or nothing, keys are sorted, a
page ends early, and an eventually consistent read may come from any earlier moment. What DynamoDB
refuses as invalid fails here as an assertion, because it is a bug of the caller.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Iterable, Sequence
from operator import eq, ge, gt, le, lt
from typing import Final

from turnlog.stores.dynamodb import rim
from turnlog.stores.dynamodb.rim import (
    Absent,
    All,
    Check,
    Compare,
    Condition,
    ConditionFailed,
    Delete,
    IndexPage,
    IndexPlace,
    Item,
    Key,
    Page,
    Present,
    Put,
    TransactionFailed,
    Update,
    Value,
    Write,
)

_OPERATORS: Final[dict[str, Callable[..., bool]]] = {"=": eq, "<": lt, "<=": le, ">": gt, ">=": ge}
MAX_ITEM_BYTES: Final = 400 * 1024
"""DynamoDB's limit of one item."""

Moment = int
"""A point in a table's time: how many writes it has seen."""


def holds(condition: Condition | None, item: Item | None) -> bool:
    """Whether a condition holds for what is stored under its key (None: nothing)."""
    match condition:
        case None:
            return True
        case Absent(name):
            return item is None or name not in item
        case Present(name):
            return item is not None and name in item
        case Compare(name, op, value):
            found = None if item is None else item.get(name)
            return type(found) is type(value) and _OPERATORS[op](found, value)
        case All(parts):
            return all(holds(part, item) for part in parts)
        case rim.Any(parts):
            return any(holds(part, item) for part in parts)


class Table:
    """The items, and when each of their versions was written."""

    def __init__(self, *, page_rows: int | None = None) -> None:
        """``page_rows``: no page of a query holds more rows than this (DynamoDB: 1 MB)."""
        self.now: Moment = 0
        self.page_rows = page_rows
        self._versions: dict[Key, list[tuple[Moment, Item | None]]] = {}
        self._sorted: dict[str, list[str]] = {}

    # ------------------------------------------------------------------ looking

    def at(self, key: Key, moment: Moment | None = None) -> Item | None:
        """An item as it was at a moment; the newest without one."""
        versions = self._versions.get(key, [])
        upto = len(versions) if moment is None else bisect_right(versions, moment, key=lambda v: v[0])
        item = versions[upto - 1][1] if upto else None
        return None if item is None else dict(item)

    def versions(self, key: Key) -> list[tuple[Moment, Item | None]]:
        """Every version of an item with the moment it was written at; None: it was removed."""
        return list(self._versions.get(key, ()))

    def keys(self, pk: str, low: str = "", high: str = "\U0010ffff") -> list[Key]:
        """The keys of a partition that ever held an item, sorted."""
        return [(pk, sk) for sk in self._sorted.get(pk, ()) if low <= sk <= high]

    def partitions(self) -> list[str]:
        """Every partition that ever held an item."""
        return sorted(self._sorted)

    def query(
        self,
        keys: Iterable[Key],
        read: Callable[[Key], Item | None],
        *,
        descending: bool,
        limit: int | None,
        start: Key | None,
    ) -> Page:
        """A page of the rows that ``read`` finds under ``keys``. As in DynamoDB, a page that ends
        at its limit says so even when nothing follows."""
        ordered = sorted(keys, reverse=descending)
        if start is not None:
            ordered = [k for k in ordered if (k < start if descending else k > start)]
        most = min((n for n in (limit, self.page_rows) if n is not None), default=None)
        items: list[Item] = []
        for key in ordered:
            item = read(key)
            if item is not None:
                items.append(item)
                if len(items) == most:
                    return Page(items, key)
        return Page(items)

    def index(self, sort: str, gpk: str, descending: bool, limit: int, start: IndexPlace | None) -> IndexPage:
        """A page of one of the session list's indexes."""
        rows = [
            IndexPlace(str(item[sort]), key)
            for pk in self.partitions()
            for key in self.keys(pk)
            if (item := self.at(key)) is not None and item.get("gpk") == gpk
        ]
        rows.sort(key=lambda row: (row.sort, row.key), reverse=descending)
        if start is not None:
            place = (start.sort, start.key)
            rows = [r for r in rows if ((r.sort, r.key) < place if descending else (r.sort, r.key) > place)]
        return IndexPage(rows[:limit], rows[limit - 1] if len(rows) >= limit else None)

    def scan(self, sk: str) -> list[Item]:
        """Every item with that sort key."""
        found = (self.at(key) for pk in self.partitions() for key in self.keys(pk, sk, sk))
        return [item for item in found if item is not None]

    # ------------------------------------------------------------------ writing

    def put(self, put: Put) -> None:
        """Raises ``ConditionFailed``."""
        self._require(put.condition, put.key)
        self._store({put.key: put.item})

    def update(self, update: Update) -> Item:
        """Raises ``ConditionFailed``."""
        self._require(update.condition, update.key)
        after = self._updated(update)
        self._store({update.key: after})
        return dict(after)

    def delete(self, delete: Delete) -> None:
        """Raises ``ConditionFailed``."""
        self._require(delete.condition, delete.key)
        self._store({delete.key: None})

    def transact(self, writes: Sequence[Write]) -> None:
        """Raises ``TransactionFailed``."""
        assert len({w.key for w in writes}) == len(writes), "a transaction names each item once"
        failed = {i: self.at(w.key) for i, w in enumerate(writes) if not holds(w.condition, self.at(w.key))}
        if failed:
            raise TransactionFailed(failed)
        self._store({w.key: self._after(w) for w in writes if not isinstance(w, Check)})

    def _require(self, condition: Condition | None, key: Key) -> None:
        there = self.at(key)
        if not holds(condition, there):
            raise ConditionFailed(there)

    def _after(self, write: Put | Update | Delete) -> Item | None:
        if isinstance(write, Put):
            return write.item
        return self._updated(write) if isinstance(write, Update) else None

    def _updated(self, update: Update) -> Item:
        touched = [*update.set, *update.remove, *update.add]
        assert len(set(touched)) == len(touched), "an update names each attribute once"
        assert not {"pk", "sk"} & set(touched), "a key cannot be updated"
        item = self.at(update.key) or {"pk": update.key[0], "sk": update.key[1]}
        item |= update.set
        for name in update.remove:
            item.pop(name, None)
        for name, more in update.add.items():
            before = item.get(name, 0)
            assert isinstance(before, int)
            item[name] = before + more
        return item

    def _store(self, writes: dict[Key, Item | None]) -> None:
        self.now += 1
        for key, item in writes.items():
            assert all(key), "a key is never empty"
            assert item is None or _size(item) <= MAX_ITEM_BYTES, f"{key} is too large for an item"
            if key not in self._versions:
                insort(self._sorted.setdefault(key[0], []), key[1])
            self._versions.setdefault(key, []).append((self.now, None if item is None else dict(item)))


def _size(item: Item) -> int:
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items())


def _value_size(value: Value) -> int:
    if isinstance(value, str):
        return len(value.encode())
    if isinstance(value, bytes):
        return len(value)
    assert isinstance(value, int), f"{value!r} is not a value that the store writes"
    return 1 if isinstance(value, bool) else 21
