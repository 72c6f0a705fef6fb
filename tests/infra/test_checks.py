"""cdk-nag: nothing is found that has not been looked at, and nothing is accepted that is not found."""

import json
from pathlib import Path

import pytest

from infra.app import build, read_context
from infra.assets import PROJECT
from infra.checks import PACK, ChecksFailed, accepted, check, synthesise
from infra.settings import Settings
from tests.support.assets import SmallAssets

pytestmark = pytest.mark.slow

LOCAL = ("stage=local", "issuer=http://127.0.0.1:8788/issuer", "audience=turnlog")
SECURED = ("encryption=kms", 'iam_principals={"123456789012/Agents": ["acme"]}', "alarm_email=ops@example.com")


def _findings(words: tuple[str, ...], folder: Path) -> set[tuple[str, str]]:
    """What cdk-nag finds when nothing is accepted: path below the stack, and rule."""
    context = read_context(words, project=PROJECT, environment={})
    settings = Settings.from_context(context)
    app = build(settings, assets=SmallAssets(folder), context=context, outdir=str(folder / "out"))
    check(app, settings.stack_prefix, keep=False)
    with pytest.raises(ChecksFailed):
        synthesise(app)
    (report,) = json.loads((folder / "out" / "validation-report.json").read_text())["pluginReports"]
    return {
        (construct["constructPath"].partition("/")[2], violation["ruleName"].removeprefix(f"{PACK}-"))
        for violation in report["violations"]
        for construct in violation["violatingConstructs"]
    }


@pytest.mark.parametrize("words", [SECURED, LOCAL], ids=["cloud", "local"])
def test_what_is_found_is_exactly_what_is_accepted(words: tuple[str, ...], tmp_path: Path) -> None:
    prefix = Settings.from_context(read_context(words, project=PROJECT, environment={})).stack_prefix
    assert {(finding.path, finding.rule) for finding in accepted(prefix)} == _findings(words, tmp_path)


def test_with_what_is_accepted_the_default_cloud_stage_passes(tmp_path: Path) -> None:
    settings = Settings()
    app = build(settings, assets=SmallAssets(tmp_path), context={}, outdir=str(tmp_path / "out"))
    check(app, settings.stack_prefix)
    synthesise(app)
    assert (tmp_path / "out" / "Turnlog-cloud-Monitoring.template.json").is_file()


def test_every_reason_is_a_sentence() -> None:
    for finding in accepted("x"):
        assert finding.reason.endswith((".", ")."))
        assert len(finding.reason) > 40
