"""What differs between deployments, as one frozen value.

Stage differences are values here, never an ``if stage`` in a construct.
"""

from __future__ import annotations

import difflib
import json
import platform as host
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

Stage = Literal["cloud", "local"]
Encryption = Literal["aws", "kms"]
Principals = Mapping[str, tuple[str, ...] | Literal["*"]]
"""``<account>/<role name>`` and the tenants that the role may act for; ``"*"`` is every tenant."""

Models = Mapping[str, dict[str, Any]]
"""A name, and provider, model and limits of what it stands for (docs/compaction.md)."""

PRINCIPAL = r"\d{12}/[\w+=,.@-]{1,64}"
"""An account's id and the name of a role in it (IAM: role names have at most 64 characters)."""

MAX_VARIABLES_BYTES = 3000
"""For principals, policy and models together: Lambda takes 4 KB for all variables of a function, and
the others need less than 1 KB."""

ALARM_TOPIC = r"arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]{1,256}"
EMAIL = r"[^@\s]+@[^@\s]+\.[^@\s]+"

CLOUD_ISSUER = r"https://(?:[a-z0-9-]+\.)+(?!localhost(?:[:/]|$))[a-z][a-z0-9-]*(?::443)?(?:/[!-~]*)?"
"""An issuer that a cloud deploy accepts: https, and a host name in small letters, with a dot, that
does not end in ``localhost``. No loopback name or IP address matches, so that a laptop's issuer
cannot get in. Also the pattern of the template's ``Issuer`` parameter, hence only what Java and
Python read alike."""

LOCAL_ISSUER = r"http://127\.0\.0\.1:\d{1,5}(?:/[!-~]*)?"
"""The issuer of the local stage: the loopback interface and nothing else."""

CLOUD_PYTHON = "3.13"
LAMBDA_PYTHONS = (11, 14)
"""The lowest and highest minor version that we support and that Lambda has a runtime for."""

MAX_TIMEOUT_SECONDS = 29
"""Just below the 30 s after which an HTTP API gives up on its integration."""

MIN_TIMEOUT_SECONDS = 15
"""An append may fight for its slot for 10 s (DESIGN 4, append), after a cold start."""

LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
LOG_RETENTION_DAYS = (1, 7, 14, 30, 90, 180, 365)
"""A choice from what CloudWatch Logs knows."""

MIN_TTL_SECONDS = 60
"""The shortest TTL over HTTP (DESIGN 4, end of life)."""

MAX_TTL_SECONDS = 100 * 31_557_600
"""The longest TTL over HTTP: 100 years of 365.25 days. The function refuses to start beyond."""


def base_model(model: str) -> str:
    """A model of Bedrock behind an inference profile, whose name begins with the area that it spreads over."""
    return re.sub(r"^(us|eu|apac|global|us-gov|jp|au|ca)\.", "", model)


class SettingsError(ValueError):
    """A setting is missing or has a value that it cannot have; the message names it."""


@dataclass(frozen=True)
class LambdaTarget:
    """What a function runs on: decides which wheels go into a layer and which bytecode is usable.

    ``platform`` is pip's name for the platform of the wheels; None is the machine at hand.
    """

    python: str
    arm64: bool
    platform: str | None

    @property
    def name(self) -> str:
        """A name for caches: the same name, the same wheels."""
        cpu = "arm64" if self.arm64 else "x86_64"
        return f"py{self.python}-{self.platform or f'{sys.platform}-{cpu}'}"

    @property
    def runtime(self) -> str:
        """The Lambda runtime that is nearest to ``python``. The local engine runs any of them on
        its own interpreter, so that a Python newer than Lambda's newest still works there."""
        lowest, highest = LAMBDA_PYTHONS
        return f"python3.{min(max(int(self.python.split('.')[1]), lowest), highest)}"


CLOUD_TARGET = LambdaTarget(python=CLOUD_PYTHON, arm64=True, platform="manylinux2014_aarch64")


