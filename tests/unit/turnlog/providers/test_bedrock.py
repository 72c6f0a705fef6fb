"""Bedrock's Converse, in the shapes that the SDK's own model of the service knows, and over a real connection."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import NoCredentialsError, NoRegionError
from botocore.session import Session
from botocore.stub import Stubber

from tests.support.asking import PROMPT, REQUEST, SYSTEM, failing, outcome
from tests.support.endpoint import Endpoint, Pace, unreachable
from turnlog.domain.errors import InvalidRequest
from turnlog.domain.message import Message
from turnlog.domain.models import ModelReply, ModelRequest, ModelSpec, Usage
from turnlog.providers.bedrock import BedrockConverse, _client

HAIKU = "anthropic.claude-3-5-haiku-20241022-v1:0"
SPEC = ModelSpec("bedrock", HAIKU, 200000)

MESSAGES = [
    {"role": "user", "content": [{"text": PROMPT}]},
    {"role": "assistant", "content": [{"text": "Noted."}]},
    {"role": "user", "content": [{"text": "Go on."}]},
]


@pytest.fixture(scope="module")
def client() -> Any:
    """The SDK's client, made once: it takes a moment."""
    return _client(SPEC)


@pytest.fixture
def stub(client: Any) -> Iterator[Stubber]:
    """Answers in place of the service, and checks both ways against the SDK's model of it."""
    with Stubber(client) as stub:
        yield stub


@pytest.fixture
def model(client: Any, stub: Stubber) -> BedrockConverse:
    """Haiku."""
    return BedrockConverse(SPEC, lambda spec: client)


def answer(stop_reason: str, *content: dict[str, Any]) -> dict[str, Any]:
    return {
        "output": {"message": {"role": "assistant", "content": list(content)}},
        "stopReason": stop_reason,
        "usage": {"inputTokens": 125, "outputTokens": 60, "totalTokens": 185},
        "metrics": {"latencyMs": 1175},
    }


def test_a_question_and_its_answer(model: BedrockConverse, stub: Stubber) -> None:
    expected = {
        "modelId": HAIKU,
        "system": [{"text": SYSTEM}],
        "messages": MESSAGES,
        "inferenceConfig": {"maxTokens": 300},
    }
    stub.add_response("converse", answer("end_turn", {"text": "She is "}, {"text": "well."}), expected)
    assert ModelReply("She is well.", "stop", Usage(125, 60), HAIKU) == model.complete(REQUEST)
    assert model.name == "bedrock"


TOOL_USE = {"toolUse": {"toolUseId": "t1", "name": "look", "input": {}}}
THINKING = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s"}}}


@pytest.mark.parametrize(
    ("stop_reason", "content", "expected"),
    [
        ("end_turn", [], (None, "stop")),
        ("end_turn", [THINKING, {"text": "ok"}], ("ok", "stop")),
        ("stop_sequence", [{"text": "ok"}], ("ok", "stop")),
        ("max_tokens", [{"text": "She is"}], ("She is", "length")),
        ("model_context_window_exceeded", [{"text": "She is"}], ("She is", "length")),
        ("tool_use", [TOOL_USE], (None, "tool_calls")),
        ("guardrail_intervened", [{"text": "Blocked."}], ("Blocked.", "refused")),
        ("content_filtered", [], (None, "refused")),
        ("malformed_model_output", [{"text": "{"}], ("{", "other")),
    ],
)
def test_how_it_ended(
    stop_reason: str, content: list[Any], expected: object, model: BedrockConverse, stub: Stubber
) -> None:
    stub.add_response("converse", answer(stop_reason, *content))
    reply = model.complete(REQUEST)
    assert expected == (reply.text, reply.finish)


@pytest.mark.parametrize(
    ("code", "status", "expected"),
    [
        ("ThrottlingException", 429, ("throttled", True)),
        ("TooManyRequestsException", 429, ("throttled", True)),
        ("ServiceQuotaExceededException", 400, ("throttled", True)),
        ("ModelTimeoutException", 408, ("timeout", True)),
        ("ServiceUnavailableException", 503, ("unavailable", True)),
        ("InternalServerException", 500, ("unavailable", True)),
        ("ModelNotReadyException", 429, ("unavailable", True)),
        ("ModelErrorException", 424, ("unavailable", True)),
        ("ANewFailure", 502, ("unavailable", True)),
        ("ValidationException", 400, ("rejected", False)),
        ("AccessDeniedException", 403, ("rejected", False)),
        ("ResourceNotFoundException", 404, ("rejected", False)),
        ("ExpiredTokenException", 403, ("rejected", False)),
    ],
)
def test_a_code_says_what_to_do(
    code: str, status: int, expected: object, model: BedrockConverse, stub: Stubber
) -> None:
    """The code is told; the sentence, which may quote the prompt, is not."""
    stub.add_client_error("converse", code, f"Invalid: {PROMPT}", status)
    error = failing(model)
    assert (expected, code) == ((error.reason, error.retryable), error.detail)


