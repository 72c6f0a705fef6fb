"""Many at once: calls of all interleave, as on a real table, in virtual time and repeatable by seed.

The histories of test_model.py let a rival run to its end between two calls. Here nobody does: each
call takes a few milliseconds, and whoever is next goes on. A few calls are lost or refused besides.
"""

import random
from collections.abc import Iterator
from functools import partial

import pytest

from tests.support.scripted.ledger import Ledger
from tests.support.scripted.operations import (
    Act,
    Actor,
    Append,
    Compact,
    Create,
    Delete,
    Operation,
    Patch,
    Planned,
    ReadWindow,
    Resend,
    ReuseKey,
    Walk,
)
from tests.support.scripted.process import Fault, Stale, World
from tests.support.scripted.small import small_limits
from tests.support.virtual import VirtualTime

SEEDS = 250
USERS = 4
APPENDS: list[Operation] = [Append((("id", 0),)), Append((("new", 0), ("id", 0), ("old", 3)), create=True)]
OPERATIONS: list[Operation] = [
    *APPENDS * 3,
    Append((("id", 0), ("id", 0), ("id", 0), ("twin", 0)), key=True),
    Append((("new", 0),), match="current"),
    Append((("big", 0), ("altered", 1)), create=True),
    Append((("id", 0),), user="bob", create=True),
    *(Resend(0), Resend(-1), Resend(5)),
    *(Compact(1), Compact(3, scattered=True), Compact(9, summary=False)),
    *(Delete(), Create(), Create("bob"), Delete("bob"), ReuseKey(1), Patch(guarded=True)),
    *(ReadWindow(), ReadWindow(min_version=True), Walk(hint=1), Walk("desc")),
]
FAULTS: list[Planned] = [*Fault, Fault.LOST, Stale((1,)), Stale((9, 0)), Stale((0, 20, 3))]


class BusyWorld(World):
    """A world in which every call lets the others go on."""

    def __init__(self, time: VirtualTime, latency: random.Random) -> None:
        self._time = time
        self._latency = latency
        super().__init__(page_rows=3)

    @property
    def seconds(self) -> float:
        """The virtual time."""
        return self._time.now

    @seconds.setter
    def seconds(self, value: float) -> None:
        assert value == 0, "only sleeping moves the time"

    def sleep(self, seconds: float) -> None:
        """Every call takes between a millisecond and ten."""
        self._time.sleep(seconds * self._latency.uniform(0.2, 2))


@pytest.fixture(autouse=True, scope="module")
def _small() -> Iterator[None]:
    with small_limits():
        yield


def run(seed: int, users: int = USERS) -> Ledger:
    """Some users, each with a few operations, all at once; then everything is held against the table."""
    chance, time = random.Random(seed), VirtualTime()
    ledger = Ledger(BusyWorld(time, random.Random(seed)))
    actors = [Actor(ledger, name=f"{name}-") for name in "abcdefgh"[:users]]

    def script() -> dict[int, list[Planned]]:
        return {chance.randrange(8): [chance.choice(FAULTS)] for _ in range(chance.randrange(2))}

    plans = [[Act(chance.choice(OPERATIONS), script()) for _ in range(chance.randrange(3, 8))] for _ in actors]

    def work(actor: Actor, plan: list[Act]) -> None:
        for act in plan:
            actor.act(act)

    time.run([partial(work, Actor(ledger, name="first-"), [Act(Create())])])
    time.run([partial(work, actor, plan) for actor, plan in zip(actors, plans, strict=True)])
    time.run([ledger.settle])
    return ledger


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_whatever_was_answered_holds_however_calls_interleave(block: int) -> None:
    """Seeded; a failure names its seed."""
    for seed in range(block * SEEDS // 10, (block + 1) * SEEDS // 10):
        try:
            run(seed)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error


def test_the_histories_are_worth_it() -> None:
    """They make new lives, win and lose slots, fold and compact."""
    ledgers = [run(seed) for seed in range(20)]
    lives = [life for ledger in ledgers for life in ledger.lives().values()]
    commits = [commit for life in lives for _, commit in life.commits]
    assert len(lives) > 25
    assert sum(bool(life.passes) for life in lives) > 5
    assert sum(commit.fold > 0 for commit in commits) > 5
    assert sum(len(ledger.appended) for ledger in ledgers) > 100
