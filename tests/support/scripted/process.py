"""One process that uses a scripted table, and everything that can go wrong at each of its calls.

A script says what happens at the n-th call (counted from 0; calls to the table and to the blob
store count together):

    CRASH_BEFORE, CRASH_AFTER   the process dies; the call has no effect, or it has had its effect
    LOST                        the call has its effect, the answer gets lost
    THROTTLED                   no effect, and the caller is told to try again
    CONFLICT                    another transaction is in the way: no effect
    Race(work)                  somebody else's work is done since the call before this one
    Torn(work, split)           a query meets that work half way: rows up to the split are from
                                before it, the others from after it. Even a consistent query may
    Stale(lags)                 an eventually consistent read shows each row as it was a while ago
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias, TypeVar

from turnlog.domain.errors import CorruptLog
from turnlog.domain.instant import Instant
from turnlog.stores.dynamodb import DynamoDBSessionRepository, Pacing
from turnlog.stores.dynamodb.blobs import describe, verified
from turnlog.stores.dynamodb.items import Blob
from turnlog.stores.dynamodb.rim import (
    ConditionFailed,
    Delete,
    IndexPage,
    IndexPlace,
    Item,
    Key,
    Page,
    Put,
    TransactionFailed,
    Unavailable,
    Update,
    Write,
)
from turnlog.testing.builders import START

from .table import Table

T = TypeVar("T")

MOST_CALLS: Final = 5_000
"""More than any operation in a test makes: an endless loop fails instead of hanging."""


class Crash(BaseException):
    """The process dies here; nothing that it would have done afterwards happens."""


class Fault(Enum):
    """What goes wrong with one call."""

    CRASH_BEFORE = "crash before"
    CRASH_AFTER = "crash after"
    LOST = "lost"
    THROTTLED = "throttled"
    CONFLICT = "conflict"


CRASH_BEFORE, CRASH_AFTER, LOST, THROTTLED, CONFLICT = Fault


@dataclass(frozen=True)
class Race:
    """Somebody else's work, done right before the call."""

    work: Callable[[], object]


@dataclass(frozen=True)
class Torn:
    """Somebody else's work, done while a query is half way (before any other call)."""

    work: Callable[[], object]
    split: int = 1


@dataclass(frozen=True)
class Stale:
    """How many writes ago each row of an eventually consistent read is from, in turn."""

    lags: tuple[int, ...]


Step: TypeAlias = Fault | Race | Torn | Stale
Script: TypeAlias = Mapping[int, Sequence[Step]]


class World:
    """What processes share: the table, the blobs and the time."""

    def __init__(self, *, page_rows: int | None = None) -> None:
        self.table = Table(page_rows=page_rows)
        self.blobs: dict[str, bytes] = {}
        self.seconds = 0.0

    def now(self) -> Instant:
        """The wall clock. It moves only when somebody calls or waits."""
        return Instant.of_ms(START.ms + int(self.seconds * 1000))

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.seconds += seconds


class Process:
    """A process with a repository of its own, caches included."""

    def __init__(self, world: World, script: Script | None = None, *, tenant: str = "acme") -> None:
        self.world = world
        self.script: Script = script or {}
        self.calls: list[str] = []
        self.crashed = False
        pacing = Pacing(sleep=world.sleep, monotonic=lambda: world.seconds, uniform=lambda low, high: high)
        self.repository = DynamoDBSessionRepository(
            tenant, rim=_ScriptedRim(self), blobs=_ScriptedBlobs(self), now=world.now, pacing=pacing
        )

    def follow(self, script: Script) -> None:
        """A new script, from the next call on."""
        self.script = script
        self.calls = []

    def call(self, name: str, effect: Callable[[tuple[Step, ...]], T], *, transaction: bool = False) -> T:
        """One call under the script."""
        assert not self.crashed, "a dead process makes no calls"
        assert len(self.calls) < MOST_CALLS, f"{name}: this goes on for ever"
        steps = tuple(self.script.get(len(self.calls), ()))
        self.calls.append(name)
        self.world.sleep(0.005)
        for step in steps:
            if isinstance(step, Race) or (isinstance(step, Torn) and name != "query"):
                step.work()
        if CRASH_BEFORE in steps:
            self._crash(name)
        if THROTTLED in steps or (CONFLICT in steps and not transaction):
            raise Unavailable(f"{name}: scripted")
        if CONFLICT in steps:
            raise TransactionFailed({})
        try:
            answer = effect(steps)
        except (ConditionFailed, TransactionFailed):
            self._answer(name, steps)
            raise
        self._answer(name, steps)
        return answer

    def _answer(self, name: str, steps: tuple[Step, ...]) -> None:
        if CRASH_AFTER in steps:
            self._crash(name)
        if LOST in steps:
            raise Unavailable(f"{name}: the answer got lost")

    def _crash(self, name: str) -> None:
        self.crashed = True
        raise Crash(f"{name}, call {len(self.calls) - 1}")