def host_target(python: str | None = None) -> LambdaTarget:
    """This machine, with the given ``major.minor`` Python or the running one."""
    version = python or f"{sys.version_info.major}.{sys.version_info.minor}"
    if re.fullmatch(r"3\.\d{1,2}", version) is None:
        raise SettingsError(f"host_python: not a Python version like 3.11: {version!r}")
    return LambdaTarget(python=version, arm64=host.machine().lower() in ("arm64", "aarch64"), platform=None)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that the stacks need to know.

    ``issuer`` and ``audience`` belong together. Without them the cloud template has the parameters
    ``Issuer`` and ``Audience``, so that one synthesis serves every account; the local stage must
    have them.

    Raises:
        SettingsError: a value is outside its range, or an issuer does not fit its stage.
    """

    stage: Stage = "cloud"
    target: LambdaTarget = CLOUD_TARGET
    issuer: str | None = None
    audience: tuple[str, ...] = ()
    tenant_claim: str = "custom:tenant"
    user_claim: str = "sub"
    allow_system_messages: bool = False
    default_ttl_seconds: int | None = None
    log_level: str = "INFO"
    log_retention_days: int = 30
    noncurrent_days: int = 7
    memory_mb: int = 1024
    timeout_seconds: int = MAX_TIMEOUT_SECONDS
    public_rate: int = 50
    """Requests a second, and twice that in a burst, on each route that needs no token."""
    request_rate: int = 500
    """Requests a second, and twice that in a burst, on each other route (the gateway counts by route)."""
    encryption: Encryption = "aws"
    """Who holds the key of table, bucket, logs and topic: AWS, or the account (one key a stage)."""
    iam_principals: Principals = field(default_factory=dict)
    """Who may call the IAM twin, and for which tenants; empty: there is no twin."""
    alarm_email: str | None = None
    alarm_topic: str | None = None
    """Where alarms go: a mail address, or the ARN of an SNS topic that is there already."""
    compaction: Mapping[str, object] | None = None
    """The policy of sessions that have none of their own."""
    models: Models = field(default_factory=dict)
    """The models that may write summaries, by the names that policies use."""

    def __post_init__(self) -> None:
        self._check_issuer()
        _require(self.log_level in LOG_LEVELS, "log_level", f"one of {', '.join(LOG_LEVELS)}")
        days = self.log_retention_days
        _require(days in LOG_RETENTION_DAYS, "log_retention_days", f"one of {', '.join(map(str, LOG_RETENTION_DAYS))}")
        _require(bool(self.tenant_claim), "tenant_claim", "the name of a claim")
        _require(bool(self.user_claim), "user_claim", "the name of a claim")
        _require(self.memory_mb >= 512, "memory_mb", "512 or more")
        in_time = MIN_TIMEOUT_SECONDS <= self.timeout_seconds <= MAX_TIMEOUT_SECONDS
        _require(in_time, "timeout_seconds", f"from {MIN_TIMEOUT_SECONDS} to {MAX_TIMEOUT_SECONDS}")
        _require(self.noncurrent_days >= 1, "noncurrent_days", "1 or more")
        _require(self.public_rate >= 1, "public_rate", "1 or more")
        ttl = self.default_ttl_seconds
        in_range = ttl is None or MIN_TTL_SECONDS <= ttl <= MAX_TTL_SECONDS
        _require(in_range, "default_ttl_seconds", f"from {MIN_TTL_SECONDS} to {MAX_TTL_SECONDS}")
        _require(self.request_rate >= 1, "request_rate", "1 or more")
        _require(self.encryption in ("aws", "kms"), "encryption", "aws or kms")
        self._check_principals()
        self._check_alarms()

    def _check_issuer(self) -> None:
        if bool(self.issuer) != bool(self.audience):
            raise SettingsError("issuer and audience go together: give both or neither")
        if self.stage == "local":
            ok = self.issuer is not None and re.fullmatch(LOCAL_ISSUER, self.issuer) is not None
            _require(ok, "issuer", "http://127.0.0.1:<port> in the local stage")
        elif self.issuer is not None and re.fullmatch(CLOUD_ISSUER, self.issuer) is None:
            raise SettingsError(
                f"issuer: the cloud stage takes an https issuer on a public host name, not {self.issuer!r}"
            )

    def _check_principals(self) -> None:
        _require(self.stage == "cloud" or not self.iam_principals, "iam_principals", "empty in the local stage")
        for principal, tenants in self.iam_principals.items():
            known = re.fullmatch(PRINCIPAL, principal, re.ASCII) is not None
            _require(known, "iam_principals", f"named <account>/<role name>, not {principal!r}")
            named = tenants == "*" or (bool(tenants) and all(tenant.strip() for tenant in tenants))
            _require(named, "iam_principals", f'a list of tenants, or "*", for {principal}')
        size = sum(len(value.encode()) for value in (self.principals_json, *self.compaction_environment.values()))
        names = "iam_principals, compaction and models"
        _require(size <= MAX_VARIABLES_BYTES, names, f"at most {MAX_VARIABLES_BYTES} bytes of JSON together")

    def _check_alarms(self) -> None:
        _require(self.alarm_email is None or self.alarm_topic is None, "alarm_email", "left out beside alarm_topic")
        if self.alarm_email is not None:
            _require(re.fullmatch(EMAIL, self.alarm_email) is not None, "alarm_email", "a mail address")
        if self.alarm_topic is not None:
            _require(re.fullmatch(ALARM_TOPIC, self.alarm_topic) is not None, "alarm_topic", "the ARN of an SNS topic")

    @property
    def principals_json(self) -> str:
        """The principals as the function reads them."""
        return json.dumps(self.iam_principals, separators=(",", ":"), sort_keys=True)

    @property
    def compaction_environment(self) -> dict[str, str]:
        """The stage's policy and models as the functions read them; what is not set is left out."""
        found = {"TURNLOG_COMPACTION": self.compaction, "TURNLOG_MODELS": self.models or None}
        return {name: json.dumps(value, separators=(",", ":")) for name, value in found.items() if value is not None}

    @property
    def follows_streams(self) -> bool:
        """Whether Lambda itself reads the table's stream; on the laptop the stream pump does, by the
        same settings (docs/local.md)."""
        return self.stage == "cloud"

    @property
    def is_monitored(self) -> bool:
        """Whether alarms and a dashboard watch over it."""
        return self.stage == "cloud"

    @property
    def keeps_data(self) -> bool:
        """Whether table and bucket outlive their stack."""
        return self.stage == "cloud"

    @property
    def stack_prefix(self) -> str:
        """What the ids of this stage's stacks start with."""
        return f"Turnlog-{self.stage}"

    @property
    def asset_bucket(self) -> str | None:
        """The bucket that holds the assets; None is the one of the account's CDK bootstrap."""
        return "turnlog-local-assets" if self.stage == "local" else None

    @classmethod
    def from_context(cls, context: Mapping[str, object]) -> Settings:
        """Read the settings from CDK context: ``-c name=value`` or cdk.json.

        Values may be JSON values or the strings of a command line. Names: ``stage``, ``issuer``,
        ``audience`` (a list, or words separated by commas), ``host_python`` (local stage only) and
        the names of the other fields. Context whose name is not one word is left alone: it is the CDK's.

        Raises:
            SettingsError: a value does not parse or is not allowed.
        """
        _check_names(context, {*cls.__dataclass_fields__, "host_python"} - {"target"})
        stage = _text(context, "stage", "cloud")
        if stage not in ("cloud", "local"):
            raise SettingsError(f"stage: cloud or local, not {stage!r}")
        return cls(
            stage=cast("Stage", stage),
            target=_target(stage, context),
            issuer=_text(context, "issuer", "") or None,
            audience=_words(context, "audience"),
            tenant_claim=_text(context, "tenant_claim", cls.tenant_claim),
            user_claim=_text(context, "user_claim", cls.user_claim),
            allow_system_messages=_flag(context, "allow_system_messages", cls.allow_system_messages),
            default_ttl_seconds=_optional_number(context, "default_ttl_seconds"),
            log_level=_text(context, "log_level", cls.log_level).upper(),
            log_retention_days=_number(context, "log_retention_days", cls.log_retention_days),
            noncurrent_days=_number(context, "noncurrent_days", cls.noncurrent_days),
            memory_mb=_number(context, "memory_mb", cls.memory_mb),
            timeout_seconds=_number(context, "timeout_seconds", cls.timeout_seconds),
            public_rate=_number(context, "public_rate", cls.public_rate),
            request_rate=_number(context, "request_rate", cls.request_rate),
            encryption=cast("Encryption", _text(context, "encryption", cls.encryption)),
            iam_principals=_principals(context),
            alarm_email=_text(context, "alarm_email", "") or None,
            alarm_topic=_text(context, "alarm_topic", "") or None,
            compaction=_json_object(context, "compaction") or None,
            models=_models(context),
        )


