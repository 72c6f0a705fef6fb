"""OpenAI's Chat Completions, in its own shapes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.asking import KEY, PROMPT, REQUEST, SYSTEM, failing
from tests.support.endpoint import Endpoint
from turnlog.domain.message import Message
from turnlog.domain.models import ModelReply, ModelRequest, ModelSpec, Usage
from turnlog.providers import openai_chat
from turnlog.providers.openai_chat import OpenAIChat

CALLS = [{"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]


def model_at(endpoint: Endpoint, key: str | None = KEY) -> OpenAIChat:
    spec = ModelSpec("openai", "gpt-4.1-mini", 32000, base_url=f"{endpoint.url}/v1/")
    return OpenAIChat(spec, lambda: key)


def completion(finish: str | None, **message: Any) -> dict[str, Any]:
    """As the reference shows it."""
    return {
        "id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
        "object": "chat.completion",
        "created": 1741569952,
        "model": "gpt-4.1-mini-2025-04-14",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": None, "refusal": None, "annotations": [], **message},
                "logprobs": None,
                "finish_reason": finish,
            }
        ],
        "usage": {"prompt_tokens": 19, "completion_tokens": 10, "total_tokens": 29},
        "service_tier": "default",
    }


def test_a_question_and_its_answer(endpoint: Endpoint) -> None:
    endpoint.answers(completion("stop", content="She is well."))
    reply = model_at(endpoint).complete(REQUEST)
    assert ModelReply("She is well.", "stop", Usage(19, 10), "gpt-4.1-mini-2025-04-14") == reply
    (asked,) = endpoint.asked
    assert ("/v1/chat/completions", f"Bearer {KEY}") == (asked.path, asked.headers["authorization"])
    assert asked.headers["content-type"] == "application/json"
    assert asked.body == {
        "model": "gpt-4.1-mini",
        "messages": [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": PROMPT},
            {"role": "assistant", "content": "Noted."},
            {"role": "user", "content": "Go on."},
        ],
        "max_tokens": 300,
    }


@pytest.mark.parametrize(
    ("finish", "message", "expected"),
    [
        ("stop", {"content": None}, (None, "stop")),
        ("stop", {"content": ""}, ("", "stop")),
        ("length", {"content": "She is"}, ("She is", "length")),
        ("content_filter", {"content": "She"}, ("She", "refused")),
        ("stop", {"refusal": "I'm sorry, I cannot assist with that."}, (None, "refused")),
        ("tool_calls", {"tool_calls": CALLS}, (None, "tool_calls")),
        ("stop", {"tool_calls": CALLS}, (None, "tool_calls")),
        ("length", {"tool_calls": CALLS}, (None, "length")),
        ("stop", {"content": "ok", "tool_calls": []}, ("ok", "stop")),
        ("function_call", {"function_call": {"name": "look", "arguments": "{}"}}, (None, "tool_calls")),
        ("a new word", {"content": "ok"}, ("ok", "other")),
        (None, {"content": "ok"}, ("ok", "other")),
        ("stop", {"content": [{"type": "text", "text": "ok"}]}, (None, "stop")),
    ],
)
def test_how_it_ended(finish: str | None, message: Any, expected: object, endpoint: Endpoint) -> None:
    endpoint.answers(completion(finish, **message))
    reply = model_at(endpoint).complete(REQUEST)
    assert expected == (reply.text, reply.finish)


@pytest.mark.parametrize(
    "answer",
    [{}, {"choices": []}, {"choices": None}, {"choices": {}}, {"choices": [None]}, {"choices": [{"message": None}]}],
)
def test_an_answer_without_a_message_is_none(answer: object, endpoint: Endpoint) -> None:
    endpoint.answers(answer)
    error = failing(model_at(endpoint))
    assert ("rejected", "the answer has no choice with a message") == (error.reason, error.detail)


def test_a_server_of_ones_own_may_do_without_a_key_and_tell_less(endpoint: Endpoint) -> None:
    endpoint.answers(
        {"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": True}}
    )
    reply = model_at(endpoint, key=None).complete(ModelRequest("", (Message.user("u"),), 5))
    assert ModelReply("ok", "stop", Usage(None, None), "gpt-4.1-mini") == reply
    assert "authorization" not in endpoint.asked[0].headers
    assert endpoint.asked[0].body["messages"] == [{"role": "user", "content": "u"}]


def test_the_vendors_own_endpoint_has_its_own_word_for_the_limit(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its reasoning models refuse the older one."""
    assert openai_chat.BASE_URL == "https://api.openai.com/v1"
    monkeypatch.setattr(openai_chat, "BASE_URL", f"{endpoint.url}/v1")
    endpoint.answers(completion("stop", content="ok"))
    OpenAIChat(ModelSpec("openai", "o4-mini", 32000, secret="s"), lambda: KEY).complete(REQUEST)
    body = endpoint.asked[0].body
    assert (300, False) == (body["max_completion_tokens"], "max_tokens" in body)