class _ScriptedRim:
    """The :class:`~turnlog.stores.dynamodb.rim.Rim` of a process."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._table = process.world.table

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
        def effect(steps: tuple[Step, ...]) -> Page:
            read = self._reader(steps, consistent)
            for step in steps:
                if isinstance(step, Torn):
                    began = self._table.now
                    step.work()
                    ordered = sorted(self._table.keys(pk, low, high), reverse=descending)
                    early = set(ordered[: step.split % (len(ordered) + 1)])
                    read = self._torn(read, early, began)
            return self._table.query(
                self._table.keys(pk, low, high), read, descending=descending, limit=limit, start=start
            )

        return self._process.call("query", effect)

    def _torn(self, late: Callable[[Key], Item | None], early: set[Key], began: int) -> Callable[[Key], Item | None]:
        return lambda key: self._table.at(key, began) if key in early else late(key)

    def _reader(self, steps: tuple[Step, ...], consistent: bool) -> Callable[[Key], Item | None]:
        lags = next((step.lags for step in steps if isinstance(step, Stale)), ())
        if consistent or not lags:
            return self._table.at
        turn = iter(range(1_000_000))
        now = self._table.now
        return lambda key: self._table.at(key, max(0, now - lags[next(turn) % len(lags)]))

    def get(self, key: Key, *, consistent: bool = True) -> Item | None:
        return self._process.call("get", lambda steps: self._reader(steps, consistent)(key))

    def batch_get(self, keys: Sequence[Key], *, consistent: bool = True) -> dict[Key, Item]:
        def effect(steps: tuple[Step, ...]) -> dict[Key, Item]:
            read = self._reader(steps, consistent)
            return {key: item for key in keys if (item := read(key)) is not None}

        return self._process.call("batch_get", effect)

    def put(self, put: Put) -> None:
        self._process.call("put", lambda steps: self._table.put(put))

    def update(self, update: Update) -> Item:
        return self._process.call("update", lambda steps: self._table.update(update))

    def delete(self, delete: Delete) -> None:
        self._process.call("delete", lambda steps: self._table.delete(delete))

    def transact(self, writes: Sequence[Write]) -> None:
        self._process.call("transact", lambda steps: self._table.transact(writes), transaction=True)

    def query_index(
        self, index: str, gpk: str, *, descending: bool, limit: int, start: IndexPlace | None = None
    ) -> IndexPage:
        sort = index.removeprefix("by_")
        return self._process.call("query_index", lambda steps: self._table.index(sort, gpk, descending, limit, start))

    def scan_heads(self, pk_prefix: str, expired_before_ns: int) -> list[Item]:
        def effect(steps: tuple[Step, ...]) -> list[Item]:
            heads = (item for item in self._table.scan("~") if str(item["pk"]).startswith(pk_prefix))
            return [h for h in heads if isinstance(xat := h.get("xat"), int) and xat < expired_before_ns]

        return self._process.call("scan_heads", effect)


class _ScriptedBlobs:
    """The :class:`~turnlog.stores.dynamodb.blobs.BlobStore` of a process."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._blobs = process.world.blobs

    def put(self, key: str, data: bytes) -> Blob:
        def effect(steps: tuple[Step, ...]) -> Blob:
            self._blobs[key] = data
            return describe(key, data)

        return self._process.call("put_blob", effect)

    def get(self, blob: Blob) -> bytes:
        def effect(steps: tuple[Step, ...]) -> bytes:
            if blob.key not in self._blobs:
                raise CorruptLog(f"The body {blob.key} is gone.")
            return verified(blob, self._blobs[blob.key])

        return self._process.call("get_blob", effect)
