"""The pump over a stream in memory: what is read, in which order, by how many lanes, and what an end leaves behind."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from infra.local.pump import Invoked, Mapping, Pattern, Pump, PumpError
from infra.local.pump.engine import Place, StreamLostError, as_delivered, plain
from infra.local.pump.lane import Record

WAIT = 20.0
"""Seconds after which a test has failed; none of them takes a tenth of it."""


def record(number: int, pk: str = "p", **more: Any) -> Record:
    inner = {"SequenceNumber": str(number), "ApproximateCreationDateTime": 4e9, "Keys": {"pk": {"S": pk}}}
    return {**more, "dynamodb": inner}


class Engine:
    """Streams of some shards, whose function does as it is told; `reached` waits for a number of records."""

    def __init__(self, shards: dict[str, list[Record]], function: Callable[[Sequence[Record]], Invoked]) -> None:
        self.content = shards
        self.done: list[tuple[str, list[int]]] = []
        self.sent: list[tuple[str, Any]] = []
        self.faults: list[Exception] = []
        self.closed: set[str] = set()
        self._function = function
        self._changed = threading.Condition()

    def mappings(self) -> list[Mapping]:
        return []

    def shards(self, stream: str) -> Iterator[str]:
        yield from list(self.content)

    def place(self, stream: str, shard: str, after: str | None) -> Place:
        at = [one["dynamodb"]["SequenceNumber"] for one in self.content[shard]]
        return Place(shard, str(0 if after is None else at.index(after) + 1), after)

    def records(self, place: Place, stream: str) -> list[Record]:
        if self.faults:
            raise self.faults.pop()
        assert place.iterator is not None
        found = self.content[place.shard][int(place.iterator) :][:3]
        is_end = not found and place.shard in self.closed
        place.iterator = None if is_end else str(int(place.iterator) + len(found))
        if found:
            place.last = found[-1]["dynamodb"]["SequenceNumber"]
        return found

    def invoke(self, function: str, records: Sequence[Record]) -> Invoked:
        answer = self._function(records)
        with self._changed:
            if answer.error is None:
                self.done.append((function, [int(one["dynamodb"]["SequenceNumber"]) for one in records]))
            self._changed.notify_all()
        return answer

    def send(self, queue_arn: str, message: str) -> None:
        with self._changed:
            self.sent.append((queue_arn, json.loads(message)))
            self._changed.notify_all()

    def reached(self, count: int, sent: int = 0) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: len(self.numbers) >= count and len(self.sent) >= sent, WAIT)

    @property
    def numbers(self) -> list[int]:
        return [number for _, batch in self.done for number in batch]


def fine(records: Sequence[Record]) -> Invoked:
    return Invoked()


def mapping(**settings: Any) -> Mapping:
    return Mapping("stream", "arn:function", **{"retries": 0, **settings})


def test_what_is_there_and_what_comes_is_delivered_once_and_in_order(tmp_path: Path) -> None:
    """From the beginning of the stream, over a place that was lost and an engine that did not answer."""
    engine = Engine({"a": [record(n) for n in range(10)]}, fine)
    engine.faults += [StreamLostError(), EndpointConnectionError(endpoint_url="http://127.0.0.1")]
    pump = Pump(engine, tmp_path / "logs" / "pump.log", mappings=[mapping(batch_size=4)])
    with pump.running():
        assert engine.reached(10)
        engine.content["a"] += [record(n) for n in range(10, 13)]
        assert engine.reached(13)
        pump.check()

    assert list(range(13)) == engine.numbers
    assert max(len(batch) for _, batch in engine.done) <= 4
    counted = pump.counters["arn:function"]
    assert (13, 0, len(engine.done), 0, 0) == (
        counted.read,
        counted.filtered,
        counted.invocations,
        counted.failed,
        counted.given_up,
    )
    log = (tmp_path / "logs" / "pump.log").read_text()
    assert "the engine does not answer error=EndpointConnectionError" in log
    assert "function ended read=13 filtered=0" in log


def test_filtered_records_cost_no_invocation(tmp_path: Path) -> None:
    """They are read and counted."""
    records = [record(n, eventName="INSERT" if n == 5 else "MODIFY") for n in range(8)]
    engine = Engine({"a": records}, fine)
    wants = mapping(patterns=(Pattern.parse('{"eventName": ["INSERT"]}'),))
    pump = Pump(engine, tmp_path / "log", mappings=[wants])
    with pump.running():
        assert engine.reached(1)

    counted = pump.counters["arn:function"]
    assert ([("arn:function", [5])], 8, 7, 1) == (engine.done, counted.read, counted.filtered, counted.invocations)


def test_records_of_one_partition_stay_in_order_while_another_one_is_held_up(tmp_path: Path) -> None:
    """Lanes are by partition key: a slow session holds up its lane, not all of them."""
    release = threading.Event()

    def function(records: Sequence[Record]) -> Invoked:
        if any(one["dynamodb"]["Keys"]["pk"]["S"] == "slow" for one in records):
            assert release.wait(WAIT)
        return Invoked()

    others = [f"quick-{n}" for n in range(8)]
    records = [record(0, "slow"), record(1, "slow"), *[record(n + 2, name) for n, name in enumerate(others)]]
    engine = Engine({"a": records}, function)
    pump = Pump(engine, tmp_path / "log", mappings=[mapping(batch_size=1, lanes=4)])
    with pump.running():
        assert engine.reached(1)
        assert not {0, 1} & set(engine.numbers)
        release.set()
        assert engine.reached(10)

    assert engine.numbers.index(0) < engine.numbers.index(1)
    assert set(range(10)) == set(engine.numbers)


def test_two_mappings_and_new_shards_each_get_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that fails takes nothing from another; a shard that was closed is read to its end."""
    monkeypatch.setattr("infra.local.pump.pump.SHARDS_SECONDS", 0.01)
    engine = Engine({"a": [record(1)]}, fine)
    engine.closed.add("a")
    both = [Mapping("stream", "arn:one"), Mapping("stream", "arn:two")]
    pump = Pump(engine, tmp_path / "log", mappings=both)
    with pump.running():
        assert engine.reached(2)
        engine.content["b"] = [record(2)]
        assert engine.reached(4)

    for name in ("arn:one", "arn:two"):
        assert [1, 2] == [number for function, batch in engine.done for number in batch if function == name]


