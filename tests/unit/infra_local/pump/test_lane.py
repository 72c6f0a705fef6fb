"""What a lane does with failures: halving, partial failures, retries, age, and what it gives up."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.local.pump import Invoked, Lane, Mapping
from infra.local.pump.lane import FIRST_WAIT, LONGEST_WAIT, GivenUp, Record, failure_message

NOW = 1_000_000.0

Function = Callable[[list[int]], Invoked]


def mapping(**settings: Any) -> Mapping:
    return Mapping("stream", "function", **{"retries": 2, **settings})


def record(number: int, arrived: float = NOW) -> Record:
    return {"dynamodb": {"SequenceNumber": str(number), "ApproximateCreationDateTime": arrived}}


def numbers(records: Sequence[Record]) -> list[int]:
    return [int(one["dynamodb"]["SequenceNumber"]) for one in records]


class Bench:
    """A lane whose function, clock and queue the test has in hand."""

    def __init__(self, mapping: Mapping, function: Function, *, waits_granted: int = 1000) -> None:
        self.invocations: list[list[int]] = []
        self.waits: list[float] = []
        self.lost: list[GivenUp] = []
        self.now = NOW
        self._function = function
        self._granted = waits_granted
        self.lane = Lane(mapping, invoke=self._invoke, give_up=self.lost.append, wait=self._wait, now=lambda: self.now)

    def work(self, *numbered: int) -> bool:
        return self.lane.work([record(number) for number in numbered])

    def told(self) -> list[tuple[list[int], str, int]]:
        """What was given up."""
        return [(numbers(one.records), one.condition, one.invocations) for one in self.lost]

    def _invoke(self, records: Sequence[Record]) -> Invoked:
        self.invocations.append(numbers(records))
        return self._function(self.invocations[-1])

    def _wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        self.now += seconds
        return len(self.waits) <= self._granted


def failing(*numbered: int | str) -> Invoked:
    """A report of failed records."""
    return Invoked({"batchItemFailures": [{"itemIdentifier": str(number)} for number in numbered]})


def poisoned(*bad: int) -> Function:
    """A function that ends with an error when one of these is in the batch."""
    return lambda batch: Invoked(error="Unhandled") if set(bad) & set(batch) else Invoked()


def test_a_batch_that_is_fine_is_asked_for_once() -> None:
    """Nothing waits, nothing is given up."""
    bench = Bench(mapping(), lambda batch: Invoked())

    assert bench.work(1, 2, 3)
    assert ([[1, 2, 3]], [], []) == (bench.invocations, bench.waits, bench.lost)


def test_an_error_is_tried_again_with_growing_waits_and_then_given_up() -> None:
    """As often as the mapping says, and the lane goes on afterwards."""
    bench = Bench(mapping(retries=7), poisoned(2))

    assert bench.work(1, 2)
    assert [[1, 2]] * 8 == bench.invocations
    assert [([1, 2], "RetryAttemptsExhausted", 8)] == bench.told()
    assert [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 10.0] == bench.waits
    assert (FIRST_WAIT, LONGEST_WAIT) == (bench.waits[0], bench.waits[-1])
    assert bench.work(3)


def test_bisecting_leaves_only_the_poison_behind() -> None:
    """Halves are tried in order; halving costs no retry."""
    bench = Bench(mapping(bisects=True), poisoned(3))

    assert bench.work(1, 2, 3, 4)
    assert [[1, 2, 3, 4], [1, 2], [3, 4], [3], [3], [3], [4]] == bench.invocations
    assert [([3], "RetryAttemptsExhausted", 3)] == bench.told()


def test_a_report_brings_back_everything_from_the_first_failure_on() -> None:
    """What stands before it is done."""
    answers = iter([failing(4, 2), Invoked()])
    bench = Bench(mapping(reports_items=True), lambda batch: next(answers))

    assert bench.work(1, 2, 3, 4)
    assert ([[1, 2, 3, 4], [2, 3, 4]], []) == (bench.invocations, bench.lost)


@pytest.mark.parametrize(
    "answer",
    [
        failing("unknown"),
        failing(2, ""),
        Invoked({"batchItemFailures": [{"itemIdentifier": None}]}),
        Invoked({"batchItemFailures": ["2"]}),
        Invoked({"batchItemFailures": [{}]}),
        Invoked({"batchItemFailures": "2"}),
        Invoked("no report"),
        Invoked([]),
    ],
)
def test_a_report_that_names_no_record_of_the_batch_fails_all_of_it(answer: Invoked) -> None:
    """Better twice than never."""
    answers = iter([answer, Invoked()])
    bench = Bench(mapping(reports_items=True), lambda batch: next(answers))

    assert bench.work(1, 2)
    assert [[1, 2], [1, 2]] == bench.invocations


@pytest.mark.parametrize(
    "payload", [None, {}, {"batchItemFailures": None}, {"batchItemFailures": []}, {"other": 1}], ids=str
)
def test_an_answer_without_failures_is_success(payload: Any) -> None:
    """Null and empty reports included."""
    bench = Bench(mapping(reports_items=True), lambda batch: Invoked(payload))

    assert bench.work(1, 2)
    assert ([[1, 2]], []) == (bench.invocations, bench.lost)


def test_without_the_response_type_a_report_means_nothing() -> None:
    """It is the mapping's setting that counts."""
    bench = Bench(mapping(reports_items=False), lambda batch: failing(*batch))

    assert bench.work(1, 2)
    assert [[1, 2]] == bench.invocations


