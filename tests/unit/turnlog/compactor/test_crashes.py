"""A crash, a lost answer or a throttle at each call of a pass leaves the old view or the new one; a retry ends it."""

from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from tests.support.compacting import POLICY, SUMMARY, Jobs, Parts, SomeModel, Stage
from tests.support.scripted.process import (
    CONFLICT,
    CRASH_AFTER,
    CRASH_BEFORE,
    LOST,
    THROTTLED,
    Crash,
    Fault,
    Process,
    World,
)
from turnlog.compactor import SummaryJob
from turnlog.domain.errors import StoreUnavailable
from turnlog.domain.exactjson import JsonObject
from turnlog.domain.session import SessionChanges
from turnlog.stores.dynamodb import keys
from turnlog.stores.dynamodb.items import Head
from turnlog.stores.dynamodb.rim import Item
from turnlog.testing.clock import ManualClock

FAULTS = (CRASH_BEFORE, CRASH_AFTER, LOST, THROTTLED, CONFLICT)
OLD = [f"{kind}{i}" for i in range(1, 22) for kind in "ua"]
SUMMARISING = {**POLICY, "strategy": SUMMARY}


class Scene:
    """A session that asks for a pass, and processes that come and go."""

    def __init__(self, policy: object = None) -> None:
        self.world = World()
        self.clock = ManualClock()
        self.parts = Parts()
        self.model = SomeModel()
        self.jobs = Jobs()
        stage = self.stage(Process(self.world))
        stage.create(policy)
        assert stage.turns(1, 21) == ([] if policy is None else [21])

    def stage(self, process: Process) -> Stage:
        """A stage in a process of its own."""
        return Stage(process.repository, model=self.model, starter=self.jobs, clock=self.clock, parts=self.parts)

    @property
    def fresh(self) -> Stage:
        """One without faults."""
        return self.stage(Process(self.world))


def broken(make: Callable[[], Scene], run: Callable[[Stage], object], fault: Fault) -> Iterator[Scene]:
    """The scene after a run that broke at its first call, at its second, and so on to its last."""
    index = 0
    while True:
        scene = make()
        process = Process(scene.world, {index: [fault]})
        with suppress(Crash, StoreUnavailable):
            run(scene.stage(process))
        if len(process.calls) <= index:
            assert index > 2, "the run makes hardly any call"
            return
        yield scene
        index += 1


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.value)
def test_a_pass_that_a_policy_asked_for(fault: Fault) -> None:
    new = OLD[22:]
    for scene in broken(lambda: Scene(POLICY), lambda stage: stage.compactor.run_due("s"), fault):
        assert scene.fresh.active in (OLD, new)
        scene.fresh.compactor.run_due("s")
        assert scene.fresh.active == new
        assert scene.fresh.repository.version("s") == 43, "one pass, whoever made it"


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.value)
def test_the_start_of_a_summary(fault: Fault) -> None:
    """Claim, then start: what breaks between them is found by the sweep when its lease is over."""
    for scene in broken(lambda: Scene(SUMMARISING), lambda stage: stage.compactor.run_due("s"), fault):
        assert scene.fresh.active == OLD
        scene.clock.advance(20 * 60)
        stage = scene.fresh
        if not scene.jobs.started or stage.summaries.run(scene.jobs.started[-1]).status != "landed":
            stage.compactor.run_due("s")
            assert stage.summaries.run(scene.jobs.started[-1]).status == "landed"
        assert scene.fresh.active[:2] == ["+", "+"]
        assert scene.fresh.repository.version("s") == 43


def _started(scene: Scene) -> SummaryJob:
    scene.fresh.compactor.run_due("s")
    return scene.jobs.started[0]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.value)
def test_the_steps_of_a_summary(fault: Fault) -> None:
    """Load, summarise, commit, in one process that breaks; another one repeats them."""

    def make() -> Scene:
        scene = Scene(SUMMARISING)
        _started(scene)
        return scene

    def run(stage: Stage) -> object:
        return stage.summaries.run(stage.compactor._starter.started[0])  # type: ignore[union-attr]

    for scene in broken(make, run, fault):
        old_or_new = scene.fresh.active
        assert old_or_new == OLD or old_or_new[:2] == ["+", "+"]
        again = scene.fresh.summaries.run(scene.jobs.started[0])
        assert again.status in ("landed", "coalesced")
        assert scene.fresh.active[:2] == ["+", "+"]
        assert scene.fresh.active.count("+") == 2
        assert scene.fresh.repository.version("s") == 43


@pytest.mark.parametrize("fault", [LOST, THROTTLED, CRASH_AFTER, CRASH_BEFORE], ids=lambda fault: fault.value)
def test_a_failure_that_is_to_be_remembered(fault: Fault) -> None:
    def make() -> Scene:
        scene = Scene(SUMMARISING)
        _started(scene)
        return scene

    def run(stage: Stage) -> object:
        return stage.summaries.fail(stage.compactor._starter.started[0], "blank")  # type: ignore[union-attr]

    for index in range(2):
        scene = make()
        with suppress(Crash, StoreUnavailable):
            run(scene.stage(Process(scene.world, {index: [fault]})))
        scene.fresh.summaries.fail(scene.jobs.started[0], "blank")
        session = scene.fresh.repository.find("s")
        assert session is not None
        assert session.attempt is not None
        assert (session.attempt.status, session.attempt.number) == ("failed", 1)


def test_a_policy_that_fires_at_once_marks_the_head_until_a_pass_lands() -> None:
    """The stream's filter looks for the mark; a change of something else leaves it."""
    scene = Scene()
    stage = scene.fresh
    changes = SessionChanges(set_compaction=True, compaction=JsonObject.of(POLICY))
    stage.service.update("alice", "s", changes)
    assert _head(scene)["due"] is True
    stage.service.update("alice", "s", SessionChanges(metadata=JsonObject.of({"a": 1})))
    assert _head(scene)["due"] is True
    stage.compactor.run_due("s")
    assert "due" not in _head(scene)
    assert Head.of(_head(scene), "s").generation == 1


def _head(scene: Scene) -> Item:
    found = scene.world.table.at((keys.session_pk("acme", "s"), keys.HEAD))
    assert found is not None
    return found