def test_poison_goes_to_the_queue_and_the_rest_goes_on(tmp_path: Path) -> None:
    """One message for one record; without a queue it is counted and told."""

    def function(records: Sequence[Record]) -> Invoked:
        is_bad = any(one["dynamodb"]["SequenceNumber"] == "3" for one in records)
        return Invoked(error="Unhandled" if is_bad else None)

    engine = Engine({"a": [record(n) for n in range(6)]}, function)
    settings = mapping(bisects=True, on_failure="arn:queue")
    pump = Pump(engine, tmp_path / "log", mappings=[settings])
    with pump.running():
        assert engine.reached(5, sent=1)

    assert [0, 1, 2, 4, 5] == engine.numbers
    ((queue, message),) = engine.sent
    info = message["DDBStreamBatchInfo"]
    assert ("arn:queue", "3", "3", "a") == (
        queue,
        info["startSequenceNumber"],
        info["endSequenceNumber"],
        info["shardId"],
    )
    assert 1 == pump.counters["arn:function"].given_up
    assert "given up records=1 condition=RetryAttemptsExhausted" in (tmp_path / "log").read_text()


def test_stopping_works_off_what_is_in_the_stream(tmp_path: Path) -> None:
    """Also what waits for its batch's window to close."""
    engine = Engine({"a": [record(n) for n in range(50)]}, fine)
    pump = Pump(engine, tmp_path / "log", mappings=[mapping(window=300, batch_size=7)])
    pump.start()
    pump.stop(WAIT)

    assert list(range(50)) == engine.numbers


def test_a_fault_of_the_pump_ends_it_aloud(tmp_path: Path) -> None:
    """It is not swallowed by its thread."""
    engine = Engine({"a": [record(1)]}, fine)
    engine.faults.append(KeyError("what"))
    pump = Pump(engine, tmp_path / "log", mappings=[mapping()])
    pump.start()
    for thread in threading.enumerate():
        if thread.name == "stream-pump":
            thread.join(WAIT)
    with pytest.raises(PumpError, match="KeyError"):
        pump.check()
    pump.stop(0)


def test_a_record_has_lambdas_form() -> None:
    """The moment in seconds, the stream's ARN, bytes as base64; what cannot be JSON is an error."""
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    told = as_delivered({"eventName": "INSERT", "dynamodb": {"ApproximateCreationDateTime": moment}}, "arn:stream")
    assert {
        "eventName": "INSERT",
        "eventSourceARN": "arn:stream",
        "dynamodb": {"ApproximateCreationDateTime": moment.timestamp()},
    } == told
    assert '{"b": "AP8="}' == json.dumps({"b": b"\x00\xff"}, default=plain)
    with pytest.raises(TypeError, match="set is not JSON"):
        json.dumps({"b": {1}}, default=plain)
