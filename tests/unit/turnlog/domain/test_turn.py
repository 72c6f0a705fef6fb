"""Turns: from one real user event on the root to the next (spec/session 7.2)."""

import pytest

from turnlog.domain.event import SessionEvent
from turnlog.domain.turn import split_turns
from turnlog.testing.builders import START, history


@pytest.mark.parametrize(
    ("story", "preamble", "turns"),
    [
        ("", "", []),
        ("s1 a0", "s1 a0", []),
        ("u1 a1", "", ["u1 a1"]),
        ("s1 u1 c1 t1 a1 u2 u3 a3", "s1", ["u1 c1 t1 a1", "u2", "u3 a3"]),
        ("~u:p ~a:s u1 ~u:q a1", "~u:p ~a:s", ["u1 ~u:q a1"]),
        ("u1 u2@b a2@b a1", "", ["u1 u2 a2 a1"]),
        ("u1@b a1@b", "", ["u1 a1"]),
        ("a1@b u1@b a2@c u2@c", "a1", ["u1 a2", "u2"]),
    ],
)
def test_a_log_is_a_preamble_and_turns(story: str, preamble: str, turns: list[str]) -> None:
    events = [SessionEvent(e.id, "s", e.draft.message, START, e.draft.branch, e.draft.metadata) for e in history(story)]
    before, found = split_turns(events)
    assert [event.id for event in before] == preamble.split()
    assert [" ".join(event.id for event in turn.events) for turn in found] == turns
