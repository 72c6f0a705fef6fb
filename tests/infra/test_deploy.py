"""What ``make deploy``, ``make destroy`` and ``make synth`` hand to the CDK CLI."""

import os
import stat
from pathlib import Path

import pytest

from infra import deploy, synth
from infra.deploy import CDK_CLI, deploy_words, find_cdk
from infra.settings import SettingsError

ISSUER = "https://issuer.example.com"


def _program(folder: Path, name: str, says: str = "", status: int = 0) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho \"$0 $@\" >> {folder}/calls\necho '{says}'\nexit {status}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_issuer_and_audience_become_parameters() -> None:
    words = deploy_words(ISSUER, "one,two", ["encryption=kms"])
    assert [f"Turnlog-cloud-Service:Issuer={ISSUER}", "Turnlog-cloud-Service:Audience=one,two"] == [
        words[i + 1] for i, word in enumerate(words) if word == "--parameters"
    ]
    assert ["--context", "encryption=kms"] == words[-2:]


@pytest.mark.parametrize(
    ("issuer", "audience", "named"),
    [("", "turnlog", "ISSUER"), (ISSUER, "", "AUDIENCE"), ("http://127.0.0.1:8788", "turnlog", "issuer")],
)
def test_what_is_missing_or_local_is_refused_before_anything_is_deployed(
    issuer: str, audience: str, named: str
) -> None:
    with pytest.raises(SettingsError, match=named):
        deploy_words(issuer, audience, [])


def test_a_recent_cdk_on_the_path_is_used(tmp_path: Path) -> None:
    cdk = _program(tmp_path, "cdk", "2.1200.3 (build abc)")
    assert [str(cdk)] == find_cdk({"PATH": f"{tmp_path}:/bin"})


@pytest.mark.parametrize("version", ["2.150.0 (build x)", "1.204.0", "nonsense"])
def test_an_older_cdk_is_passed_over_for_the_pinned_one(tmp_path: Path, version: str) -> None:
    _program(tmp_path, "cdk", version)
    npx = _program(tmp_path, "npx")
    assert [str(npx), "--yes", CDK_CLI] == find_cdk({"PATH": f"{tmp_path}:/bin"})


def test_the_npx_of_the_packaged_node_is_found(tmp_path: Path) -> None:
    node = tmp_path / "bin" / "node"
    npx = tmp_path / "lib" / "node_modules" / "npm" / "bin" / "npx-cli.js"
    for path in (node, npx):
        path.parent.mkdir(parents=True)
        path.touch()
    assert [str(node), str(npx), "--yes", CDK_CLI] == find_cdk({"PATH": str(tmp_path), "JSII_NODE": str(node)})


def test_without_cdk_and_npx_it_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="Node"):
        find_cdk({"PATH": str(tmp_path)})


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A CDK CLI that writes down how it is called."""
    _program(tmp_path, "cdk", "2.1200.0")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin:/usr/bin")
    return tmp_path


def test_destroy_leaves_the_stack_with_the_data(cli: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == deploy.main(["destroy"])
    call = (cli / "calls").read_text().splitlines()[-1]
    assert "destroy --exclusively Turnlog-cloud-Monitoring Turnlog-cloud-Service" in call
    assert "Storage" not in call
    assert "Turnlog-cloud-Storage" in capsys.readouterr().out


def test_a_failed_deploy_says_how_to_bootstrap(
    cli: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deploy, "find_cdk", lambda _: [str(_program(cli, "failing", status=3))])
    assert 3 == deploy.main(["deploy", "--issuer", ISSUER, "--audience", "turnlog"])
    assert "make bootstrap ENVIRONMENT=aws://" in capsys.readouterr().err


def test_bootstrap_runs_away_from_the_app(cli: Path) -> None:
    """The CLI would synthesise the app that it finds in its folder."""
    (cli / "cdk").write_text(
        f"#!/bin/sh\nif [ $1 = --version ]; then echo 2.1200.0; else echo $@ > {cli}/said; ls > {cli}/files; fi\n"
    )
    assert 0 == deploy.main(["bootstrap", "aws://123456789012/eu-central-1"])
    assert ("bootstrap aws://123456789012/eu-central-1\n", "") == (
        (cli / "said").read_text(),
        (cli / "files").read_text(),
    )


def test_bootstrap_wants_an_account_and_a_region(cli: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == deploy.main(["bootstrap", ""])
    assert "aws://" in capsys.readouterr().err


def test_synth_names_a_setting_that_is_wrong(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert 2 == synth.main(["-c", "encryption=none", "-o", str(tmp_path)])
    assert "encryption" in capsys.readouterr().err
