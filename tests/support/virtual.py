"""Virtual time: threads that take turns, so that races are simulated, seeded and repeatable.

Only one thread runs at any moment. It runs until it sleeps; then the thread with the earliest wake-up goes on, and the
clock jumps there. Nothing depends on the machine's speed or on how it schedules threads.
"""

import heapq
import random
from collections.abc import Callable, Sequence
from itertools import count
from threading import Lock, Thread, get_ident
from typing import TypeVar

from tests.support.scripted.table import Table
from turnlog.stores.dynamodb.rim import (
    ConditionFailed,
    Delete,
    IndexPage,
    IndexPlace,
    Item,
    Key,
    Page,
    Put,
    Update,
    Write,
)

T = TypeVar("T")


class VirtualTime:
    """A clock, in seconds, that moves only when every thread of `run` sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self._order = count()
        self._sleepers: list[tuple[float, int, Lock]] = []
        self._batons: dict[int, Lock] = {}

    def sleep(self, seconds: float) -> None:
        """Let the others run until this many seconds have passed."""
        baton = self._batons[get_ident()]
        heapq.heappush(self._sleepers, (self.now + seconds, next(self._order), baton))
        self._wake_next()
        baton.acquire()

    def monotonic(self) -> float:
        """The virtual `time.monotonic`."""
        return self.now

    def run(self, works: Sequence[Callable[[], T]]) -> list[T]:
        """Run the works side by side from now on, and answer what they answer.

        Raises what the first of them raises, after all have ended.
        """
        answers: list[T | None] = [None] * len(works)
        errors: list[BaseException] = []

        def turn(i: int, baton: Lock) -> None:
            self._batons[get_ident()] = baton
            baton.acquire()
            try:
                answers[i] = works[i]()
            except BaseException as error:  # noqa: BLE001  (raised again where the caller can see it)
                errors.append(error)
            finally:
                del self._batons[get_ident()]
                if self._sleepers:
                    self._wake_next()

        threads = []
        for i in range(len(works)):
            baton = Lock()
            baton.acquire()
            heapq.heappush(self._sleepers, (self.now, next(self._order), baton))
            threads.append(Thread(target=turn, args=(i, baton)))
            threads[-1].start()
        self._wake_next()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        return [answer for answer in answers if answer is not None]

    def _wake_next(self) -> None:
        self.now, _, baton = heapq.heappop(self._sleepers)
        baton.release()


class SlowTable:
    """The calls of the store's rim on a table in memory, each taking virtual time; the effect is half-way through."""

    def __init__(self, time: VirtualTime, seed: int | str, seconds: tuple[float, float]) -> None:
        self.table = Table()
        self.queries = 0
        self.refused = 0
        self._time = time
        self._random = random.Random(seed)
        self._seconds = seconds

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
        self.queries += 1
        keys = self.table.keys

        def work() -> Page:
            return self.table.query(keys(pk, low, high), self.table.at, descending=descending, limit=limit, start=start)

        return self._call(work)

    def get(self, key: Key, *, consistent: bool = True) -> Item | None:
        return self._call(lambda: self.table.at(key))

    def batch_get(self, keys: Sequence[Key], *, consistent: bool = True) -> dict[Key, Item]:
        return self._call(lambda: {key: item for key in keys if (item := self.table.at(key)) is not None})

    def put(self, put: Put) -> None:
        try:
            self._call(lambda: self.table.put(put))
        except ConditionFailed:
            self.refused += 1
            raise

    def update(self, update: Update) -> Item:
        return self._call(lambda: self.table.update(update))

    def delete(self, delete: Delete) -> None:
        self._call(lambda: self.table.delete(delete))

    def transact(self, writes: Sequence[Write]) -> None:
        self._call(lambda: self.table.transact(writes))

    def query_index(
        self, index: str, gpk: str, *, descending: bool, limit: int, start: IndexPlace | None = None
    ) -> IndexPage:
        return self._call(lambda: self.table.index(index.removeprefix("by_"), gpk, descending, limit, start))

    def scan_heads(self, pk_prefix: str, expired_before_ns: int) -> list[Item]:
        raise NotImplementedError("no writer scans the table")

    def _call(self, work: Callable[[], T]) -> T:
        seconds = self._random.uniform(*self._seconds)
        self._time.sleep(seconds / 2)
        try:
            return work()
        finally:
            self._time.sleep(seconds / 2)
