"""The pump: for each mapping a reader of its stream, and lanes that work its batches off."""

import queue
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from infra.local.pump.engine import Place, StreamLostError
from infra.local.pump.lane import GivenUp, Invoked, Lane, Record, failure_message
from infra.local.pump.mapping import Mapping

POLL_SECONDS = 0.2
SHARDS_SECONDS = 5.0
"""How often a stream is asked for new records, and for new shards."""

HELD = 10_000
"""Records that wait in one lane at most; reading stops there until some are worked off."""

MAX_PAYLOAD = 6_000_000
"""Bytes of one invocation (Lambda quota), by the records' own sizes with room for JSON."""


class PumpError(Exception):
    """The pump has ended by itself; the text says why."""


class Io(Protocol):
    """What the pump needs of the engine."""

    def mappings(self) -> list[Mapping]:
        """Every mapping of a stream."""
        ...

    def shards(self, stream: str) -> Iterator[str]:
        """The ids of a stream's shards."""
        ...

    def place(self, stream: str, shard: str, after: str | None) -> Place:
        """A place in a shard."""
        ...

    def records(self, place: Place, stream: str) -> list[Record]:
        """The next records; moves the place."""
        ...

    def invoke(self, function: str, records: Sequence[Record]) -> Invoked:
        """One invocation."""
        ...

    def send(self, queue_arn: str, message: str) -> None:
        """One message."""
        ...


@dataclass(slots=True)
class Counters:
    """What one mapping has done so far."""

    read: int = 0
    filtered: int = 0
    invocations: int = 0
    failed: int = 0
    given_up: int = 0


@dataclass(slots=True)
class _Line:
    """One lane of one shard: what waits in it, and the thread that works it off."""

    shard: str
    waiting: "queue.Queue[Record]" = field(default_factory=lambda: queue.Queue(HELD))


