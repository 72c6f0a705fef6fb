"""Messages and blocks: what is valid, what is read out of them, when two are the same (DESIGN 3)."""

from typing import Any

import pytest

from turnlog.domain.errors import InvalidRequest, MalformedJson
from turnlog.domain.message import Message, ToolCall, ToolResult

TEXT = {"type": "text", "text": "x"}
CALL = {"type": "tool_call", "id": "c1", "name": "t", "arguments": "{}"}
RESULT = {"type": "tool_result", "call_id": "c1", "content": "ok"}
MEDIA = {"type": "media", "media_type": "image/png", "url": "https://example.com/i.png"}
THINKING = {"type": "thinking", "text": "hm", "signature": "c2ln"}
PROVIDER = {"type": "provider", "provider": "p", "data": None}


def _message(role: str, *blocks: object) -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


@pytest.mark.parametrize(
    "value",
    [
        {"role": "user", "content": ""},
        {"role": "system", "content": "x", "unknown": {"kept": [1]}},
        _message("user"),
        _message("user", TEXT, MEDIA, PROVIDER),
        _message("assistant", THINKING, TEXT, CALL, {**CALL, "id": "", "name": "", "arguments": "not json"}),
        _message("assistant", {"type": "thinking"}, {"type": "thinking", "text": None, "redacted": "ZGF0YQ=="}),
        _message("tool"),
        _message("tool", RESULT, {**RESULT, "name": "t", "status": "pending"}, {**RESULT, "name": None}),
        _message("tool", {**RESULT, "content": [TEXT, MEDIA, PROVIDER]}, {**RESULT, "content": []}),
        _message("user", {"type": "media", "media_type": "a/b", "data": "", "name": "n", "url": None}),
        _message("user", {"type": "media", "media_type": "a/b", "ref": "r"}),
        _message("user", {**TEXT, "cache_control": {"type": "ephemeral"}}),
    ],
)
def test_a_valid_message_is_taken_and_keeps_its_json(value: dict[str, Any]) -> None:
    message = Message.of(value)
    assert message.json.to_python() == value
    assert Message.parse(message.raw) == message


