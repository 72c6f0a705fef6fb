"""Text for counting (spec/session 7.9), and the estimate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.domain.message import Message, ToolCall, ToolResult
from turnlog.domain.tokens import EstimatingCounter, format_message

CALLS = [ToolCall("1", "a", '{"x":1}'), ToolCall("2", "b", "")]


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (Message.user("hi"), "User: hi"),
        (Message.user(""), "User: "),
        (Message.system("be nice"), "System: be nice"),
        (Message.assistant("done"), "Assistant: done"),
        (Message.assistant(), "Assistant: [no text content]"),
        (Message.assistant(calls=CALLS), 'Assistant [tool calls: a({"x":1}), b()]'),
        (Message.assistant(" \n", calls=CALLS[1:]), "Assistant [tool calls: b()]"),
        (Message.assistant("\u00a0", calls=CALLS[1:]), "Assistant: \u00a0 [tool calls: b()]"),
        (Message.assistant("look", calls=CALLS[1:]), "Assistant: look [tool calls: b()]"),
        (
            Message.tool([ToolResult("1", "a", "1", "ok"), ToolResult("2", None, "", "error")]),
            "Tool [responses: a -> 1,  -> ]",
        ),
        (Message.tool([]), "Tool [responses: ]"),
        (
            Message.of({"role": "user", "content": [{"type": "media", "media_type": "image/png", "url": "u"}]}),
            "User: [no text content]",
        ),
        (
            Message.of(
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "text": "hm"},
                        {"type": "text", "text": "x"},
                        {"type": "provider", "provider": "p", "data": "secret"},
                    ],
                }
            ),
            "Assistant: x",
        ),
    ],
)
def test_a_message_is_rendered_for_counting(message: Message, text: str) -> None:
    assert format_message(message) == text


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("日本語", 3), ("日本語ab", 4), ("😀", 1), ("é", 1)],
)
def test_four_letters_or_one_wide_character_are_about_a_token(text: str, tokens: int) -> None:
    assert EstimatingCounter().count(text) == tokens


@given(st.text(), st.text())
def test_the_estimate_grows_with_the_text_and_never_by_more_than_its_parts(one: str, other: str) -> None:
    count = EstimatingCounter().count
    assert max(count(one), count(other)) <= count(one + other) <= count(one) + count(other)
    assert count(one) <= len(one)


def test_the_estimate_says_its_name() -> None:
    counter = EstimatingCounter()
    assert (counter.name, counter.version) == ("estimate", 1)