def _require(holds: bool, name: str, rule: str) -> None:
    if not holds:
        raise SettingsError(f"{name}: must be {rule}")


def _check_names(context: Mapping[str, object], known: set[str]) -> None:
    """A misspelled setting would deploy without it. The CDK's own names have other characters in them."""
    for name in context:
        if re.fullmatch(r"[A-Za-z_]+", name) and name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else f"; known are {', '.join(sorted(known))}"
            raise SettingsError(f"{name}: there is no such setting{hint}")


def _target(stage: str, context: Mapping[str, object]) -> LambdaTarget:
    python = _text(context, "host_python", "") or None
    if stage == "local":
        return host_target(python)
    if python is not None:
        raise SettingsError("host_python: only the local stage runs on the host's Python")
    return CLOUD_TARGET


def _text(context: Mapping[str, object], name: str, default: str) -> str:
    value = context.get(name, default)
    if not isinstance(value, str):
        raise SettingsError(f"{name}: must be a string, not {value!r}")
    return value.strip()


def _words(context: Mapping[str, object], name: str) -> tuple[str, ...]:
    value = context.get(name, "")
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise SettingsError(f"{name}: must be a string or a list of strings, not {value!r}")
    return tuple(word.strip() for word in words if word.strip())


def _flag(context: Mapping[str, object], name: str, default: bool) -> bool:
    value = context.get(name, default)
    if isinstance(value, bool):
        return value
    if value in ("true", "false"):
        return value == "true"
    raise SettingsError(f"{name}: must be true or false, not {value!r}")


