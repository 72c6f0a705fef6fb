"""Each way to write, broken at each of its calls in turn, then tried again by another process.

The calls are enumerated: the index goes up until the operation is done without reaching it.
"""

from collections.abc import Iterator

import pytest

from tests.support.scripted.operations import Act, Actor, Append, Create, Delete, Meanwhile, Operation, Planned
from tests.support.scripted.process import Fault, Stale
from tests.support.scripted.scenarios import FAULTS, IDS, READS, RIVALS, SCENARIOS, Scenario
from tests.support.scripted.small import small_limits

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def _small() -> Iterator[None]:
    with small_limits():
        yield


def played(scenario: Scenario, planned: list[Planned]) -> Iterator[Actor]:
    """The scenario with the plan at its first call, at its second, and so on to its last."""
    index = 0
    while True:
        actor, calls = scenario.play({index: planned})
        if index >= calls:
            assert index > 0, "the operation makes no call at all"
            return
        actor.ledger.settle()
        yield actor
        index += 1


def go_on(actor: Actor, *operations: Operation) -> None:
    """Another process goes on, and after each step everything is as it should be."""
    for operation in operations:
        actor.act(Act(operation, process=0))
        actor.ledger.settle()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.value)
@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_a_write_that_breaks_at_any_call_is_completed_by_a_retry(scenario: Scenario, fault: Fault) -> None:
    """Crash before, crash after, lost answer, throttling, conflict; then the same again, and what may follow."""
    for actor in played(scenario, [fault]):
        go_on(actor, scenario.again, Append(IDS), Delete(), Create("bob"), Append(IDS, user="bob"))


@pytest.mark.parametrize("fault", [Fault.CRASH_BEFORE, Fault.CRASH_AFTER], ids=lambda fault: fault.value)
@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_what_a_crash_left_behind_does_not_hinder_the_next_life(scenario: Scenario, fault: Fault) -> None:
    """A delete, a new life and its first events right after the crash, without a retry between."""
    for actor in played(scenario, [fault]):
        go_on(actor, Delete(), Append(IDS, create=True), scenario.again, Delete(), Delete(), Create())


@pytest.mark.parametrize("rival", RIVALS.values(), ids=RIVALS)
@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_a_write_keeps_its_word_whoever_comes_between_its_calls(
    scenario: Scenario, rival: tuple[Operation, ...]
) -> None:
    """A lost race at every call, and a query that is torn by it."""
    for plan in (_meanwhile(rival, None), _meanwhile(rival, 1)):
        for actor in played(scenario, plan):
            go_on(actor, scenario.again, Append(IDS))


@pytest.mark.parametrize("rival", RIVALS.values(), ids=RIVALS)
@pytest.mark.parametrize("scenario", READS.values(), ids=READS)
def test_a_read_shows_one_state_whoever_comes_between_its_calls(
    scenario: Scenario, rival: tuple[Operation, ...]
) -> None:
    """Torn at every place, stale at every age: never a gap, never an old life, never less than was answered."""
    for plan in [_meanwhile(rival, split) for split in (None, *range(6))]:
        for actor in played(scenario, plan):
            go_on(actor, scenario.again)


@pytest.mark.parametrize("lags", [(1,), (2,), (5,), (99,), (0, 3), (4, 0), (99, 0), (0, 99)], ids=str)
@pytest.mark.parametrize("scenario", [*SCENARIOS.values(), *READS.values()], ids=[*SCENARIOS, *READS])
def test_an_old_read_never_becomes_an_answer(scenario: Scenario, lags: tuple[int, ...]) -> None:
    """Head and tail of different ages, in both orders."""
    for actor in played(scenario, [Stale(lags)]):
        go_on(actor, scenario.again, Append(IDS))


def _meanwhile(rival: tuple[Operation, ...], split: int | None) -> list[Planned]:
    first, *rest = rival
    return [*(Meanwhile(Act(operation)) for operation in (first, *rest[:-1]) if rest), Meanwhile(Act(rival[-1]), split)]
