"""From a stage's setting to a client: the right one, and nothing of the others."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.support.asking import KEY, REQUEST, failing
from tests.support.endpoint import Endpoint
from turnlog.domain.models import ModelClient, ModelRejected, ModelSpec, ModelUnavailable, parse_models
from turnlog.providers import connect
from turnlog.providers.book import StageModels
from turnlog.testing.models import PlayedModel

SETTING = {
    "gpt": {"provider": "openai", "model": "m", "window_tokens": 32000, "secret": "s"},
    "claude": {"provider": "anthropic", "model": "m", "window_tokens": 32000, "secret": "s"},
    "haiku": {"provider": "bedrock", "model": "m", "window_tokens": 200000, "max_output_tokens": 100000},
    "scripted": {"provider": "scripted", "model": "echo", "window_tokens": 1024, "max_output_tokens": 100},
}

SPECS = parse_models(json.dumps(SETTING))


def _nobody(name: str) -> str:
    raise AssertionError(f"asked for {name}")


@pytest.mark.parametrize("name", SETTING)
def test_every_provider_has_its_client(name: str) -> None:
    assert SETTING[name]["provider"] == connect(SPECS[name], secrets=_nobody).name


HEAVY = ("botocore", "boto3", "urllib3")
ADAPTERS = {"gpt": "openai_chat", "claude": "anthropic", "haiku": "bedrock", "scripted": "scripted"}


@pytest.mark.parametrize("name", SETTING)
def test_only_the_adapter_that_is_asked_is_imported(name: str) -> None:
    """And its SDK not before the first question."""
    code = (
        "import json, sys\n"
        "from turnlog.domain.models import ModelSpec\n"
        "from turnlog.providers import connect\n"
        f"connect(ModelSpec.parse('m', {SETTING[name]!r}))\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = set(json.loads(done.stdout))
    assert [ADAPTERS[name]] == [a for a in ADAPTERS.values() if f"turnlog.providers.{a}" in imported]
    assert not imported & {*HEAVY, "turnlog.providers.secrets"}


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_key_is_fetched_by_name_for_each_question(provider: str, endpoint: Endpoint) -> None:
    """So that a rotated one is found; whoever keeps it remembers it."""
    asked: list[str] = []

    def secrets(name: str) -> str:
        asked.append(name)
        return KEY

    spec = ModelSpec.parse("m", {**SETTING["gpt"], "provider": provider, "base_url": endpoint.url})
    model = connect(spec, secrets=secrets)
    assert [] == asked
    failing(model)
    failing(model)
    assert ["s", "s"] == asked
    assert KEY in str(endpoint.asked[0].headers)


def test_a_key_that_cannot_be_had_ends_the_question_before_it_is_asked(endpoint: Endpoint) -> None:
    def secrets(name: str) -> str:
        raise ModelUnavailable("not just now")

    spec = ModelSpec.parse("m", {**SETTING["gpt"], "base_url": endpoint.url})
    assert failing(connect(spec, secrets=secrets)).detail == "not just now"
    assert not endpoint.asked


def test_without_a_secret_nobody_is_asked_for_one(endpoint: Endpoint) -> None:
    spec = ModelSpec("openai", "m", 32000, base_url=endpoint.url)
    assert isinstance(failing(connect(spec, secrets=_nobody)), ModelRejected)
    assert "authorization" not in endpoint.asked[0].headers


def test_a_stage_connects_a_model_when_it_is_first_asked_for_and_once() -> None:
    """A summary may be as long as an eighth of its model's window, or as the setting allows."""
    connected: list[ModelSpec] = []

    def connect_to(spec: ModelSpec) -> ModelClient:
        connected.append(spec)
        return PlayedModel()

    models = StageModels(SPECS, connect_to=connect_to)
    assert (("gpt", "claude", "haiku", "scripted"), []) == (models.names, connected)
    found = [models.find("haiku"), models.find("haiku"), models.find("scripted"), models.find("none")]
    assert [SPECS["haiku"], SPECS["scripted"]] == connected
    assert found[0] == found[1]
    assert found[3] is None
    assert [("haiku", 200000, 25000), ("scripted", 1024, 100)] == [
        (model.name, model.window_tokens, model.max_output_tokens) for model in (found[0], found[2]) if model
    ]


def test_a_stage_is_read_from_its_setting() -> None:
    model = StageModels.parse(json.dumps(SETTING)).find("scripted")
    assert model
    assert model.client.complete(REQUEST).text == "Go on."
    assert () == StageModels.parse("").names