@pytest.mark.parametrize(
    ("value", "pointer"),
    [
        ("hi", ""),
        ([], ""),
        ({"content": "x"}, "/role"),
        ({"role": "robot", "content": "x"}, "/role"),
        ({"role": ["user"], "content": "x"}, "/role"),
        ({"role": "user"}, "/content"),
        ({"role": "user", "content": None}, "/content"),
        ({"role": "user", "content": 1}, "/content"),
        ({"role": "user", "content": {"type": "text"}}, "/content"),
        ({"role": "tool", "content": "ok"}, "/content"),
        (_message("user", "x"), "/content/0"),
        (_message("user", TEXT, {}), "/content/1/type"),
        (_message("user", {"type": "image"}), "/content/0/type"),
        (_message("user", {"type": ["text"]}), "/content/0/type"),
        (_message("user", CALL), "/content/0/type"),
        (_message("user", THINKING), "/content/0/type"),
        (_message("system", RESULT), "/content/0/type"),
        (_message("assistant", RESULT), "/content/0/type"),
        (_message("tool", TEXT), "/content/0/type"),
        (_message("tool", MEDIA), "/content/0/type"),
        (_message("user", {"type": "text"}), "/content/0/text"),
        (_message("user", {"type": "text", "text": None}), "/content/0/text"),
        (_message("user", {"type": "text", "text": 1}), "/content/0/text"),
        (_message("user", {**MEDIA, "media_type": ""}), "/content/0/media_type"),
        (_message("user", {"type": "media", "url": "u"}), "/content/0/media_type"),
        (_message("user", {**MEDIA, "name": 1}), "/content/0/name"),
        (_message("user", {**MEDIA, "data": "x"}), "/content/0"),
        (_message("user", {"type": "media", "media_type": "a/b"}), "/content/0"),
        (_message("user", {**MEDIA, "url": 1}), "/content/0/url"),
        (_message("assistant", {**CALL, "id": None}), "/content/0/id"),
        (_message("assistant", {"type": "tool_call", "id": "c", "arguments": "{}"}), "/content/0/name"),
        (_message("assistant", {**CALL, "arguments": {}}), "/content/0/arguments"),
        (_message("assistant", {**THINKING, "signature": 1}), "/content/0/signature"),
        (_message("tool", {"type": "tool_result", "content": "ok"}), "/content/0/call_id"),
        (_message("tool", {**RESULT, "name": 1}), "/content/0/name"),
        (_message("tool", {**RESULT, "status": "final"}), "/content/0/status"),
        (_message("tool", {**RESULT, "status": None}), "/content/0/status"),
        (_message("tool", {"type": "tool_result", "call_id": "c"}), "/content/0/content"),
        (_message("tool", {**RESULT, "content": {"a": 1}}), "/content/0/content"),
        (_message("tool", {**RESULT, "content": ["ok"]}), "/content/0/content/0"),
        (_message("tool", {**RESULT, "content": [TEXT, RESULT]}), "/content/0/content/1/type"),
        (_message("tool", {**RESULT, "content": [{"type": ["text"]}]}), "/content/0/content/0/type"),
        (_message("tool", {**RESULT, "content": [{"type": "text"}]}), "/content/0/content/0/text"),
        (_message("user", {"type": "provider", "data": 1}), "/content/0/provider"),
        (_message("user", {"type": "provider", "provider": "", "data": 1}), "/content/0/provider"),
        (_message("user", {"type": "provider", "provider": "p"}), "/content/0/data"),
    ],
)
def test_what_is_not_valid_is_refused_where_it_stands(value: Any, pointer: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        Message.of(value, pointer="/events/3/message")
    assert [error.pointer for error in refused.value.errors] == [f"/events/3/message{pointer}"]


def test_what_is_not_json_is_malformed() -> None:
    with pytest.raises(MalformedJson):
        Message.parse('{"role":"user","content":"x","n":NaN}')
    with pytest.raises(MalformedJson):
        Message.of({"role": "user", "content": "\ud800"})


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (Message.user("hi"), "hi"),
        (Message.user(""), ""),
        (Message.system("be nice"), "be nice"),
        (Message.assistant(), None),
        (Message.assistant("", calls=[ToolCall("c", "t", "{}")]), ""),
        (Message.of(_message("assistant", TEXT, THINKING, CALL, {"type": "text", "text": "y"})), "xy"),
        (Message.of(_message("user", MEDIA)), None),
        (Message.of(_message("tool", RESULT)), ""),
        (Message.of(_message("tool")), ""),
    ],
)
def test_the_text_is_the_text_blocks_joined(message: Message, text: str | None) -> None:
    assert message.text == text


def test_calls_and_results_are_read_in_order_with_their_strings_untouched() -> None:
    calls = (ToolCall("c1", "t", '{"b":1.0, "a":2}'), ToolCall("c1", "t", ""))
    assert Message.assistant("x", calls=calls).tool_calls == calls
    assert Message.user("x").tool_calls == ()
    results = (ToolResult("c1", "t", "one", "ok"), ToolResult("c2", None, "", "error"))
    assert Message.tool(results).tool_results == results
    shaped = Message.of(_message("tool", {**RESULT, "content": [TEXT, MEDIA, TEXT]}))
    assert shaped.tool_results == (ToolResult("c1", None, "xx", "ok"),)


def test_media_are_noticed() -> None:
    assert Message.of(_message("user", TEXT, MEDIA)).has_media
    assert not Message.user("x").has_media


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"role": "user", "content": "hi"}, _message("user", {"type": "text", "text": "hi"}), True),
        ({"role": "user", "content": "hi"}, {"content": "hi", "role": "user"}, True),
        ({"role": "user", "content": "hi"}, {"role": "user", "content": "hi "}, False),
        ({"role": "user", "content": "hi"}, {"role": "system", "content": "hi"}, False),
        ({"role": "user", "content": "hi"}, {"role": "user", "content": "hi", "x": None}, False),
        (_message("user"), {"role": "user", "content": ""}, False),
        (_message("user", TEXT, TEXT), _message("user", {"type": "text", "text": "xx"}), False),
    ],
)
def test_two_messages_are_the_same_by_canonical_json(one: dict[str, Any], other: dict[str, Any], same: bool) -> None:
    assert (Message.of(one) == Message.of(other)) is same
    assert (hash(Message.of(one)) == hash(Message.of(other))) is same


def test_messages_tell_numbers_apart_by_text() -> None:
    one, other = (Message.parse(f'{{"role":"user","content":"x","n":{n}}}') for n in ("1", "1.0"))
    assert one != other
    assert one != "x"