def test_instructions_that_are_not_given_are_not_sent(model: BedrockConverse, stub: Stubber) -> None:
    """The service refuses empty ones."""
    expected = {
        "modelId": HAIKU,
        "messages": [{"role": "user", "content": [{"text": "u"}]}],
        "inferenceConfig": {"maxTokens": 5},
    }
    stub.add_response("converse", answer("end_turn", {"text": "ok"}), expected)
    assert model.complete(ModelRequest("", (Message.user("u"),), 5)).text == "ok"


def test_what_the_sdk_refuses_is_not_asked_again(client: Any) -> None:
    """Its message quotes what was given."""
    error = failing(BedrockConverse(SPEC, lambda spec: client), ModelRequest(SYSTEM, (Message.user(PROMPT),), 0))
    assert ("rejected", False, None) == outcome(error)
    assert "ParamValidationError" in error.detail


def test_a_lone_surrogate_is_no_answer(model: BedrockConverse, stub: Stubber) -> None:
    stub.add_response("converse", answer("end_turn", {"text": "half a sign: \ud83d"}))
    assert ("rejected", False, None) == outcome(failing(model))


def test_what_is_not_text_is_refused_before_anything_is_sent(model: BedrockConverse) -> None:
    with pytest.raises(InvalidRequest, match="/messages/0/role"):
        model.complete(ModelRequest("s", (Message.system("s"),), 5))


@pytest.mark.parametrize("error", [NoCredentialsError(), NoRegionError()])
def test_a_stage_that_is_not_set_up_is_not_asked_again(error: Exception) -> None:
    def broken(spec: ModelSpec) -> Any:
        raise error

    assert ("rejected", False, None) == outcome(failing(BedrockConverse(SPEC, broken)))


def test_the_client_is_made_when_the_first_question_comes(client: Any, stub: Stubber) -> None:
    """And once."""
    made: list[ModelSpec] = []

    def make(spec: ModelSpec) -> Any:
        made.append(spec)
        return client

    model = BedrockConverse(SPEC, make)
    assert not made
    for _ in range(2):
        stub.add_response("converse", answer("end_turn", {"text": "ok"}))
        model.complete(REQUEST)
    assert [SPEC] == made


def at(endpoint: Endpoint, *, timeout_seconds: float = 30) -> BedrockConverse:
    return BedrockConverse(ModelSpec("bedrock", HAIKU, 200000, base_url=endpoint.url, timeout_seconds=timeout_seconds))


def test_over_a_connection_it_is_asked_once(endpoint: Endpoint) -> None:
    endpoint.answers(answer("end_turn", {"text": "Здравствуйте 🙂"}))
    model = at(endpoint)
    assert model.complete(REQUEST).text == "Здравствуйте 🙂"
    (asked,) = endpoint.asked
    assert asked.path.startswith("/model/anthropic.claude-3-5-haiku")
    assert {"messages": MESSAGES, "system": [{"text": SYSTEM}], "inferenceConfig": {"maxTokens": 300}} == asked.body
    endpoint.answers({"message": PROMPT}, status=503, x_amzn_errortype="ServiceUnavailableException")
    assert ("unavailable", True, None) == outcome(failing(model))
    assert len(endpoint.asked) == 2, "whoever asks decides whether to ask again"


@pytest.mark.parametrize(
    ("body", "pace", "expected"),
    [
        (b"{}", "never", ("timeout", True)),
        (json.dumps(answer("end_turn", {"text": "ok"})).encode(), "half", ("unavailable", True)),
        (f'"{PROMPT}'.encode(), "at once", ("rejected", False)),
        (b"{}", "at once", ("rejected", False)),
        (b'{"output": {"message": {"content": null}}}', "at once", ("rejected", False)),
    ],
    ids=["late", "cut off", "garbage", "nothing", "null"],
)
def test_how_a_connection_fails(body: bytes, pace: Pace, expected: object, endpoint: Endpoint) -> None:
    endpoint.answers(body)
    endpoint.pace = pace
    error = failing(at(endpoint, timeout_seconds=0.2 if pace == "never" else 30))
    assert expected == (error.reason, error.retryable)


def test_a_refused_connection_may_be_tried_again() -> None:
    model = BedrockConverse(ModelSpec("bedrock", HAIKU, 200000, base_url=unreachable()))
    assert ("unavailable", True, None) == outcome(failing(model))


def test_the_service_knows_every_word_that_is_understood() -> None:
    """The words that Converse may stop with, from the SDK's model of it."""
    from turnlog.providers.bedrock import _FINISHES

    shape: Any = Session().get_service_model("bedrock-runtime").operation_model("Converse").output_shape
    assert set(shape.members["stopReason"].enum) - {"malformed_model_output", "malformed_tool_use"} == set(_FINISHES)
