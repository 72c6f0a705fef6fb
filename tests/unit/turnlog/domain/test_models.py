"""A stage's models, read from its setting; and what a model's failure tells."""

from __future__ import annotations

import json
from typing import Any

import pytest

from turnlog.domain.errors import InvalidRequest, MalformedJson
from turnlog.domain.models import (
    ModelError,
    ModelRejected,
    ModelSpec,
    ModelThrottled,
    ModelTimeout,
    ModelUnavailable,
    parse_models,
)

HAIKU = {"provider": "bedrock", "model": "anthropic.claude-3-5-haiku-20241022-v1:0", "window_tokens": 200000}
LOCAL = {
    "provider": "openai",
    "model": "llama3",
    "base_url": "http://127.0.0.1:11434/v1",
    "window_tokens": 32000,
    "max_output_tokens": 1000,
    "secret": "OPENAI_API_KEY",
    "timeout_seconds": 240,
}
SCRIPTED = {"provider": "scripted", "model": "facts", "window_tokens": 1024, "max_output_tokens": 1023}


def test_a_setting_names_models_in_its_order() -> None:
    models = parse_models(json.dumps({"local": LOCAL, "haiku": HAIKU, "scripted": SCRIPTED}))
    assert ["local", "haiku", "scripted"] == list(models)
    assert (
        ModelSpec("openai", "llama3", 32000, 1000, "http://127.0.0.1:11434/v1", "OPENAI_API_KEY", 240)
        == models["local"]
    )
    assert ModelSpec("bedrock", HAIKU["model"], 200000, 2048, None, None, 60) == models["haiku"]  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "  \n", "{}"])
def test_a_stage_may_have_none(text: str) -> None:
    assert {} == parse_models(text)


@pytest.mark.parametrize("text", ["[]", "null", "1", '"x"'])
def test_the_setting_is_an_object(text: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_models(text)
    assert ["", "must be an object"] == [caught.value.errors[0].pointer, caught.value.errors[0].detail]


@pytest.mark.parametrize("text", ["{", "{'a': 1}", '{"a": 1, "a": 2}'])
def test_the_setting_is_json(text: str) -> None:
    """And no name stands in it twice."""
    with pytest.raises(MalformedJson):
        parse_models(text)


@pytest.mark.parametrize("name", ["a", "A-b_c.d:1", "x" * 128])
def test_a_name_that_policies_can_use(name: str) -> None:
    assert [name] == list(parse_models(json.dumps({name: SCRIPTED})))


@pytest.mark.parametrize(
    ("name", "pointer"),
    [("", "/"), ("x" * 129, f"/{'x' * 129}"), ("a b", "/a b"), ("é", "/é"), ("a/~b", "/a~1~0b"), ("a\n", "/a\n")],
)
def test_a_name_that_they_cannot(name: str, pointer: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_models(json.dumps({name: SCRIPTED}))
    assert [pointer] == [error.pointer for error in caught.value.errors]


GONE = object()


@pytest.mark.parametrize(
    ("part", "value", "detail"),
    [
        ("provider", GONE, "must be one of bedrock, openai, anthropic, scripted"),
        ("provider", "azure", "must be one of"),
        ("provider", ["openai"], "must be one of"),
        ("model", GONE, "must be a text"),
        ("model", "", "must be a text"),
        ("model", " ", "must be a text"),
        ("model", 4, "must be a text"),
        ("window_tokens", GONE, "must be a whole number"),
        ("window_tokens", "32000", "must be a whole number"),
        ("window_tokens", 32000.0, "must be a whole number"),
        ("window_tokens", True, "must be a whole number"),
        ("window_tokens", None, "must be a whole number"),
        ("window_tokens", 1023, "must be 1024 or more"),
        ("max_output_tokens", 0, "must be from 1 to less than window_tokens"),
        ("max_output_tokens", 32000, "must be from 1 to less than window_tokens"),
        ("max_output_tokens", "1000", "must be a whole number"),
        ("timeout_seconds", 0, "must be from 1 to 240"),
        ("timeout_seconds", 241, "must be from 1 to 240"),
        ("timeout_seconds", 0.5, "must be a whole number"),
        ("secret", "", "must be a text"),
        ("secret", 7, "must be a text"),
        ("base_url", "", "must be a text"),
        ("base_url", "127.0.0.1:11434", "must be an http or https URL"),
        ("base_url", "ftp://127.0.0.1", "must be an http or https URL"),
        ("base_url", "file:///etc/passwd", "must be an http or https URL"),
        ("base_url", "http://", "must be an http or https URL"),
        ("base_url", "http:///v1", "must be an http or https URL"),
        ("base_url", "http://host:port", "must be an http or https URL"),
        ("base_url", "http://host/v 1", "must be an http or https URL"),
        ("base_url", "http://host/v1\n", "must be an http or https URL"),
        ("base_url", "https://user:pass@host/v1", "must be an http or https URL"),
        ("base_url", "https://host/v1?key=x", "must be an http or https URL"),
        ("base_url", "https://host/v1#x", "must be an http or https URL"),
        ("base_url", "https://host?key=x", "must be an http or https URL"),
        ("base_url", 8080, "must be a text"),
        ("api_key", "sk-1", "is not known; known are provider, model, window_tokens"),
        ("a/b", 1, "is not known"),
    ],
)
def test_a_part_that_is_wrong_is_named(part: str, value: object, detail: str) -> None:
    spec: dict[str, Any] = {**LOCAL, part: value}
    if value is GONE:
        del spec[part]
    with pytest.raises(InvalidRequest) as caught:
        parse_models(json.dumps({"scripted": SCRIPTED, "local": spec}))
    (error,) = caught.value.errors
    assert f"/local/{part.replace('/', '~1')}" == error.pointer
    assert error.detail.startswith(detail)


@pytest.mark.parametrize("value", [None, [], "openai", 1])
def test_a_model_is_an_object(value: object) -> None:
    with pytest.raises(InvalidRequest, match="/m: must be an object"):
        ModelSpec.parse("m", value)


@pytest.mark.parametrize(
    "url", ["http://localhost", "https://host.example/", "http://[::1]:8080/v1", "https://10.0.0.1:1/a/b-c_d~e%20/"]
)
def test_a_base_url_that_paths_can_be_appended_to(url: str) -> None:
    assert url == ModelSpec.parse("m", {**LOCAL, "base_url": url}).base_url


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_vendors_own_endpoint_needs_a_key(provider: str) -> None:
    """An endpoint of one's own may do without."""
    spec = {"provider": provider, "model": "m", "window_tokens": 32000}
    with pytest.raises(InvalidRequest, match="/m/secret: must name where the key is kept"):
        ModelSpec.parse("m", spec)
    assert ModelSpec.parse("m", {**spec, "base_url": "http://127.0.0.1"}).secret is None
    assert "s" == ModelSpec.parse("m", {**spec, "secret": "s"}).secret


@pytest.mark.parametrize(
    ("kind", "reason", "retryable"),
    [
        (ModelThrottled, "throttled", True),
        (ModelUnavailable, "unavailable", True),
        (ModelTimeout, "timeout", True),
        (ModelRejected, "rejected", False),
    ],
)
def test_a_failure_has_a_word_for_logs(kind: type[ModelError], reason: str, retryable: bool) -> None:
    error = kind("status 1", retry_after_seconds=2.5)
    assert (reason, retryable, 2.5, "status 1", "status 1") == (
        error.reason,
        error.retryable,
        error.retry_after_seconds,
        error.detail,
        str(error),
    )
    assert kind("status 1").retry_after_seconds is None
