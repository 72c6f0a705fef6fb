"""What both HTTP providers have in common: how they fail, over a real connection, and what is told of it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.asking import KEY, PROMPT, REQUEST, failing, outcome
from tests.support.endpoint import Endpoint, Pace, serving, unreachable
from turnlog.domain.errors import InvalidRequest
from turnlog.domain.message import Message, ToolCall, ToolResult
from turnlog.domain.models import ModelClient, ModelRequest, ModelSpec
from turnlog.providers.anthropic import AnthropicMessages
from turnlog.providers.http import MAX_ANSWER_BYTES
from turnlog.providers.openai_chat import OpenAIChat


@dataclass(frozen=True)
class Vendor:
    """A provider: how its client is made, and a whole answer of it."""

    make: Callable[[ModelSpec, Callable[[], str | None]], ModelClient]
    answer: Callable[[str], dict[str, Any]]

    def at(self, url: str, *, key: str | None = KEY, timeout_seconds: float = 30) -> ModelClient:
        spec = ModelSpec("openai", "m", 32000, base_url=url, timeout_seconds=timeout_seconds)
        return self.make(spec, lambda: key)


OPENAI = Vendor(OpenAIChat, lambda text: {"choices": [{"finish_reason": "stop", "message": {"content": text}}]})
ANTHROPIC = Vendor(
    AnthropicMessages, lambda text: {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}
)


@pytest.fixture(params=[OPENAI, ANTHROPIC], ids=["openai", "anthropic"])
def vendor(request: pytest.FixtureRequest) -> Vendor:
    """Each in turn."""
    found: Vendor = request.param
    return found


@pytest.mark.parametrize(
    ("status", "kind", "expected"),
    [
        (429, "rate_limit_exceeded", ("throttled", True, 7.0)),
        (429, "insufficient_quota", ("throttled", True, 7.0)),
        (408, "timeout", ("timeout", True, 7.0)),
        (500, "server_error", ("unavailable", True, 7.0)),
        (502, "bad_gateway", ("unavailable", True, 7.0)),
        (503, "overloaded", ("unavailable", True, 7.0)),
        (504, "timeout_error", ("timeout", True, 7.0)),
        (529, "overloaded_error", ("unavailable", True, 7.0)),
        (400, "invalid_request_error", ("rejected", False, None)),
        (401, "invalid_api_key", ("rejected", False, None)),
        (403, "permission_error", ("rejected", False, None)),
        (404, "model_not_found", ("rejected", False, None)),
        (413, "request_too_large", ("rejected", False, None)),
        (204, "none", ("rejected", False, None)),
    ],
)
def test_a_status_says_what_to_do(status: int, kind: str, expected: object, vendor: Vendor, endpoint: Endpoint) -> None:
    """And the provider's word for it is told; its sentence, which quotes key and prompt, is not."""
    quoting = {"type": kind, "message": f"Incorrect API key {KEY} for {PROMPT}", "param": PROMPT}
    endpoint.answers({"error": quoting}, status=status, retry_after="7")
    if status == 204:
        endpoint.answers(b"", status=204)
    error = failing(vendor.at(endpoint.url))
    assert expected == outcome(error)
    assert error.detail == (f"status {status}: {kind}" if status != 204 else "status 204")
    assert len(endpoint.asked) == 1, "whoever asks decides whether to ask again"


def test_a_date_to_wait_for_that_has_passed_is_no_wait(vendor: Vendor, endpoint: Endpoint) -> None:
    endpoint.answers({}, status=429, retry_after="Wed, 21 Oct 2015 07:28:00 GMT")
    assert ("throttled", True, 0.0) == outcome(failing(vendor.at(endpoint.url)))


@pytest.mark.parametrize("pace", ["never", "drop by drop"])
def test_an_answer_that_is_late_is_not_waited_for(pace: Pace, vendor: Vendor, endpoint: Endpoint) -> None:
    """Also when it comes in drops, of which each is in time."""
    endpoint.answers(vendor.answer("x" * 1000))
    endpoint.pace = pace
    error = failing(vendor.at(endpoint.url, timeout_seconds=0.15))
    assert (("timeout", True, None), "no answer within 0.15 s") == (outcome(error), error.detail)


def test_an_answer_that_breaks_off_may_be_asked_for_again(vendor: Vendor, endpoint: Endpoint) -> None:
    endpoint.answers(vendor.answer("All is well."))
    endpoint.pace = "half"
    assert ("unavailable", True, None) == outcome(failing(vendor.at(endpoint.url)))


def test_a_refused_connection_is_not_called_a_time_out(vendor: Vendor) -> None:
    assert ("unavailable", True, None) == outcome(failing(vendor.at(unreachable())))


