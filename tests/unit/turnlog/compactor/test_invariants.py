"""What holds whatever is said, compacted and undone, on both stores (spec 7; DESIGN 4, "Pass")."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.compacting import Stage
from tests.support.scripted.process import Process, World
from tests.unit.turnlog.compaction.test_invariants import STEPS as SAID
from tests.unit.turnlog.compaction.test_invariants import Talk, _check
from turnlog.compactor import CompactCommand
from turnlog.domain.exactjson import JsonObject
from turnlog.domain.ports import SessionRepository
from turnlog.stores.memory import InMemorySessionRepository
from turnlog.testing.builders import a_session, tell

STRATEGIES: dict[str, Callable[[int], Any]] = {
    "sliding": lambda n: {"type": "sliding_window", "max_events": n},
    "turns": lambda n: {"type": "turn_window", "max_turns": n},
    "tokens": lambda n: {"type": "token_count", "max_tokens": 3 * n},
    "summary": lambda n: {
        "type": "recursive_summarization",
        "max_events_to_keep": n,
        "overlap_size": 0,
        "model": "some",
    },
}
STEPS = st.one_of(SAID, st.just(("undo",)))
MAKE: dict[str, Callable[[], SessionRepository]] = {
    "memory": InMemorySessionRepository,
    "table": lambda: Process(World()).repository,
}


def seen(repository: SessionRepository) -> tuple[list[str], object, object]:
    """All that an undo restores."""
    window = repository.window("s")
    assert window is not None
    return [event.id for event in window.events], window.size, window.archive


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_passes_and_undos_only_move_the_boundary(make: Callable[[], SessionRepository]) -> None:
    """The log stays whole and in order; the newest turn stays; calls stay with their results; active and
    archived are everything; a second pass finds nothing; an undo restores exactly what was there."""

    @settings(max_examples=300, deadline=None)
    @given(st.lists(STEPS, max_size=40))
    def holds(steps: list[tuple[Any, ...]]) -> None:
        stage = Stage(make())
        repository = stage.repository
        repository.create(a_session(), now=stage.clock.now())
        talk, told = Talk(), list[str]()
        before_newest: list[tuple[str, Any]] = []
        for step in steps:
            if step[0] == "say":
                event = talk.say(step[1], step[2])
                tell(repository, [event])
                told.append(event["id"] if isinstance(event, dict) else event.split("@")[0])
                before_newest = []
            elif step[0] == "undo":
                _undo(stage, before_newest)
            else:
                _compact(stage, STRATEGIES[step[1]](step[2]), told, before_newest)

    holds()


def _undo(stage: Stage, before_newest: list[tuple[str, Any]]) -> None:
    if not before_newest:
        return
    pass_id, before = before_newest.pop()
    now = seen(stage.repository)
    _, undone = stage.compactor.undo("alice", "s", pass_id)
    assert seen(stage.repository) == before
    stage.compactor.undo("alice", "s", undone.id)
    assert seen(stage.repository) == now, "an undo of an undo is a redo"
    before_newest.clear()


def _compact(stage: Stage, strategy: Any, told: list[str], before_newest: list[tuple[str, Any]]) -> None:
    repository = stage.repository
    before, state = repository.read("s"), seen(repository)
    command = CompactCommand(strategy=JsonObject.of(strategy), force=True)
    answer = stage.compactor.compact("alice", "s", command)
    log = repository.read("s")
    if answer.status == "compacted":
        assert answer.id is not None
        before_newest.append((answer.id, state))
        _check(before, log, told)
    else:
        assert answer.status == "nothing_to_do"
        assert [(e.id, e.archived) for e in log] == [(e.id, e.archived) for e in before]
    window = {event.id for event in log if not event.archived}
    assert window | {event.id for event in log if event.archived} == {event.id for event in log}
    assert stage.compactor.compact("alice", "s", command).status == "nothing_to_do"
