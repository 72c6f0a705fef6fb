"""The model of the laptop: it needs nothing, and is right about what it was asked to carry."""

from __future__ import annotations

import pytest

from turnlog.compaction import RecursiveSummarization
from turnlog.compaction.recursive_summarization import facts_of
from turnlog.domain.errors import InvalidRequest
from turnlog.domain.message import Message
from turnlog.domain.models import ModelRejected, ModelReply, ModelRequest, Usage
from turnlog.providers.scripted import ScriptedModel

STRATEGY = RecursiveSummarization()


def summary(lines: list[str], earlier: list[str] | None = None, overlap: list[str] | None = None) -> str:
    """What it answers to the strategy's own question."""
    prompt = STRATEGY.ask(earlier or [], lines, overlap or [])
    reply = ScriptedModel().complete(ModelRequest(prompt.system, (Message.user(prompt.user),), 100))
    assert ("stop", "facts") == (reply.finish, reply.model)
    assert reply.text is not None
    return reply.text


def test_it_keeps_what_the_conversation_marks_as_a_fact() -> None:
    told = ["User: FACT: the tram is yellow", "Assistant: Noted.\n\nFACT: and it is late", "User: the bus is red"]
    assert ["the tram is yellow", "and it is late"] == facts_of(summary(told))


def test_it_carries_facts_through_any_number_of_summaries() -> None:
    """Word for word, in order, each once."""
    text = summary(["User: FACT: 0", "User: FACT: 0"])
    for i in range(1, 10):
        text = summary([f"User: FACT: {i}", "User: FACT: 0"], [text])
    assert [str(i) for i in range(10)] == facts_of(text)


def test_it_joins_summaries_without_a_conversation() -> None:
    """As they come when there was too much for one question."""
    parts = [summary(["User: FACT: a"]), summary(["User: FACT: b"])]
    assert ["a", "b"] == facts_of(summary([], parts))


def test_it_leaves_what_follows_alone() -> None:
    """That is kept in words; and what an earlier summary says outside of its facts is no fact."""
    text = summary(["User: FACT: a"], ["FACT: in passing\nFacts:\n- b"], ["User: FACT: later"])
    assert ["b", "a"] == facts_of(text)


def test_nothing_to_keep_is_a_summary_all_the_same() -> None:
    text = summary(["User: hello"])
    assert [] == facts_of(text)
    assert text.startswith("The conversation so far")


def test_an_echo_repeats_the_last_message() -> None:
    request = ModelRequest("four", (Message.user("one"), Message.assistant("two"), Message.user("three 3")), 1)
    assert ModelReply("three 3", "stop", Usage(4, 1), "echo") == ScriptedModel("echo").complete(request)
    assert ScriptedModel("echo").complete(ModelRequest("", (), 1)).text == ""


def test_there_is_no_other_script() -> None:
    with pytest.raises(ModelRejected, match="facts or echo"):
        ScriptedModel("hal").complete(ModelRequest("", (), 1))


def test_it_takes_what_every_provider_takes() -> None:
    with pytest.raises(InvalidRequest, match="/messages/0/role"):
        ScriptedModel().complete(ModelRequest("", (Message.system("s"),), 1))