def test_a_host_that_cannot_be_named_is_not_asked_again(vendor: Vendor) -> None:
    assert ("rejected", False, None) == outcome(failing(vendor.at("http://127.0.0.1:99999")))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_does_not_carry_the_key_elsewhere(status: int, vendor: Vendor, endpoint: Endpoint) -> None:
    with serving() as elsewhere:
        elsewhere.answers(vendor.answer("Got it."))
        endpoint.answers(b"", status=status, location=f"{elsewhere.url}/v1")
        error = failing(vendor.at(endpoint.url))
    assert (("rejected", False, None), f"status {status}") == (outcome(error), error.detail)
    assert not elsewhere.asked


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>Bad gateway</html>",
        b"\xff\xfe",
        b"[1, 2]",
        b"null",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        f'{{"{PROMPT}": "{KEY}"'.encode(),
    ],
    ids=["nothing", "html", "no text", "list", "null", "deep lists", "deep objects", "cut JSON that quotes"],
)
@pytest.mark.parametrize("status", [200, 500])
def test_garbage_is_no_answer(body: bytes, status: int, vendor: Vendor, endpoint: Endpoint) -> None:
    """A failure that cannot be read is a failure all the same."""
    endpoint.answers(body, status=status)
    error = failing(vendor.at(endpoint.url))
    expected = ("rejected", "the answer is no JSON object") if status == 200 else ("unavailable", "status 500")
    assert expected == (error.reason, error.detail)


@pytest.mark.parametrize("word", [KEY, PROMPT, 17, None, ["x"], {}, "", "x" * 61, "é"])
def test_what_is_no_word_is_not_told(word: object, vendor: Vendor, endpoint: Endpoint) -> None:
    """But the type is, where the code is none."""
    endpoint.answers({"error": {"code": word, "type": "BadRequestError"}}, status=400)
    assert failing(vendor.at(endpoint.url)).detail == "status 400: BadRequestError"
    endpoint.answers({"error": word}, status=400)
    assert failing(vendor.at(endpoint.url)).detail == "status 400"


@pytest.mark.parametrize("packed", [False, True])
def test_an_answer_has_a_bound(packed: bool, vendor: Vendor, endpoint: Endpoint) -> None:
    """Also one that is small until it is unpacked. One that keeps it is taken."""
    frame = len(json.dumps(vendor.answer("")))
    model = vendor.at(endpoint.url)

    def answers(text: str) -> None:
        body = json.dumps(vendor.answer(text)).encode()
        if packed:
            endpoint.answers(gzip.compress(body), content_encoding="gzip")
        else:
            endpoint.answers(body)

    answers("x" * (MAX_ANSWER_BYTES - frame))
    assert len(model.complete(REQUEST).text or "") == MAX_ANSWER_BYTES - frame
    answers("x" * (MAX_ANSWER_BYTES - frame + 1))
    assert failing(model).detail == f"the answer has more than {MAX_ANSWER_BYTES} bytes"


@pytest.mark.parametrize("key", [f"{KEY}\n", f"{KEY}\r\nx: y", f"{KEY}é", f"\x00{KEY}", f"{KEY}…"])
def test_a_key_that_is_no_header_is_neither_sent_nor_told(key: str, vendor: Vendor, endpoint: Endpoint) -> None:
    error = failing(vendor.at(endpoint.url, key=key))
    assert ("rejected", False, None) == outcome(error)
    assert "the key cannot be sent" in error.detail
    assert not endpoint.asked


def test_a_lone_surrogate_is_no_answer(vendor: Vendor, endpoint: Endpoint) -> None:
    """It could not be kept."""
    endpoint.answers(vendor.answer("half a sign: \ud83d"))
    assert ("rejected", False, None) == outcome(failing(vendor.at(endpoint.url)))


def test_signs_of_every_script_arrive(vendor: Vendor, endpoint: Endpoint) -> None:
    endpoint.answers(vendor.answer("Здравствуйте 🙂 \u2028"))
    reply = vendor.at(endpoint.url).complete(ModelRequest("日本", (Message.user("ÄÖ 🙂"),), 10))
    assert reply.text == "Здравствуйте 🙂 \u2028"
    assert endpoint.asked[0].body["messages"][-1] == {"role": "user", "content": "ÄÖ 🙂"}


def test_one_connection_serves_several_questions(vendor: Vendor, endpoint: Endpoint) -> None:
    """Also a question after a failure."""
    model = vendor.at(endpoint.url)
    endpoint.answers({}, status=500)
    failing(model)
    endpoint.answers(vendor.answer("ok"))
    assert [model.complete(REQUEST).text for _ in range(3)] == ["ok"] * 3
    assert len({asked.port for asked in endpoint.asked}) == 1


CALL = ToolCall("c1", "look", "{}")


@pytest.mark.parametrize(
    ("message", "pointer"),
    [
        (Message.system("Be brief."), "/messages/1/role"),
        (Message.tool([ToolResult("c1", "look", "x", "ok")]), "/messages/1/role"),
        (Message.assistant("Let me see.", calls=[CALL]), "/messages/1/content"),
        (Message.assistant(calls=[CALL]), "/messages/1/content"),
        (
            Message.of({"role": "user", "content": [{"type": "provider", "provider": "p", "data": {}}]}),
            "/messages/1/content",
        ),
    ],
)
def test_what_is_not_text_of_user_or_assistant_is_refused_before_anything_is_sent(
    message: Message, pointer: str, vendor: Vendor, endpoint: Endpoint
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        vendor.at(endpoint.url).complete(ModelRequest("s", (Message.user("u"), message), 10))
    assert [pointer] == [error.pointer for error in caught.value.errors]
    assert not endpoint.asked
