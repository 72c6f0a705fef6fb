"""Where a pass may cut, whatever the strategy (spec/session 7.5, DESIGN 6 and 7)."""

from typing import Any

import pytest

from tests.support.windows import call, result, window
from turnlog.compaction import SlidingWindow, TokenCount, TurnWindow
from turnlog.compaction.boundary import Boundaries

LATE = ["u1", call("c1", "x"), "a1", "u2", "a2", result("t1", "x"), "u3", "a3"]
WAITING = ["u1", call("c1", "x"), result("t1", "x", "pending"), "u2", "a2", "u3", "a3"]


@pytest.mark.parametrize(
    ("story", "raw", "at", "reason"),
    [
        ("u1 a1 u2 a2", 0, 0, None),
        ("u1 a1 u2 a2", 1, 2, None),
        ("u1 a1 u2 a2", 2, 2, None),
        ("u1 a1 u2 a2", 3, 2, "newest_turn"),
        ("u1 a1 u2 a2", 4, 2, "newest_turn"),
        ("a0 u1 a1", 0, 1, None),
        ("a1 a2", 2, 0, "no_turn"),
        ("a1 a2", 0, 0, None),
        ("", 0, 0, None),
    ],
)
def test_a_raw_cut_moves_to_the_start_of_a_turn_and_never_past_the_newest(
    story: str, raw: int, at: int, reason: str | None
) -> None:
    cut = Boundaries(window(story)).cut(raw)
    assert (at, reason) == (cut.at, cut.reason)


def test_a_call_stays_with_a_result_that_came_turns_later() -> None:
    cut = Boundaries(window(LATE)).cut(3)
    assert (0, "late_result") == (cut.at, cut.reason)


def test_once_the_result_is_before_the_cut_both_go() -> None:
    cut = Boundaries(window(LATE)).cut(6)
    assert (6, None) == (cut.at, cut.reason)


def test_a_call_that_waits_for_a_person_holds_its_turn() -> None:
    story = ["u0", "a0", *WAITING]
    cut = Boundaries(window(story)).cut(7)
    assert (2, "waiting_call") == (cut.at, cut.reason)


def test_a_call_that_waited_and_has_its_result_goes_with_it() -> None:
    story = [*WAITING[:5], result("t9", "x"), "u3", "a3"]
    assert 6 == Boundaries(window(story)).cut(6).at
    assert 0 == Boundaries(window(story)).cut(3).at


def test_an_abandoned_call_holds_nothing_and_is_named() -> None:
    cut = Boundaries(window(["u1", call("c1", "x", "y"), result("t1", "y"), "u2", "a2"])).cut(3)
    assert (3, None, ("x",)) == (cut.at, cut.reason, cut.abandoned_calls)


def test_a_result_belongs_to_the_nearest_call_before_it() -> None:
    """Providers number their calls anew in each turn."""
    story: list[Any] = []
    for turn in "123":
        story += [f"u{turn}", call(f"c{turn}", "call_0"), result(f"t{turn}", "call_0"), f"a{turn}"]
    assert [4, 8] == [Boundaries(window(story)).cut(raw).at for raw in (1, 5)]


def test_moving_back_for_one_call_does_not_tear_another() -> None:
    """x (turn 1) is answered in turn 2; y (turn 2) in turn 3: a cut before turn 3 has to go back twice."""
    story = ["u1", call("c1", "x"), "u2", call("c2", "y"), result("t1", "x"), "u3", result("t2", "y"), "u4"]
    assert 0 == Boundaries(window(story)).cut(5).at


def test_a_result_without_a_call_holds_nothing() -> None:
    assert 2 == Boundaries(window(["u1", result("t1", "x"), "u2", result("t2", "x")])).cut(1).at


def test_the_turn_window_keeps_a_turn_that_answers_a_call_of_the_preamble() -> None:
    """The preamble stays for ever, so the result has to stay with it."""
    story = [call("c0", "x"), "u1", "a1", "u2", result("t2", "x"), "u3", "a3", "u4", "a4"]
    done = TurnWindow(max_turns=1).compact(window(story))
    assert (["u1", "a1"], "late_result") == ([e.id for e in done.archived], done.kept_reason)


def test_in_a_session_all_on_branches_their_user_events_are_the_turns() -> None:
    """DESIGN 6: otherwise it could never be compacted."""
    request = window("u1@b a1@b u2@b a2@b u3@b a3@b")
    assert 3 == request.turn_count
    assert ["u1", "a1", "u2", "a2"] == [e.id for e in TurnWindow(max_turns=1).compact(request).archived]
    assert ["u1", "a1", "u2", "a2"] == [e.id for e in SlidingWindow(max_events=3).compact(request).archived]


def test_one_root_event_makes_branch_events_guests_again() -> None:
    assert 0 == window("u1@b a1@b a2").turn_count


def test_over_budget_says_that_the_newest_turn_alone_is_too_large() -> None:
    done = TokenCount(max_tokens=5).compact(window("u1 a1 u2=0123456789"))
    assert (["u1", "a1"], True, "newest_turn") == (
        [e.id for e in done.archived],
        done.over_budget,
        done.kept_reason,
    )
    assert not TokenCount(max_tokens=500).compact(window("u1 a1")).over_budget
