"""Settings: what a stage takes, and that a laptop's issuer cannot get into an account."""

import json

import pytest

from infra.settings import CLOUD_TARGET, LambdaTarget, Settings, SettingsError, host_target

LOCAL = {"stage": "local", "issuer": "http://127.0.0.1:8788/issuer", "audience": "turnlog"}


@pytest.mark.parametrize(
    "issuer",
    [
        "http://issuer.example.com",
        "http://127.0.0.1:8788/issuer",
        "https://127.0.0.1:8788/issuer",
        "https://127.0.0.1",
        "https://[::1]/issuer",
        "https://10.1.2.3/issuer",
        "https://localhost",
        "https://localhost:8788/issuer",
        "https://issuer.localhost",
        "https://issuer.localhost:443/x",
        "https://issuer.localhost./x",
        "https://127.1/x",
        "https://ISSUER.LOCALHOST/",
        "https://issuer",
        "https://issuer.example.com:8788",
        "https://user@issuer.example.com",
        "https://issuer.example.com/with space",
        "https://issuer.example.com\n",
        "issuer.example.com",
    ],
)
def test_a_cloud_deploy_refuses_an_issuer_that_is_not_public(issuer: str) -> None:
    with pytest.raises(SettingsError, match="issuer"):
        Settings(stage="cloud", issuer=issuer, audience=("turnlog",))


@pytest.mark.parametrize(
    "issuer",
    [
        "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_AbCdEfGhI",
        "https://example.eu.auth0.com/",
        "https://login.example.com:443/realms/agents",
        "https://localhost.example.com",
    ],
)
def test_a_cloud_deploy_takes_a_public_issuer(issuer: str) -> None:
    assert issuer == Settings(stage="cloud", issuer=issuer, audience=("turnlog",)).issuer


@pytest.mark.parametrize(
    "issuer", ["", "https://issuer.example.com", "http://localhost:8788", "http://0.0.0.0:8788", "http://127.0.0.1"]
)
def test_the_local_stage_takes_only_an_issuer_on_the_loopback_interface(issuer: str) -> None:
    with pytest.raises(SettingsError, match="issuer"):
        Settings.from_context({**LOCAL, "issuer": issuer})


@pytest.mark.parametrize("given", [{"issuer": "https://a.example.com"}, {"audience": "turnlog"}])
def test_issuer_and_audience_go_together(given: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match="go together"):
        Settings.from_context(given)


def test_without_context_it_is_the_cloud_with_its_defaults() -> None:
    assert Settings() == Settings.from_context({"@aws-cdk/core:checkSecretUsage": True})


def test_context_from_a_command_line_is_text() -> None:
    """The CDK CLI hands over every ``-c`` value as a string."""
    text = {
        "audience": "one, two",
        "issuer": "https://a.example.com",
        "allow_system_messages": "true",
        "default_ttl_seconds": "3600",
        "log_retention_days": "90",
        "log_level": "debug",
        "timeout_seconds": "20",
    }
    typed = {
        "audience": ["one", "two"],
        "issuer": "https://a.example.com",
        "allow_system_messages": True,
        "default_ttl_seconds": 3600,
        "log_retention_days": 90,
        "log_level": "DEBUG",
        "timeout_seconds": 20,
    }
    settings = Settings.from_context(text)
    assert settings == Settings.from_context(typed)
    assert (("one", "two"), True, 3600, 90, "DEBUG", 20) == (
        settings.audience,
        settings.allow_system_messages,
        settings.default_ttl_seconds,
        settings.log_retention_days,
        settings.log_level,
        settings.timeout_seconds,
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("stage", "prod"),
        ("stage", 3),
        ("audience", 5),
        ("audience", ["a", 1]),
        ("tenant_claim", " "),
        ("user_claim", ""),
        ("allow_system_messages", "yes"),
        ("default_ttl_seconds", "59"),
        ("default_ttl_seconds", 3155760001),
        ("default_ttl_seconds", "an hour"),
        ("default_ttl_seconds", True),
        ("log_level", "verbose"),
        ("log_retention_days", 8),
        ("noncurrent_days", 0),
        ("memory_mb", 256),
        ("memory_mb", -1),
        ("timeout_seconds", 30),
        ("timeout_seconds", 10),
        ("public_rate", 0),
        ("host_python", "3.11"),
    ],
)
def test_a_value_that_cannot_be_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(SettingsError, match=f"^{name}: "):
        Settings.from_context({name: value})


