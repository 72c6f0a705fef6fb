"""Settings, the composition root and the handler's import."""

import subprocess
import sys

import pytest

from session_api import dependencies
from session_api.settings import Settings, SettingsError
from tests.support.session_api import FakeStarter
from turnlog.compactor import CompactCommand
from turnlog.domain.errors import InvalidRequest
from turnlog.domain.event import EventDraft
from turnlog.domain.exactjson import JsonObject
from turnlog.domain.message import Message
from turnlog.service import CreateSession
from turnlog.stores.memory import InMemorySessionRepository, MemoryDatabase
from turnlog.stores.memory_uploads import InMemoryUploadStore, MemoryBucket
from turnlog.testing.clock import ManualClock

REQUIRED = {"TURNLOG_TABLE": "t", "TURNLOG_BUCKET": "b", "TURNLOG_STAGE": "local"}


def test_settings_have_defaults_for_all_but_table_bucket_and_stage() -> None:
    """As DESIGN 10 names them; an empty variable counts as unset."""
    defaults = Settings(table="t", bucket="b", stage="local")

    assert defaults == Settings.from_environment(REQUIRED)
    assert defaults == Settings.from_environment(
        {**REQUIRED, "TURNLOG_TENANT_CLAIM": "", "TURNLOG_DEFAULT_TTL_SECONDS": ""}
    )
    assert ("custom:tenant", "sub", False, 5_184_000) == (
        defaults.tenant_claim,
        defaults.user_claim,
        defaults.allow_system_messages,
        defaults.default_ttl_seconds,
    )


def test_settings_read_every_variable() -> None:
    """Each one ends in its own field."""
    environment = {
        **REQUIRED,
        "TURNLOG_TENANT_CLAIM": "org",
        "TURNLOG_USER_CLAIM": "email",
        "TURNLOG_ALLOW_SYSTEM_MESSAGES": "true",
        "TURNLOG_DEFAULT_TTL_SECONDS": "60",
        "TURNLOG_COMPACTION": '{"trigger":{"type":"never"},"strategy":{"type":"turn_window","max_turns":9}}',
        "TURNLOG_MODELS": '{"small":{"provider":"scripted"},"large":{}}',
        "TURNLOG_COMPACTION_MACHINE": "arn:aws:states:eu-central-1:123456789012:stateMachine:m",
    }

    assert Settings(
        table="t",
        bucket="b",
        stage="local",
        tenant_claim="org",
        user_claim="email",
        allow_system_messages=True,
        default_ttl_seconds=60,
        compaction=JsonObject(environment["TURNLOG_COMPACTION"]),
        models=("small", "large"),
        machine=environment["TURNLOG_COMPACTION_MACHINE"],
    ) == Settings.from_environment(environment)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, "") for name in REQUIRED),
        ("TURNLOG_ALLOW_SYSTEM_MESSAGES", "yes"),
        ("TURNLOG_DEFAULT_TTL_SECONDS", "59"),
        ("TURNLOG_DEFAULT_TTL_SECONDS", "1e9"),
        ("TURNLOG_DEFAULT_TTL_SECONDS", "-60"),
        ("TURNLOG_DEFAULT_TTL_SECONDS", "٦٠"),
        ("TURNLOG_DEFAULT_TTL_SECONDS", "99999999999"),
        *(("TURNLOG_COMPACTION", value) for value in ("{", "[]", "null", "1")),
        *(("TURNLOG_MODELS", value) for value in ("{", '["small"]', "1")),
    ],
)
def test_a_bad_setting_is_named(name: str, value: str) -> None:
    """At the start, not in the middle of a request."""
    with pytest.raises(SettingsError, match=name):
        Settings.from_environment({**REQUIRED, name: value})


