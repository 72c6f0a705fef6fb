"""Many writers at one log, in virtual time: how many puts they waste, and whether anybody is left out.

The real service, repository and pacing run over a table in memory whose calls take 5 to 15 ms. Nothing here depends on
the machine: a seed decides how long each call and each wait takes, and with that who wins.
"""

import random
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import NoReturn

import pytest

from tests.support.virtual import SlowTable, VirtualTime
from turnlog.domain.event import EventDraft
from turnlog.domain.message import Message
from turnlog.domain.ports import AppendResult
from turnlog.service import SessionService
from turnlog.stores.dynamodb import DynamoDBSessionRepository, Pacing
from turnlog.stores.dynamodb.blobs import S3BlobStore
from turnlog.stores.dynamodb.items import Commit
from turnlog.testing.builders import START
from turnlog.testing.clock import ManualClock

CALL_SECONDS = (0.005, 0.015)
SEEDS = range(20)


@dataclass(frozen=True)
class Outcome:
    """One simulation: what the writers were told, and what it took."""

    results: list[list[AppendResult]]
    wasted: float
    looks: float
    seconds: float
    slowest: float
    log: list[Commit]


def simulate(
    seed: int, writers: int, appends: int, *, created: bool, call_seconds: tuple[float, float] = CALL_SECONDS
) -> Outcome:
    """Let `writers` append `appends` events each, one right after the other, to a session that is `created` or not."""
    time, waits = VirtualTime(), random.Random(f"waits {seed}")
    table = SlowTable(time, f"calls {seed}", call_seconds)
    repository = DynamoDBSessionRepository(
        "t",
        rim=table,
        blobs=S3BlobStore(_no_s3, "none"),
        now=lambda: START,
        pacing=Pacing(sleep=time.sleep, monotonic=time.monotonic, uniform=waits.uniform),
    )
    service = SessionService(repository, clock=ManualClock())
    latencies: list[float] = []

    def append(text: str) -> AppendResult:
        began = time.now
        result = service.append("alice", "s", (EventDraft(Message.user(text)),), create_if_missing=True)
        latencies.append(time.now - began)
        return result

    def write(writer: int) -> list[AppendResult]:
        return [append(f"{writer}-{n}") for n in range(appends)]

    if created:
        time.run([lambda: append("first")])
    looks, puts_refused, began = table.queries, table.refused, time.now
    latencies.clear()
    results = time.run([partial(write, i) for i in range(writers)])
    (pk,) = [pk for pk in table.table.partitions() if "#S#" in pk]
    commits = [Commit.of(item) for key in table.table.keys(pk, "E#", "E#~") if (item := table.table.at(key))]
    total = writers * appends
    return Outcome(
        results,
        wasted=(table.refused - puts_refused) / total,
        looks=(table.queries - looks) / total,
        seconds=time.now - began,
        slowest=max(latencies),
        log=commits,
    )


def _no_s3() -> NoReturn:
    raise AssertionError("no body is large enough for S3 here")


def test_eight_writers_of_fifty_appends_waste_few_puts_and_lose_nothing() -> None:
    outcomes = [simulate(seed, 8, 50, created=True) for seed in SEEDS]
    for outcome in outcomes:
        _check_log(outcome, 1 + 400)
    _report("8 writers x 50", outcomes)
    assert median(o.wasted for o in outcomes) <= 1.5
    assert max(o.slowest for o in outcomes) < 5  # nobody comes near the deadline of ten seconds


def test_twenty_writers_at_a_new_session_make_it_once_and_waste_few_puts() -> None:
    outcomes = [simulate(seed, 20, 1, created=False) for seed in SEEDS]
    for outcome in outcomes:
        _check_log(outcome, 20)
        assert len({r.version.inc for results in outcome.results for r in results}) == 1
    _report("20 writers x 1, new session", outcomes)
    assert median(o.wasted for o in outcomes) <= 1.5


def test_a_network_ten_times_slower_leaves_nobody_out() -> None:
    outcomes = [simulate(seed, 8, 10, created=True, call_seconds=(0.05, 0.15)) for seed in SEEDS]
    for outcome in outcomes:
        _check_log(outcome, 1 + 80)
    _report("8 writers x 10, calls of 50 to 150 ms", outcomes)
    assert median(o.wasted for o in outcomes) <= 2.5
    assert max(o.slowest for o in outcomes) < 8


def test_two_writers_hardly_disturb_each_other() -> None:
    outcomes = [simulate(seed, 2, 50, created=True) for seed in SEEDS]
    for outcome in outcomes:
        _check_log(outcome, 1 + 100)
    _report("2 writers x 50", outcomes)
    assert median(o.wasted for o in outcomes) <= 0.5


def test_the_same_seed_is_the_same_race() -> None:
    first, second = simulate(7, 8, 10, created=True), simulate(7, 8, 10, created=True)
    assert [[r.events for r in rs] for rs in first.results] == [[r.events for r in rs] for rs in second.results]
    assert (first.wasted, first.seconds, first.slowest) == (second.wasted, second.seconds, second.slowest)


def test_an_error_of_a_writer_reaches_the_test() -> None:
    def fail() -> None:
        raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose"):
        VirtualTime().run([fail, lambda: None])


def _check_log(outcome: Outcome, events: int) -> None:
    """The log is gap-free, and each answer names a place of its own, in its writer's order."""
    seqs = [seq for commit in outcome.log for seq in range(commit.first, commit.last + 1)]
    assert seqs == list(range(1, events + 1))
    answered = [[e.seq or 0 for r in results for e in r.events] for results in outcome.results]
    assert all(mine == sorted(mine) for mine in answered)
    flat = [seq for mine in answered for seq in mine]
    assert len(set(flat)) == len(flat) == sum(len(results) for results in outcome.results)


def _report(name: str, outcomes: list[Outcome]) -> None:
    print(
        f"{name}: wasted puts per append {median(o.wasted for o in outcomes):.2f} (worst seed "
        f"{max(o.wasted for o in outcomes):.2f}), looks per append {median(o.looks for o in outcomes):.2f}, "
        f"{median(o.seconds for o in outcomes):.2f} s in all, slowest append {max(o.slowest for o in outcomes):.2f} s"
    )
