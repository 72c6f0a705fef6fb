"""The app as a command: context, Node, and errors that say what to do."""

import json
from pathlib import Path

import pytest

from infra import app
from infra.assets import PROJECT
from infra.settings import CLOUD_TARGET, Settings, SettingsError
from tests.support.assets import SmallAssets


def _cdk_json(folder: Path) -> Path:
    (folder / "cdk.json").write_text(json.dumps({"app": "x", "context": {"stage": "cloud", "flag": True, "a": 1}}))
    return folder


def test_the_command_line_wins_over_the_cli_and_the_cli_over_the_file(tmp_path: Path) -> None:
    found = app.read_context(
        ["a=3", "issuer=https://x.example.com/?a=b"],
        project=_cdk_json(tmp_path),
        environment={"CDK_CONTEXT_JSON": json.dumps({"a": 2, "stage": "local"})},
    )
    assert {"stage": "local", "flag": True, "a": "3", "issuer": "https://x.example.com/?a=b"} == found


@pytest.mark.parametrize("argument", ["stage", "=local", ""])
def test_an_argument_that_is_not_name_and_value_is_refused(argument: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="name=value"):
        app.read_context([argument], project=_cdk_json(tmp_path), environment={})


def test_a_bad_setting_ends_with_status_2_and_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == app.main(["-c", "stage=local", "-c", "issuer=https://a.example.com", "-c", "audience=x"])
    assert "infra: issuer: must be http://127.0.0.1:<port>" in capsys.readouterr().err


@pytest.mark.parametrize("variable", ["JSII_NODE", "PATH"])
def test_without_node_it_says_so(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("JSII_NODE", raising=False)
    monkeypatch.setenv(variable, str(tmp_path / "nothing"))
    assert 2 == app.main([])
    assert "JSII_NODE" in capsys.readouterr().err


def test_a_layer_without_bytecode_is_a_warning_and_not_an_error(tmp_path: Path) -> None:
    context = app.read_context([], project=PROJECT, environment={})
    assets = SmallAssets(tmp_path, compiled=False)
    app.build(Settings(), assets=assets, context=context, outdir=str(tmp_path / "cdk.out")).synth()
    metadata = json.loads((tmp_path / "cdk.out" / "Turnlog-cloud-Service.metadata.json").read_text())
    warnings = [entry for entries in metadata.values() for entry in entries if entry["type"] == "aws:cdk:warning"]
    assert 2 == len(warnings), "one for each layer, and no other"
    assert all(f"python{CLOUD_TARGET.python}" in warning["data"] for warning in warnings)
