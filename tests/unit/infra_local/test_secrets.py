"""Keys of models: from the shell into the engine's Secrets Manager, and nowhere else."""

from typing import Any

import boto3
import pytest
from moto import mock_aws

from infra.local import secrets
from infra.local.deployment import Target

MODELS = {"a": {"provider": "openai", "secret": "A_KEY"}, "b": {"provider": "openai", "secret": "B_KEY"}, "c": {}}


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The engine's Secrets Manager."""
    with mock_aws():
        client = boto3.client("secretsmanager", region_name="us-east-1")
        monkeypatch.setattr(Target, "client", lambda self, service: client)
        yield Target("http://127.0.0.1:1")


def test_a_key_is_written_again_when_it_has_changed(target: Any) -> None:
    said: list[str] = []
    secrets.bring(MODELS, target, {"A_KEY": "one", "B_KEY": "two"}, said.append)
    secrets.bring(MODELS, target, {"A_KEY": "three"}, said.append)
    manager = target.client("secretsmanager")
    values = [manager.get_secret_value(SecretId=name)["SecretString"] for name in ("A_KEY", "B_KEY")]
    assert values == ["three", "two"]
    assert len(said) == 1
    assert "B_KEY" in said[0]
    assert "three" not in said[0]


def test_without_secrets_nobody_is_asked() -> None:
    secrets.bring({"scripted": {"provider": "scripted"}}, None, {}, print)  # type: ignore[arg-type]
