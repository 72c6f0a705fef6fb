"""Histories in a few words become the events that they say."""

import pytest

from turnlog.domain.exactjson import EMPTY, JsonObject
from turnlog.domain.message import ToolCall, ToolResult
from turnlog.stores.memory import InMemorySessionRepository
from turnlog.testing.builders import START, a_session, drafts, history, message, outline, scripted, tell
from turnlog.testing.clock import ManualClock


def test_a_history_is_stamped_second_by_second() -> None:
    assert [e.draft.timestamp for e in history("u1 a1 u2")] == [START.plus_seconds(i) for i in range(3)]
    assert [draft.id for draft in drafts("u1 a1")] == ["u1", "a1"]


@pytest.mark.parametrize(
    ("token", "id", "role", "text", "branch", "synthetic", "archived"),
    [
        ("u1", "u1", "user", "u1", None, False, False),
        ("-u1", "u1", "user", "u1", None, False, True),
        ("~a:sum", "~a:sum", "assistant", "a:sum", None, True, False),
        ("-~u:sum@b=What? Yes = no", "~u:sum", "user", "What? Yes = no", "b", True, True),
        ("a1=", "a1", "assistant", "", None, False, False),
        ("s1@x.y=mail a@b.c", "s1", "system", "mail a@b.c", "x.y", False, False),
        ("u1=two\nlines", "u1", "user", "two\nlines", None, False, False),
        ("c1", "c1", "assistant", None, None, False, False),
        ("c1=look", "c1", "assistant", "look", None, False, False),
        ("t1", "t1", "tool", "", None, False, False),
    ],
)
def test_a_token_says_everything_about_an_event(
    token: str, id: str, role: str, text: str | None, branch: str | None, synthetic: bool, archived: bool
) -> None:
    event = scripted(token)
    assert (event.id, event.draft.message.role, event.draft.message.text) == (id, role, text)
    assert (event.draft.branch, event.archived) == (branch, archived)
    assert event.draft.metadata == (JsonObject.of({"synthetic": True}) if synthetic else EMPTY)


def test_a_call_and_its_answer_belong_together() -> None:
    assert message("c7").tool_calls == (ToolCall("call-7", "tool", "{}"),)
    assert message("t7").tool_results == (ToolResult("call-7", "tool", "ok", "ok"),)


def test_an_event_may_be_spelled_out() -> None:
    event = scripted(
        {
            "id": "x",
            "type": "assistant",
            "text": "look",
            "ts": "2026-05-05T05:05:05Z",
            "tool_calls": [{"id": "k", "name": "n", "arguments": '{"a":1}'}],
            "media": [{"mime": "image/png", "url": "u"}],
            "branch": "b",
            "synthetic": True,
            "archived": True,
        }
    )
    assert (event.id, event.archived, event.draft.branch) == ("x", True, "b")
    assert str(event.draft.timestamp) == "2026-05-05T05:05:05Z"
    assert event.draft.message.tool_calls == (ToolCall("k", "n", '{"a":1}'),)
    assert event.draft.message.has_media
    assert event.draft.metadata == {"synthetic": True}


@pytest.mark.parametrize("token", ["", "x1", "1u", "~-u1", "--u1"])
def test_what_is_no_token_is_refused(token: str) -> None:
    with pytest.raises(ValueError, match="token"):
        history([token])


def test_a_told_history_is_in_the_log_with_its_beginning_archived() -> None:
    repository = InMemorySessionRepository()
    repository.save(a_session())
    tell(repository, "-u1 -a1 ~a:sum u2")
    assert outline(repository) == ["-u1", "-a1", "~a:sum", "u2"]
    tell(repository, "")
    assert repository.version("s") == 5


def test_a_session_takes_its_ids_as_they_are_and_may_never_expire() -> None:
    assert a_session(" ", user_id="").id == " "
    assert a_session(ttl_seconds=None).expires_at is None
    assert a_session(ttl_seconds=5, metadata={"a": 1}).expires_at == START.plus_seconds(5)


def test_a_clock_moves_only_when_it_is_moved() -> None:
    clock = ManualClock(START)
    assert clock.now() == clock.now() == START
    clock.advance(90, ms=5)
    assert clock.now().text == "2026-01-01T00:01:30.005Z"
    clock.advance(-30)
    clock.set("2027-01-01T00:00:00Z")
    assert clock.now().text == "2027-01-01T00:00:00Z"
    clock.set(START)
    assert clock.now() == START


def test_a_ticking_clock_never_shows_a_time_twice() -> None:
    clock = ManualClock(tick_ms=2)
    assert [clock.now().ms - START.ms for _ in range(3)] == [0, 2, 4]
