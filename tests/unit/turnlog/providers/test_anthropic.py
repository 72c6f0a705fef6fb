"""Anthropic's Messages, in its own shapes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.asking import KEY, PROMPT, REQUEST, SYSTEM, failing, outcome
from tests.support.endpoint import Endpoint
from turnlog.domain.message import Message
from turnlog.domain.models import ModelReply, ModelRequest, ModelSpec, Usage
from turnlog.providers import anthropic
from turnlog.providers.anthropic import AnthropicMessages


def model_at(endpoint: Endpoint, key: str | None = KEY) -> AnthropicMessages:
    return AnthropicMessages(ModelSpec("anthropic", "claude-haiku-4-5", 200000, base_url=endpoint.url), lambda: key)


def answer(stop_reason: str | None, *content: Any) -> dict[str, Any]:
    """As the reference shows it."""
    return {
        "id": "msg_013Zva2CMHLNnXjNJJKqJ2EF",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-4-5-20251001",
        "content": list(content),
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 2095, "output_tokens": 503, "cache_read_input_tokens": 0},
    }


def text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


TOOL_USE = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}


def test_a_question_and_its_answer(endpoint: Endpoint) -> None:
    endpoint.answers(answer("end_turn", text("She is "), text("well.")))
    reply = model_at(endpoint).complete(REQUEST)
    assert ModelReply("She is well.", "stop", Usage(2095, 503), "claude-haiku-4-5-20251001") == reply
    (asked,) = endpoint.asked
    assert ("/v1/messages", KEY, "2023-06-01") == (
        asked.path,
        asked.headers["x-api-key"],
        asked.headers["anthropic-version"],
    )
    assert "authorization" not in asked.headers
    assert asked.body == {
        "model": "claude-haiku-4-5",
        "max_tokens": 300,
        "system": SYSTEM,
        "messages": [
            {"role": "user", "content": PROMPT},
            {"role": "assistant", "content": "Noted."},
            {"role": "user", "content": "Go on."},
        ],
    }


@pytest.mark.parametrize(
    ("stop_reason", "content", "expected"),
    [
        ("end_turn", [], (None, "stop")),
        ("end_turn", [text("")], ("", "stop")),
        ("end_turn", [THINKING, text("ok")], ("ok", "stop")),
        ("stop_sequence", [text("ok")], ("ok", "stop")),
        ("max_tokens", [text("She is")], ("She is", "length")),
        ("model_context_window_exceeded", [text("She is")], ("She is", "length")),
        ("tool_use", [text("Let me see."), TOOL_USE], ("Let me see.", "tool_calls")),
        ("refusal", [], (None, "refused")),
        ("pause_turn", [text("ok")], ("ok", "other")),
        (None, [None, 7, {"type": "text", "text": None}], (None, "other")),
    ],
)
def test_how_it_ended(stop_reason: str | None, content: list[Any], expected: object, endpoint: Endpoint) -> None:
    """Thinking is no part of the answer."""
    endpoint.answers(answer(stop_reason, *content))
    reply = model_at(endpoint).complete(REQUEST)
    assert expected == (reply.text, reply.finish)


@pytest.mark.parametrize("found", [{}, {"content": None}, {"content": "text"}, {"content": {}}])
def test_an_answer_without_content_is_none(found: object, endpoint: Endpoint) -> None:
    endpoint.answers(found)
    assert ("rejected", False, None) == outcome(failing(model_at(endpoint)))


def test_what_is_not_given_is_not_sent_and_what_is_not_told_is_not_known(endpoint: Endpoint) -> None:
    endpoint.answers({"content": [text("ok")], "stop_reason": "end_turn"})
    reply = model_at(endpoint, key=None).complete(ModelRequest("", (Message.user("u"),), 5))
    assert ModelReply("ok", "stop", Usage(None, None), "claude-haiku-4-5") == reply
    assert "x-api-key" not in endpoint.asked[0].headers
    assert "system" not in endpoint.asked[0].body


def test_without_a_base_url_the_vendor_is_asked(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    assert anthropic.BASE_URL == "https://api.anthropic.com"
    monkeypatch.setattr(anthropic, "BASE_URL", endpoint.url)
    endpoint.answers(answer("end_turn", text("ok")))
    model = AnthropicMessages(ModelSpec("anthropic", "claude-haiku-4-5", 200000, secret="s"), lambda: KEY)
    assert model.complete(REQUEST).text == "ok"
