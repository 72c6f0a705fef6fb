"""Whether an append asks for a pass: the trigger's edges, and what holds it back."""

from typing import Any

import pytest

from tests.support.compacting import POLICY, Stage
from turnlog.compactor import Policies
from turnlog.domain.due import Attempt, DueView, WindowSize
from turnlog.domain.exactjson import JsonObject
from turnlog.domain.session import SessionChanges
from turnlog.stores.memory import InMemorySessionRepository
from turnlog.testing.builders import START
from turnlog.testing.clock import ManualClock

TOKENS = {"trigger": {"type": "token_count", "threshold": 100}, "strategy": {"type": "token_count", "max_tokens": 50}}
ANY = {**POLICY, "trigger": {"type": "any_of", "triggers": [POLICY["trigger"], TOKENS["trigger"]]}}


def due(
    policy: Any, before: WindowSize, after: WindowSize, attempt: Attempt | None = None, *, default: Any = None
) -> bool:
    policies = Policies(ManualClock(), None if default is None else JsonObject.of(default))
    return policies.is_due(DueView(None if policy is None else JsonObject.of(policy), attempt, before, after))


@pytest.mark.parametrize(
    ("policy", "before", "after", "expected"),
    [
        (POLICY, (19, 0), (20, 0), False),
        (POLICY, (20, 0), (21, 0), True),
        (POLICY, (21, 0), (21, 9), False),
        (POLICY, (21, 0), (22, 0), True),
        (TOKENS, (1, 99), (1, 100), True),
        (TOKENS, (1, 100), (1, 120), False),
        (TOKENS, (1, 100), (2, 120), True),
        (TOKENS, (1, 10), (1, 99), False),
        (ANY, (1, 99), (1, 100), True),
        (ANY, (20, 1), (21, 2), True),
        (None, (99, 99), (100, 1000), False),
        ({**POLICY, "trigger": {"type": "never"}}, (99, 99), (100, 1000), False),
    ],
)
def test_a_trigger_asks_when_it_begins_to_fire_and_with_each_new_turn(
    policy: Any, before: tuple[int, int], after: tuple[int, int], expected: bool
) -> None:
    assert due(policy, WindowSize(*before), WindowSize(*after)) is expected


def test_a_session_without_a_policy_has_its_stages() -> None:
    assert due(None, WindowSize(20), WindowSize(21), default=POLICY)
    assert not due({**POLICY, "trigger": {"type": "never"}}, WindowSize(20), WindowSize(21), default=POLICY)


def test_a_policy_that_cannot_be_read_asks_for_nothing() -> None:
    """The port takes any JSON; an append goes on."""
    assert not due({"trigger": "weekly"}, WindowSize(20), WindowSize(21))


@pytest.mark.parametrize(
    ("attempt", "size", "expected"),
    [
        (Attempt(1, "running", START, retry_at=START.plus_seconds(1)), WindowSize(99, 9999), False),
        (Attempt(1, "running", START, retry_at=START), WindowSize(99, 9999), True),
        (Attempt(1, "failed", START, retry_at=START.plus_seconds(1)), WindowSize(99, 9999), False),
        (Attempt(1, "failed", START, retry_at=START), WindowSize(99, 9999), True),
        (Attempt(1, "futile", START, size=WindowSize(30, 1000)), WindowSize(35, 1199), False),
        (Attempt(1, "futile", START, size=WindowSize(30, 1000)), WindowSize(36, 1000), True),
        (Attempt(1, "held", START, size=WindowSize(30, 1000)), WindowSize(31, 9999), False),
        (Attempt(1, "held", START, size=WindowSize(0, 0)), WindowSize(22, 0), True),
    ],
)
def test_an_attempt_holds_the_trigger_back(attempt: Attempt, size: WindowSize, expected: bool) -> None:
    """Running and failed ones by time; those that were of no use until the window has grown by a fifth."""
    assert due(POLICY, WindowSize(21), WindowSize(max(size.turns, 22), size.tokens), attempt) is expected


def test_what_the_trigger_looks_at_has_to_grow() -> None:
    """More turns are of no use to one that counts tokens."""
    futile = Attempt(1, "futile", START, size=WindowSize(1, 1000))
    assert not due(TOKENS, WindowSize(8, 1100), WindowSize(9, 1199), futile)
    assert due(TOKENS, WindowSize(8, 1100), WindowSize(9, 1200), futile)
    assert not due(ANY, WindowSize(8, 1100), WindowSize(20, 1199), futile)
    assert due(ANY, WindowSize(20, 1100), WindowSize(21, 1199), futile)


def test_the_appends_of_a_session_ask_at_turn_21_and_then_each_turn() -> None:
    stage = Stage(InMemorySessionRepository())
    stage.create(POLICY)
    assert stage.turns(1, 23) == [21, 22, 23]
    assert not stage.say("a99"), "within a turn that has asked already"


def test_a_change_of_the_policy_takes_effect_with_the_next_turn() -> None:
    stage = Stage(InMemorySessionRepository())
    stage.create()
    assert stage.turns(1, 30) == []
    changes = SessionChanges(set_compaction=True, compaction=JsonObject.of(POLICY))
    stage.service.update("alice", "s", changes)
    assert stage.turns(31, 31) == [31]