def test_the_cloud_runs_on_one_python_and_arm_whatever_the_host() -> None:
    assert LambdaTarget(python="3.13", arm64=True, platform="manylinux2014_aarch64") == Settings().target
    assert "python3.13" == Settings().target.runtime


def test_the_local_stage_runs_on_the_hosts_python_and_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    target = Settings.from_context({**LOCAL, "host_python": "3.12"}).target
    assert LambdaTarget(python="3.12", arm64=True, platform=None) == target
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    assert not Settings.from_context(LOCAL).target.arm64


@pytest.mark.parametrize(
    ("python", "runtime"), [("3.11", "python3.11"), ("3.14", "python3.14"), ("3.15", "python3.14")]
)
def test_a_python_without_a_runtime_takes_the_nearest_one(python: str, runtime: str) -> None:
    assert runtime == host_target(python).runtime


@pytest.mark.parametrize("python", ["3", "2.7", "3.11.7", "python3.11"])
def test_a_host_python_is_major_and_minor(python: str) -> None:
    with pytest.raises(SettingsError, match="host_python"):
        host_target(python)


def test_targets_that_need_other_wheels_have_other_names() -> None:
    targets = [CLOUD_TARGET, *(LambdaTarget(p, a, None) for p in ("3.11", "3.13") for a in (True, False))]
    assert 5 == len({target.name for target in targets})


PRINCIPALS = '{"123456789012/Agents": ["acme"], "123456789012/Ops": "*"}'


def test_principals_come_as_json_or_as_an_object() -> None:
    text = Settings.from_context({"iam_principals": PRINCIPALS})
    assert text == Settings.from_context({"iam_principals": json.loads(PRINCIPALS)})
    assert {"123456789012/Agents": ("acme",), "123456789012/Ops": "*"} == text.iam_principals
    assert json.loads(PRINCIPALS) == json.loads(text.principals_json)


@pytest.mark.parametrize(
    "principals",
    [
        "{",
        "[]",
        '{"Agents": ["acme"]}',
        '{"12345678901/Agents": ["acme"]}',
        '{"123456789012/": ["acme"]}',
        '{"123456789012/a/b": ["acme"]}',
        '{"123456789012/Agents": []}',
        '{"123456789012/Agents": [" "]}',
        '{"123456789012/Agents": "acme"}',
        '{"123456789012/Agents": [1]}',
        '{"123456789012/Agents": null}',
        json.dumps({"123456789012/Agents": ["x" * 3000]}),
        {"arn:aws:iam::123456789012:role/Agents": ["acme"]},
    ],
)
def test_principals_that_nobody_can_be_are_refused(principals: object) -> None:
    with pytest.raises(SettingsError, match="iam_principals"):
        Settings.from_context({"iam_principals": principals})


def test_the_laptop_has_no_twin() -> None:
    with pytest.raises(SettingsError, match="iam_principals"):
        Settings.from_context({**LOCAL, "iam_principals": PRINCIPALS})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("encryption", "none"),
        ("request_rate", "0"),
        ("alarm_email", "nobody"),
        ("alarm_topic", "arn:aws:sqs:eu-central-1:123456789012:x"),
        ("alarm_topic", "turnlog"),
    ],
)
def test_what_is_no_encryption_rate_or_address_is_refused(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        Settings.from_context({name: value})


def test_alarms_go_to_one_place() -> None:
    topic = "arn:aws:sns:eu-central-1:123456789012:alarms"
    assert topic == Settings.from_context({"alarm_topic": topic}).alarm_topic
    with pytest.raises(SettingsError, match="alarm_email"):
        Settings.from_context({"alarm_topic": topic, "alarm_email": "ops@example.com"})


@pytest.mark.parametrize(
    ("name", "meant"), [("encrypton", "encryption"), ("alarm_emial", "alarm_email"), ("foo", "known are")]
)
def test_a_setting_that_there_is_not_is_refused(name: str, meant: str) -> None:
    """It would deploy without the key, or without anybody to tell."""
    with pytest.raises(SettingsError, match=meant):
        Settings.from_context({name: "x"})
