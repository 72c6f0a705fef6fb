"""The wheel alone in a clean environment, with each extra alone: it brings what its part needs, and nothing more."""

from __future__ import annotations

from pathlib import Path

import pytest

import turnlog
from tests.support.distributions import Clean, install
from tests.support.tree import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("packaging")]

THIRD_PARTY = ("httpx", "boto3", "botocore", "pydantic", "aws_lambda_powertools", "moto", "hypothesis", "aws_cdk")
OURS = ("session_api", "infra", "tests", "functions", "layers")


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Clean:
    """No extra."""
    return install(tmp_path_factory.mktemp("none") / "env", wheel, "")


@pytest.fixture(scope="module")
def client(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Clean:
    """The client's extra, and pytest to run the client's tests with."""
    return install(tmp_path_factory.mktemp("client") / "env", wheel, "client", beside=("pytest",))


@pytest.fixture(scope="module")
def aws(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Clean:
    """The store's extra."""
    return install(tmp_path_factory.mktemp("aws") / "env", wheel, "aws")


@pytest.fixture(scope="module")
def functions(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Clean:
    """The functions' extra."""
    return install(tmp_path_factory.mktemp("lambda") / "env", wheel, "lambda")


def answers(clean: Clean, code: str, **environment: str) -> str:
    """What the code prints; warnings are errors."""
    done = clean.run("-I", "-W", "error", "-c", code, environment=environment)
    assert (0, "") == (done.returncode, done.stderr)
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("environment", "brought"),
    [
        ("bare", []),
        ("client", ["httpx"]),
        ("aws", ["boto3", "botocore"]),
        ("functions", ["boto3", "botocore", "pydantic", "aws_lambda_powertools"]),
    ],
)
def test_an_extra_brings_what_it_names_and_no_other_part(
    environment: str, brought: list[str], request: pytest.FixtureRequest
) -> None:
    """And nothing of the checkout beside the library."""
    clean: Clean = request.getfixturevalue(environment)

    assert brought == clean.importable(*THIRD_PARTY)
    assert [] == clean.importable(*OURS)


def test_without_an_extra_there_are_domain_service_and_the_store_in_memory(bare: Clean) -> None:
    """They run on the standard library; the version is the metadata's."""
    code = """
import importlib.metadata, turnlog, turnlog.domain.ports, turnlog.hosting.start, turnlog.service, turnlog.stores.memory
from turnlog.testing.clock import ManualClock
from turnlog.service import CreateSession, SessionService, ServiceSettings
service = SessionService(turnlog.stores.memory.InMemorySessionRepository("acme"), clock=ManualClock())
print(service.create(CreateSession("ann", "s")).id, importlib.metadata.version("turnlog"))
"""
    assert f"s {turnlog.__version__}" == answers(bare, code)


@pytest.mark.parametrize("module", ["turnlog.client", "turnlog.stores.dynamodb"])
def test_a_part_without_its_extra_says_what_is_missing(bare: Clean, module: str) -> None:
    """The extras are needed: none is left over from a time when the part used something else."""
    done = bare.run("-I", "-c", f"import {module}")

    assert "ModuleNotFoundError: No module named" in done.stderr


def test_the_client_passes_its_own_tests(client: Clean) -> None:
    """From the wheel, with httpx and pytest: its tests lean on the store in memory, which the wheel has."""
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml")]
    tests = ROOT / "tests" / "unit" / "turnlog" / "client"
    # The checkout is on the path for tests.support alone: the library is not importable from there.
    environment = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    done = client.run(*words, "--confcutdir", str(tests), str(tests), environment=environment)

    assert 0 == done.returncode, done.stdout + done.stderr
    assert " passed" in done.stdout.splitlines()[-1]
    where = answers(client, "import turnlog.client; print(turnlog.client.__file__)")
    assert Path(where).is_relative_to(client.folder)


def test_the_store_connects_with_its_extra(aws: Clean) -> None:
    """A client is made, and no request is sent."""
    code = """
from turnlog.stores.dynamodb import connect
repository_for = connect("table", "bucket", region_name="eu-central-1")
print(type(repository_for("acme")).__name__)
"""
    assert "DynamoDBSessionRepository" == answers(aws, code)


def test_the_functions_import_with_their_extra(functions: Clean) -> None:
    """Their folder on the path, as in /var/task; the store is connected as Lambda's start does it."""
    environment = {
        "AWS_LAMBDA_FUNCTION_NAME": "f",
        "AWS_DEFAULT_REGION": "eu-central-1",
        "TURNLOG_STAGE": "test",
        "TURNLOG_TABLE": "t",
        "TURNLOG_BUCKET": "b",
    }
    code = f"""
import sys
sys.dont_write_bytecode = True
sys.path.append({str(ROOT / "functions")!r})
import session_api.dependencies, session_api.resolver
session_api.dependencies.warm_up()
print(session_api.dependencies.production.cache_info().currsize)
"""
    assert "1" == answers(functions, code, **environment)
