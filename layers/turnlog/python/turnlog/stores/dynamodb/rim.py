"""The rim: the few calls that this store makes to DynamoDB, and the conditions it puts on them.

Everything above is plain logic over items (dicts of str, int, bytes and bool). ``aws.py`` carries
the calls out; tests put a scripted table in its place, that crashes, loses answers and serves old
reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from ...domain.errors import StoreUnavailable

Value: TypeAlias = str | int | bytes | bool
Item: TypeAlias = dict[str, Value]
Key: TypeAlias = tuple[str, str]


# ------------------------------------------------------------------ conditions


@dataclass(frozen=True)
class Absent:
    """The item has no such attribute; ``pk`` stands for the whole item."""

    name: str = "pk"


@dataclass(frozen=True)
class Present:
    """The item has the attribute."""

    name: str = "pk"


@dataclass(frozen=True)
class Compare:
    """The attribute is there and compares so; ``op`` is one of ``= < <= > >=``."""

    name: str
    op: str
    value: Value


@dataclass(frozen=True)
class All:
    """Every part holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Any:
    """Some part holds."""

    parts: tuple[Condition, ...]


Condition: TypeAlias = Absent | Present | Compare | All | Any


def both(*parts: Condition) -> All:
    """All of the parts."""
    return All(parts)


def either(*parts: Condition) -> Any:
    """Any of the parts."""
    return Any(parts)


# ------------------------------------------------------------------ writes


@dataclass(frozen=True)
class Put:
    """Write a whole item if the condition holds."""

    item: Item
    condition: Condition | None = None

    @property
    def key(self) -> Key:
        """(pk, sk)."""
        return str(self.item["pk"]), str(self.item["sk"])


@dataclass(frozen=True)
class Update:
    """Set, remove and add attributes of an item that the condition finds."""

    key: Key
    condition: Condition
    set: Mapping[str, Value] = field(default_factory=dict)
    remove: tuple[str, ...] = ()
    add: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Delete:
    """Remove an item if the condition holds."""

    key: Key
    condition: Condition | None = None


@dataclass(frozen=True)
class Check:
    """In a transaction: write nothing, but the condition must hold."""

    key: Key
    condition: Condition


Write: TypeAlias = Put | Update | Delete | Check


# ------------------------------------------------------------------ failures


class ConditionFailed(Exception):
    """The condition did not hold; ``old`` is the item that is there (None: no item)."""

    def __init__(self, old: Item | None) -> None:
        super().__init__("condition failed")
        self.old = old


class TransactionFailed(Exception):
    """A transaction was cancelled. ``failed`` maps the positions whose condition did not hold to
    the item that is there; it is empty when only a conflict or throttling was met."""

    def __init__(self, failed: Mapping[int, Item | None]) -> None:
        super().__init__("transaction cancelled")
        self.failed = failed


class Unavailable(StoreUnavailable):
    """Throttled, unreachable or timed out after the SDK's own retries. The call may or may not
    have taken effect: whoever retries it must be able to tell."""


# ------------------------------------------------------------------ calls


@dataclass(frozen=True)
class Page:
    """One page of a query; ``next`` goes on where it ended."""

    items: list[Item]
    next: Key | None = None


@dataclass(frozen=True)
class IndexPlace:
    """A row of an index: what a query of it starts after."""

    sort: str
    key: Key


@dataclass(frozen=True)
class IndexPage:
    """One page of an index query: places of rows, nothing else."""

    rows: list[IndexPlace]
    next: IndexPlace | None = None


class Rim(Protocol):
    """The calls. Each is one request (``batch_get`` and ``scan_heads`` page inside)."""

    def query(
        self,
        pk: str,
        low: str,
        high: str,
        *,
        descending: bool = False,
        limit: int | None = None,
        consistent: bool = True,
        start: Key | None = None,
    ) -> Page:
        """Items of a partition with ``low <= sk <= high``."""
        ...

    def get(self, key: Key, *, consistent: bool = True) -> Item | None:
        """One item."""
        ...

    def batch_get(self, keys: Sequence[Key], *, consistent: bool = True) -> dict[Key, Item]:
        """Those of the items that exist; any number of keys."""
        ...

    def put(self, put: Put) -> None:
        """Raises ``ConditionFailed``."""
        ...

    def update(self, update: Update) -> Item:
        """The item afterwards. Raises ``ConditionFailed``."""
        ...

    def delete(self, delete: Delete) -> None:
        """Raises ``ConditionFailed``."""
        ...

    def transact(self, writes: Sequence[Write]) -> None:
        """All or nothing. Raises ``TransactionFailed``."""
        ...

    def query_index(
        self, index: str, gpk: str, *, descending: bool, limit: int, start: IndexPlace | None = None
    ) -> IndexPage:
        """Rows of one of the session list's indexes. Eventually consistent."""
        ...

    def scan_heads(self, pk_prefix: str, expired_before_ns: int) -> list[Item]:
        """Heads below a prefix whose exact expiry is earlier than the instant. Reads the table."""
        ...
