"""The policy that a session stores (DESIGN 5)."""

from typing import Any

import pytest

from turnlog.compaction import (
    AnyTrigger,
    CompactionPolicy,
    RecursiveSummarization,
    SlidingWindow,
    TokenCount,
    TokenCountTrigger,
    TurnCountTrigger,
    TurnWindow,
)
from turnlog.domain.errors import InvalidRequest

TURNS = {"type": "turn_count", "max_turns": 20}
SLIDING = {"type": "sliding_window", "max_events": 9}


@pytest.mark.parametrize(
    ("trigger", "made"),
    [
        (TURNS, TurnCountTrigger(20)),
        ({"type": "token_count", "threshold": 5}, TokenCountTrigger(5)),
        ({"type": "any_of", "triggers": [TURNS]}, AnyTrigger((TurnCountTrigger(20),))),
        (
            {"type": "any_of", "triggers": [{"type": "any_of", "triggers": [TURNS]}]},
            AnyTrigger((AnyTrigger((TurnCountTrigger(20),)),)),
        ),
    ],
)
def test_triggers(trigger: Any, made: object) -> None:
    assert made == CompactionPolicy.parse({"trigger": trigger, "strategy": SLIDING}).trigger


@pytest.mark.parametrize(
    ("strategy", "made"),
    [
        (SLIDING, SlidingWindow(9)),
        ({"type": "turn_window", "max_turns": 3}, TurnWindow(3)),
        ({"type": "token_count", "max_tokens": 7}, TokenCount(7)),
        (
            {"type": "recursive_summarization", "max_events_to_keep": 4, "overlap_size": 1, "model": "m"},
            RecursiveSummarization(4, 1, "m"),
        ),
    ],
)
def test_strategies(strategy: Any, made: object) -> None:
    assert made == CompactionPolicy.parse({"trigger": TURNS, "strategy": strategy}).strategy


@pytest.mark.parametrize(
    ("policy", "pointer"),
    [
        ({"strategy": SLIDING}, "/compaction/trigger"),
        ({"trigger": TURNS}, "/compaction/strategy"),
        ({"trigger": TURNS, "strategy": SLIDING, "x": 1}, "/compaction/x"),
        ({"trigger": {"type": "x"}, "strategy": SLIDING}, "/compaction/trigger/type"),
        ({"trigger": {"type": ["turn_count"]}, "strategy": SLIDING}, "/compaction/trigger/type"),
        ({"trigger": {"type": "turn_count"}, "strategy": SLIDING}, "/compaction/trigger/max_turns"),
        ({"trigger": {**TURNS, "max_turns": 0}, "strategy": SLIDING}, "/compaction/trigger/max_turns"),
        ({"trigger": {**TURNS, "max_turns": True}, "strategy": SLIDING}, "/compaction/trigger/max_turns"),
        ({"trigger": {**TURNS, "y": 0}, "strategy": SLIDING}, "/compaction/trigger/y"),
        ({"trigger": {"type": "any_of", "triggers": []}, "strategy": SLIDING}, "/compaction/trigger/triggers"),
        ({"trigger": {"type": "any_of", "triggers": 1}, "strategy": SLIDING}, "/compaction/trigger/triggers"),
        (
            {"trigger": {"type": "any_of", "triggers": [TURNS, {"type": "token_count", "threshold": -1}]},
             "strategy": SLIDING},
            "/compaction/trigger/triggers/1/threshold",
        ),
        (
            {"trigger": TURNS, "strategy": {"type": "recursive_summarization", "max_events_to_keep": 2,
                                            "overlap_size": 2, "model": "m"}},
            "/compaction/strategy/overlap_size",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_pointed_at(policy: Any, pointer: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        CompactionPolicy.parse(policy)
    assert [pointer] == [error.pointer for error in caught.value.errors]
    assert pointer in str(caught.value)
