"""Events and drafts (spec/session 2)."""

import re
import sys
import unicodedata
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from turnlog.domain.errors import InvalidRequest
from turnlog.domain.event import EventDraft, SessionEvent, has_text
from turnlog.domain.exactjson import JsonObject
from turnlog.domain.message import Message
from turnlog.testing.builders import START, scripted

HI = Message.user("hi")


def _event(**fields: Any) -> SessionEvent:
    defaults: dict[str, Any] = {"session_id": "s", "message": HI, "timestamp": START}
    return SessionEvent.build(**(defaults | fields))


def _java_whitespace(c: str) -> bool:
    if c in "\u00a0\u2007\u202f":
        return False
    return unicodedata.category(c) in ("Zs", "Zl", "Zp") or c in "\t\n\u000b\f\r\u001c\u001d\u001e\u001f"


def test_text_is_any_character_that_java_does_not_call_whitespace() -> None:
    characters = [chr(code) for code in range(sys.maxunicode + 1)]
    assert [c for c in characters if has_text(c) == _java_whitespace(c)] == []
    assert not has_text(None)
    assert not has_text("")
    assert not has_text(" \t\n")
    assert has_text(" a ")


def test_a_built_event_has_the_defaults_of_the_spec() -> None:
    event = _event()
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", event.id)
    assert (event.branch, event.archived, event.seq, event.position) == (None, False, None, None)
    assert event.metadata == {}
    assert event.is_root
    assert not event.synthetic
    assert _event().id != event.id


@pytest.mark.parametrize(
    ("missing", "pointer"),
    [
        ({"id": " ", "session_id": "", "timestamp": None, "message": None}, "/id"),
        ({"session_id": "", "timestamp": None, "message": None}, "/session_id"),
        ({"session_id": None, "timestamp": None}, "/session_id"),
        ({"timestamp": None, "message": None}, "/timestamp"),
        ({"message": None}, "/message"),
    ],
)
def test_a_missing_part_is_named_in_the_order_of_the_spec(missing: dict[str, Any], pointer: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        _event(**missing)
    assert [error.pointer for error in refused.value.errors] == [pointer]


def test_events_are_the_same_by_id_and_session_alone() -> None:
    event = _event(id="e")
    other = _event(id="e", message=Message.user("other"), archived=True)
    assert event == other
    assert hash(event) == hash(other)
    assert event != _event(id="e", session_id="t")
    assert event != _event(id="f")
    assert event != "e"


def test_archiving_changes_the_flag_and_nothing_else() -> None:
    event = _event(id="e", branch="b", metadata={"a": 1})
    archived = event.as_archived()
    assert archived == replace(event, archived=True)
    assert archived.archived
    assert archived.as_archived() is archived
    assert not archived.as_archived(False).archived
    with pytest.raises(FrozenInstanceError):
        event.archived = True  # type: ignore[misc]


@pytest.mark.parametrize(
    ("metadata", "synthetic"),
    [
        ({"synthetic": True}, True),
        ({"synthetic": False}, False),
        ({"synthetic": 1}, False),
        ({"synthetic": "true"}, False),
        ({}, False),
    ],
)
def test_synthetic_is_exactly_true(metadata: dict[str, Any], synthetic: bool) -> None:
    assert _event(metadata=metadata).synthetic is synthetic
    assert EventDraft(HI, metadata=JsonObject.of(metadata)).is_turn_start is not synthetic


def test_the_empty_branch_is_not_the_root() -> None:
    assert not _event(branch="").is_root
    assert not _event(branch="").is_turn_start


@pytest.mark.parametrize(
    ("token", "starts"),
    [
        ("u1", True),
        ("a1", False),
        ("s1", False),
        ("t1", False),
        ("c1", False),
        ("~u1", False),
        ("u1@b", False),
        ("-u1", True),
    ],
)
def test_a_turn_starts_at_a_real_user_event_on_the_root(token: str, starts: bool) -> None:
    draft = scripted(token).draft
    event = SessionEvent("e", "s", draft.message, START, draft.branch, draft.metadata)
    assert event.is_turn_start is starts
    assert draft.is_turn_start is starts


def test_tool_calls_show() -> None:
    assert _event(message=scripted("c1").draft.message).has_tool_calls
    assert not _event(message=scripted("t1").draft.message).has_tool_calls


def test_an_event_is_visible_to_its_branch_and_those_below() -> None:
    event = _event(branch="orch")
    assert event.visible_to("orch.r")
    assert not event.visible_to("other")


@pytest.mark.parametrize(
    ("draft", "same"),
    [
        (EventDraft(HI), True),
        (EventDraft(HI, timestamp=START), True),
        (EventDraft(Message.of({"role": "user", "content": [{"type": "text", "text": "hi"}]})), True),
        (EventDraft(HI, id="another id"), True),
        (EventDraft(HI, timestamp=START.plus_seconds(1)), False),
        (EventDraft(HI, branch=""), False),
        (EventDraft(HI, metadata=JsonObject.of({"a": 1})), False),
        (EventDraft(Message.user("hi!")), False),
    ],
)
def test_a_draft_is_the_same_as_what_it_would_have_become(draft: EventDraft, same: bool) -> None:
    assert draft.same_as(_event()) is same