class Pump:
    """Runs until it is stopped. An unexpected error ends it, and `failure` tells."""

    def __init__(self, io: Io, log: Path, *, mappings: Sequence[Mapping] | None = None) -> None:
        self._io = io
        self._log = log
        self._log_lock = threading.Lock()
        self._stop_reading = threading.Event()
        self._end = threading.Event()
        self._threads: list[threading.Thread] = []
        self._readers: list[threading.Thread] = []
        self._lines: list[_Line] = []
        self._mappings = list(io.mappings() if mappings is None else mappings)
        self.counters = {mapping.function: Counters() for mapping in self._mappings}
        self.failure: BaseException | None = None

    # ------------------------------------------------------------------ life

    def start(self) -> None:
        """Begin to read every stream from its beginning: the engine's records do not outlive it."""
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self._log.write_text("")
        for mapping in self._mappings:
            self._readers.append(self._spawn(partial(self._follow, mapping)))

    def stop(self, drain_seconds: float = 5.0) -> None:
        """Work off what is in the streams, for as long as that takes up to the limit, and end."""
        deadline = time.monotonic() + drain_seconds
        self._stop_reading.set()
        while time.monotonic() < deadline and self.failure is None and not self._is_idle():
            time.sleep(0.05)
        self._end.set()
        for thread in self._threads:
            thread.join(max(0.1, deadline + 5 - time.monotonic()))
        for name, counters in self.counters.items():
            self._say(f"{_short(name)} ended", **asdict(counters))

    @contextmanager
    def running(self, drain_seconds: float = 5.0) -> Iterator["Pump"]:
        """Started within, and stopped afterwards."""
        self.start()
        try:
            yield self
        finally:
            self.stop(drain_seconds)

    def check(self) -> None:
        """Raises `PumpError` when it has ended by itself."""
        if self.failure is not None:
            raise PumpError(f"the stream pump ended: {type(self.failure).__name__}: {self.failure}") from self.failure

    def _spawn(self, run: Callable[[], None]) -> threading.Thread:
        def guarded() -> None:
            try:
                run()
            except BaseException as error:  # noqa: BLE001  (whatever it is, it must not end in silence)
                self.failure = error
                self._end.set()

        thread = threading.Thread(target=guarded, daemon=True, name="stream-pump")
        self._threads.append(thread)
        thread.start()
        return thread

    def _is_idle(self) -> bool:
        readers_done = not any(reader.is_alive() for reader in self._readers)
        return readers_done and not any(line.waiting.unfinished_tasks for line in self._lines)

    # ------------------------------------------------------------------ reading

    def _follow(self, mapping: Mapping) -> None:
        places: dict[str, Place] = {}
        lines: dict[str, list[_Line]] = {}
        looked = float("-inf")
        while not self._end.is_set():
            last_round = self._stop_reading.is_set()
            try:
                if time.monotonic() - looked >= SHARDS_SECONDS:
                    self._open_shards(mapping, places, lines)
                    looked = time.monotonic()
                found = sum(self._read(mapping, place, lines) for place in places.values())
            except (ClientError, BotoCoreError) as error:
                self._say(f"{_short(mapping.function)} the engine does not answer", error=type(error).__name__)
                found = 0
            if last_round and not found:
                return
            if not found:
                self._stop_reading.wait(POLL_SECONDS)

    def _open_shards(self, mapping: Mapping, places: dict[str, Place], lines: dict[str, list[_Line]]) -> None:
        for shard in self._io.shards(mapping.stream):
            if shard in places:
                continue
            lines[shard] = [_Line(shard) for _ in range(mapping.lanes)]
            self._lines += lines[shard]
            for line in lines[shard]:
                self._spawn(partial(self._work, mapping, line))
            places[shard] = self._io.place(mapping.stream, shard, None)

    def _read(self, mapping: Mapping, place: Place, lines: dict[str, list[_Line]]) -> int:
        """Read once; how many records there were."""
        if place.iterator is None:
            return 0
        try:
            records = self._io.records(place, mapping.stream)
        except StreamLostError:
            place.iterator = self._io.place(mapping.stream, place.shard, place.last).iterator
            return 0
        counters = self.counters[mapping.function]
        counters.read += len(records)
        for record in records:
            if not mapping.wants(record):
                counters.filtered += 1
                continue
            line = lines[place.shard][_lane_of(record, mapping.lanes)]
            while not self._end.is_set():
                try:
                    line.waiting.put(record, timeout=POLL_SECONDS)
                    break
                except queue.Full:
                    continue
        return len(records)

    # ------------------------------------------------------------------ working

    def _work(self, mapping: Mapping, line: _Line) -> None:
        lane = Lane(
            mapping,
            invoke=lambda records: self._invoke(mapping, records),
            give_up=lambda given_up: self._give_up(mapping, line.shard, given_up),
            wait=lambda seconds: not self._end.wait(seconds),
            now=time.time,
        )
        while not self._end.is_set():
            batch = self._batch(mapping, line)
            if batch:
                lane.work(batch)
            for _ in batch:
                line.waiting.task_done()

    def _batch(self, mapping: Mapping, line: _Line) -> list[Record]:
        """The next batch: full, or what has come within the window."""
        try:
            first = line.waiting.get(timeout=POLL_SECONDS)
        except queue.Empty:
            return []
        batch, size = [first], _size(first)
        closes = time.monotonic() + mapping.window
        while len(batch) < mapping.batch_size and size < MAX_PAYLOAD:
            left = closes - time.monotonic()
            try:
                more = line.waiting.get(block=left > 0 and not self._stop_reading.is_set(), timeout=max(left, 0.001))
            except queue.Empty:
                break
            batch.append(more)
            size += _size(more)
        return batch

    def _invoke(self, mapping: Mapping, records: Sequence[Record]) -> Invoked:
        started = time.monotonic()
        done = self._io.invoke(mapping.function, records)
        counters = self.counters[mapping.function]
        counters.invocations += 1
        counters.failed += done.error is not None
        took = round((time.monotonic() - started) * 1000)
        failures = done.payload.get("batchItemFailures") if isinstance(done.payload, dict) else None
        self._say(
            _short(mapping.function),
            records=len(records),
            ms=took,
            error=done.error,
            failures=len(failures or ()) or None,
        )
        return done

    def _give_up(self, mapping: Mapping, shard: str, given_up: GivenUp) -> None:
        self.counters[mapping.function].given_up += len(given_up.records)
        self._say(f"{_short(mapping.function)} given up", records=len(given_up.records), condition=given_up.condition)
        if mapping.on_failure is not None:
            message = failure_message(given_up, mapping, shard, _timestamp, time.time())
            self._io.send(mapping.on_failure, message)

    def _say(self, what: str, **fields: Any) -> None:
        said = " ".join(f"{name}={value}" for name, value in fields.items() if value is not None)
        with self._log_lock, self._log.open("a", encoding="utf-8") as log:
            log.write(f"{_timestamp(time.time())} {what} {said}\n")


def _lane_of(record: Record, lanes: int) -> int:
    """Records of one item always go through the same lane (as with Lambda: by partition key)."""
    pk = record["dynamodb"].get("Keys", {}).get("pk", {})
    return zlib.crc32(repr(pk).encode()) % lanes


def _size(record: Record) -> int:
    return int(record["dynamodb"].get("SizeBytes", 0)) * 2 + 500


def _short(function_arn: str) -> str:
    return function_arn.rpartition(":")[2]


def _timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
