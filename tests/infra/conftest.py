"""Both stages, synthesised once with small assets."""

from pathlib import Path

import pytest

from infra.app import build, read_context
from infra.assets import PROJECT
from infra.settings import Settings
from tests.support.assets import SmallAssets
from tests.support.templates import Assembly

LOCAL = ("stage=local", "issuer=http://127.0.0.1:8788/issuer", "audience=turnlog", "host_python=3.11")
SECURED = (
    "encryption=kms",
    'iam_principals={"123456789012/Agents": ["acme", "umbrella"], "123456789012/Ops": "*"}',
    "alarm_email=ops@example.com",
)


def _synthesise(arguments: tuple[str, ...], folder: Path) -> Assembly:
    context = read_context(arguments, project=PROJECT, environment={})
    settings = Settings.from_context(context)
    build(settings, assets=SmallAssets(folder), context=context, outdir=str(folder / "cdk.out")).synth()
    return Assembly(stage=settings.stage, folder=folder / "cdk.out")


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """The cloud stage without any context of its own."""
    return _synthesise((), tmp_path_factory.mktemp("cloud"))


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """The cloud stage with everything that is off by default: a key, the IAM twin, mail."""
    return _synthesise(SECURED, tmp_path_factory.mktemp("secured"))


@pytest.fixture(scope="session")
def local(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """The local stage, as on a machine with an x86 processor."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("platform.machine", lambda: "x86_64")
        return _synthesise(LOCAL, tmp_path_factory.mktemp("local"))


@pytest.fixture(params=["cloud", "local"])
def stage(request: pytest.FixtureRequest) -> Assembly:
    """Each stage in turn, for what both must have."""
    found: Assembly = request.getfixturevalue(request.param)
    return found
