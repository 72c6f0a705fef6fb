"""MessageFilter: which messages a memory stores (spec/session 5)."""

import pytest

from turnlog.domain.errors import InvalidRequest
from turnlog.domain.message import Message, ToolCall
from turnlog.domain.message_filter import MessageFilter
from turnlog.testing.builders import message

EMPTY = Message.assistant()
BLANK = Message.assistant(" \n")
CALL = Message.assistant(calls=[ToolCall("c", "t", "{}")])
NO_BREAK_SPACE = Message.assistant("\u00a0")


def _accepted(filter: MessageFilter, *messages: Message) -> list[bool]:
    return [filter.accepts(m) for m in messages]


def test_all_takes_everything() -> None:
    assert _accepted(MessageFilter.all(), EMPTY, BLANK, message("t1")) == [True, True, True]


def test_skip_empty_leaves_out_only_assistant_messages_without_anything() -> None:
    media = message({"type": "assistant", "text": None, "media": [{"mime": "image/png", "url": "u"}]})
    taken = _accepted(
        MessageFilter.skip_empty(), EMPTY, BLANK, CALL, media, NO_BREAK_SPACE, message("u1="), message("t1")
    )
    assert taken == [False, False, True, True, True, True, True]


def test_by_type_takes_the_listed_roles_and_needs_one() -> None:
    assert _accepted(MessageFilter.by_type("user", "tool"), message("u1"), message("t1"), message("a1")) == [
        True,
        True,
        False,
    ]
    with pytest.raises(InvalidRequest, match="types"):
        MessageFilter.by_type()


def test_contains_ignores_case_and_refuses_messages_without_text() -> None:
    filter = MessageFilter.contains("CoP ")
    assert _accepted(filter, message("u1=a cop here"), message("u1=cop"), EMPTY, message("t1")) == [
        True,
        False,
        False,
        False,
    ]
    with pytest.raises(InvalidRequest, match="keyword"):
        MessageFilter.contains(" \t")


def test_filters_combine_and_stop_early() -> None:
    def never(m: Message) -> bool:
        raise AssertionError("was asked")

    unasked = MessageFilter(never)
    user, none = MessageFilter.by_type("user"), ~MessageFilter.all()
    assert _accepted(user & ~MessageFilter.contains("x"), message("u1=x"), message("u1=y"), message("a1")) == [
        False,
        True,
        False,
    ]
    assert _accepted(user | MessageFilter.contains("x"), message("u1"), message("a1=x"), message("a1")) == [
        True,
        True,
        False,
    ]
    assert not (none & unasked).accepts(EMPTY)
    assert (MessageFilter.all() | unasked).accepts(EMPTY)
    assert (~MessageFilter.contains("x")).accepts(EMPTY)
