"""Keys out of Secrets Manager."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError
from botocore.parsers import ResponseParserError
from botocore.stub import Stubber

from tests.support.asking import KEY
from turnlog.domain.models import ModelError, ModelRejected, ModelUnavailable
from turnlog.providers.secrets import FRESH_SECONDS, SecretsManager, _client


@pytest.fixture(scope="module")
def client() -> Any:
    """The SDK's client, made once: it takes a moment."""
    return _client()


@pytest.fixture
def stub(client: Any) -> Iterator[Stubber]:
    """Answers in place of the service."""
    with Stubber(client) as stub:
        yield stub


def holds(stub: Stubber, name: str, text: str | None) -> None:
    answer: dict[str, Any] = {"Name": name} | ({"SecretBinary": b"x"} if text is None else {"SecretString": text})
    stub.add_response("get_secret_value", answer, {"SecretId": name})


def refusal(manager: SecretsManager) -> ModelError:
    with pytest.raises(ModelError) as caught:
        manager.get("openai")
    told = "".join([repr(caught.value), *traceback.format_exception(caught.value)])
    assert KEY not in told
    return caught.value


@pytest.mark.parametrize(
    "text", [KEY, f" {KEY}\n", json.dumps({"api_key": KEY}), f'\n{{"org": "o", "api_key": " {KEY}\\n"}}\n']
)
def test_a_secret_is_the_key_or_an_object_with_it(text: str, client: Any, stub: Stubber) -> None:
    holds(stub, "openai", text)
    assert KEY == SecretsManager(lambda: client).get("openai")


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "  ",
        "{}",
        '{"key": "x"}',
        '{"api_key": 1}',
        '{"api_key": ""}',
        f'{{"api_key": "{KEY}"',
        f"{KEY}\nb",
        "clé",
    ],
)
def test_a_secret_without_a_key_is_none(text: str | None, client: Any, stub: Stubber) -> None:
    if text == "":
        text = " "  # the service keeps no empty one
    holds(stub, "openai", text)
    error = refusal(SecretsManager(lambda: client))
    assert isinstance(error, ModelRejected)
    assert "holds none" in error.detail


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("ResourceNotFoundException", 400, ModelRejected),
        ("AccessDeniedException", 400, ModelRejected),
        ("DecryptionFailure", 400, ModelRejected),
        ("ThrottlingException", 400, ModelUnavailable),
        ("InternalServiceError", 500, ModelUnavailable),
    ],
)
def test_a_code_says_whether_to_try_again(
    code: str, status: int, kind: type[ModelError], client: Any, stub: Stubber
) -> None:
    stub.add_client_error("get_secret_value", code, "no", status)
    error = refusal(SecretsManager(lambda: client))
    assert type(error) is kind
    assert code in error.detail


@pytest.mark.parametrize(
    "failure", [EndpointConnectionError(endpoint_url="https://x"), ResponseParserError(f'invalid JSON: b"{KEY}')]
)
def test_a_service_that_cannot_be_reached_or_read_is_tried_again(failure: Exception) -> None:
    """What it answered is not told: it may be the key."""

    class Broken:
        def get_secret_value(self, **_: object) -> Any:
            raise failure

    error = refusal(SecretsManager(Broken))
    assert isinstance(error, ModelUnavailable)
    assert type(failure).__name__ in error.detail


def test_a_key_is_remembered_for_a_while_each_by_its_name(client: Any, stub: Stubber) -> None:
    now = 1000.0
    manager = SecretsManager(lambda: client, lambda: now)
    holds(stub, "openai", "first")
    assert ["first", "first"] == [manager.get("openai") for _ in range(2)]
    holds(stub, "anthropic", "other")
    assert ["other", "first"] == [manager.get("anthropic"), manager.get("openai")]
    now += FRESH_SECONDS - 1
    assert manager.get("openai") == "first"
    now += 1
    holds(stub, "openai", "rotated")
    assert manager.get("openai") == "rotated"
    stub.assert_no_pending_responses()


def test_a_failure_is_not_remembered(client: Any, stub: Stubber) -> None:
    manager = SecretsManager(lambda: client)
    stub.add_client_error("get_secret_value", "ResourceNotFoundException", "no", 400)
    refusal(manager)
    holds(stub, "openai", KEY)
    assert manager.get("openai") == KEY