def _number(context: Mapping[str, object], name: str, default: int) -> int:
    value = context.get(name, default)
    if isinstance(value, str) and re.fullmatch(r"\d{1,10}", value):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    raise SettingsError(f"{name}: must be a whole number, not {value!r}")


def _optional_number(context: Mapping[str, object], name: str) -> int | None:
    return None if context.get(name) in (None, "") else _number(context, name, 0)


def _json_object(context: Mapping[str, object], name: str) -> dict[str, Any]:
    """A JSON object, as it is in cdk.json, or as text on a command line; empty when it is not set."""
    value = context.get(name) or {}
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise SettingsError(f"{name}: must be JSON") from None
    if not isinstance(value, dict):
        raise SettingsError(f"{name}: must be an object")
    return value


def _principals(context: Mapping[str, object]) -> Principals:
    found = _json_object(context, "iam_principals")
    return {name: _tenants(name, tenants) for name, tenants in found.items()}


def _models(context: Mapping[str, object]) -> Models:
    """What the grants need is looked at here; the rest is checked by the library (infra/stage_check.py)."""
    found = _json_object(context, "models")
    for name, spec in found.items():
        for part in ("provider", "model"):
            if not isinstance(spec, dict) or not isinstance(spec.get(part), str) or not spec[part]:
                raise SettingsError(f"models: {name} must have a {part}")
    return found


def _tenants(principal: str, value: object) -> tuple[str, ...] | Literal["*"]:
    if value == "*":
        return "*"
    if isinstance(value, list) and all(isinstance(tenant, str) for tenant in value):
        return tuple(value)
    raise SettingsError(f'iam_principals: must be a list of tenants, or "*", for {principal}')