def test_records_that_are_too_old_are_given_up_alone() -> None:
    """Before the function sees them; the younger ones of the batch go on."""
    bench = Bench(mapping(max_age=60), lambda batch: Invoked())

    assert bench.lane.work([record(1, NOW - 61), record(2, NOW - 60), record(3, NOW)])
    assert [[2, 3]] == bench.invocations
    assert [([1], "RecordAgeExceeded", 0)] == bench.told()


def test_a_record_that_is_tried_for_ever_ends_by_its_age() -> None:
    """Endless retries and an age together are an end."""
    bench = Bench(mapping(retries=-1, max_age=30), poisoned(1))

    assert bench.work(1)
    assert [("RecordAgeExceeded", len(bench.invocations))] == [(one.condition, one.invocations) for one in bench.lost]
    assert bench.now - NOW > 30


def test_an_end_during_a_wait_gives_nothing_up() -> None:
    """Who stops the pump loses no record to the queue."""
    bench = Bench(mapping(), poisoned(1), waits_granted=0)

    assert not bench.work(1)
    assert ([[1]], []) == (bench.invocations, bench.lost)


def test_the_message_is_lambdas() -> None:
    """It names the first and the last record, and holds none."""
    lost = GivenUp([record(7, 1.0), record(9, 2.0)], "RetryAttemptsExhausted", 3, "Unhandled", "request")
    told = json.loads(failure_message(lost, mapping(), "shard", lambda seconds: f"at {seconds}", 5.0))

    assert {
        "requestContext": {
            "requestId": "request",
            "functionArn": "function",
            "condition": "RetryAttemptsExhausted",
            "approximateInvokeCount": 3,
        },
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
        "version": "1.0",
        "timestamp": "at 5.0",
        "DDBStreamBatchInfo": {
            "shardId": "shard",
            "startSequenceNumber": "7",
            "endSequenceNumber": "9",
            "approximateArrivalOfFirstRecord": "at 1.0",
            "approximateArrivalOfLastRecord": "at 2.0",
            "batchSize": 2,
            "streamArn": "stream",
        },
    } == told
    silent = GivenUp(lost.records, lost.condition, 3, None, "request")
    assert "functionError" not in json.loads(failure_message(silent, mapping(), "s", str, 0.0))["responseContext"]


@given(
    size=st.integers(1, 24),
    bad=st.sets(st.integers(0, 23)),
    bisects=st.booleans(),
    reports=st.booleans(),
    retries=st.integers(0, 3),
    flaky=st.sets(st.integers(0, 12)),
)
def test_every_record_is_worked_off_or_given_up_once(
    *, size: int, bad: set[int], bisects: bool, reports: bool, retries: int, flaky: set[int]
) -> None:
    """Whatever fails and however often: none is lost, none is both, and where the worker is sound no good record goes
    down with a bad one."""
    done: set[int] = set()
    calls = 0

    def function(batch: list[int]) -> Invoked:
        nonlocal calls
        calls += 1
        if calls in flaky:
            return Invoked(error="Unhandled")
        failed = [number for number in batch if number in bad]
        if not reports and failed:
            return Invoked(error="Unhandled")
        upto = batch.index(failed[0]) if failed else len(batch)
        done.update(batch[:upto])
        return failing(*failed)

    bench = Bench(mapping(bisects=bisects, reports_items=reports, retries=retries), function)
    assert bench.work(*range(size))

    lost = [number for one in bench.lost for number in numbers(one.records)]
    assert len(lost) == len(set(lost))
    assert done.isdisjoint(lost)
    assert set(range(size)) == done | set(lost)
    if bisects and not reports and not flaky:
        assert set(lost) == bad & set(range(size))