def test_the_service_gets_the_stages_defaults_and_the_tenants_stores() -> None:
    """One service per tenant and request, over what the root hands out."""
    asked = []

    def uploads_for(tenant: str) -> InMemoryUploadStore:
        asked.append(f"uploads of {tenant}")
        return InMemoryUploadStore(tenant, bucket=MemoryBucket(ManualClock().now))

    def repository_for(tenant: str) -> InMemorySessionRepository:
        asked.append(tenant)
        return InMemorySessionRepository(tenant)

    config = Settings(table="t", bucket="b", stage="x", allow_system_messages=True, default_ttl_seconds=99)
    service = dependencies.Dependencies(config, repository_for, ManualClock(), uploads_for).service_for("acme")

    assert ["acme", "uploads of acme"] == asked
    assert (99, True) == (service.settings.default_ttl_seconds, service.settings.allow_system_messages)


STRATEGY = {"type": "recursive_summarization", "max_events_to_keep": 1, "overlap_size": 0, "model": "small"}


def _compacting(models: tuple[str, ...], starter: FakeStarter | None) -> str:
    """What becomes of a summary by "small" of a session of two turns, in a stage that has these models."""
    config = Settings(table="t", bucket="b", stage="x", models=models)
    database, clock, asked = MemoryDatabase(), ManualClock(), list[str]()

    def starter_for(tenant: str) -> FakeStarter:
        asked.append(tenant)
        assert starter is not None
        return starter

    root = dependencies.Dependencies(
        config,
        lambda tenant: InMemorySessionRepository(tenant, database=database),
        clock,
        lambda tenant: InMemoryUploadStore(tenant, bucket=MemoryBucket(clock.now)),
        None if starter is None else starter_for,
    )
    service = root.service_for("acme")
    service.create(CreateSession(user_id="alice", id="s"))
    service.append("alice", "s", tuple(EventDraft(Message.user(text)) for text in "ab"))
    answer = root.compactor_for("acme").compact("alice", "s", CompactCommand(strategy=JsonObject.of(STRATEGY)))
    assert asked == ["acme"]
    return answer.status


def test_a_summary_is_started_for_the_tenant_by_the_models_of_the_stage() -> None:
    """This function asks no model itself."""
    starter = FakeStarter()
    assert "started" == _compacting(("small",), starter)
    assert ["s"] == [job.session_id for job in starter.jobs]


@pytest.mark.parametrize(("models", "starter"), [(("large",), FakeStarter()), (("small",), None)])
def test_without_the_model_or_the_machine_there_is_no_summary(
    models: tuple[str, ...], starter: FakeStarter | None
) -> None:
    """It is refused before anything is written."""
    with pytest.raises(InvalidRequest, match="is not a model of this stage"):
        _compacting(models, starter)


def test_the_clock_is_in_whole_milliseconds() -> None:
    """As the ports want it."""
    assert 0 == dependencies.SystemClock().now().ns % 1_000_000


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Python in a process of its own, with nothing but this environment."""
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)


def test_the_handler_imports_without_an_environment_and_without_the_heavy_packages() -> None:
    """Neither boto3 nor the documents' models, no X-Ray SDK, and nothing of compaction: cold starts pay for each."""
    heavy = (
        "boto3",
        "botocore.session",
        "aws_xray_sdk",
        "session_api.answers",
        "session_api.openapi",
        "jsonschema",
        "turnlog.compaction",
        "turnlog.compactor",
        "turnlog.workflows",
        "turnlog.providers",
    )
    code = f"import sys, session_api.handler; print([m for m in {heavy!r} if m in sys.modules])"

    assert ("[]\n", "") == (run(code).stdout, run(code).stderr)


def test_in_lambda_the_import_makes_the_dependencies_and_reports_a_bad_setting() -> None:
    """Init is where a missing variable should fail."""
    done = run("import session_api.handler", AWS_LAMBDA_FUNCTION_NAME="f", TURNLOG_TABLE="t", TURNLOG_BUCKET="b")

    assert 1 == done.returncode
    assert "TURNLOG_STAGE is not set" in done.stderr


def test_in_lambda_the_import_makes_the_client() -> None:
    """Once, before the first request."""
    environment = {**REQUIRED, "AWS_LAMBDA_FUNCTION_NAME": "f", "AWS_DEFAULT_REGION": "eu-central-1"}
    code = "from session_api import handler, dependencies as d; print(d.production.cache_info().currsize)"

    assert "1\n" == run(code, **environment).stdout
