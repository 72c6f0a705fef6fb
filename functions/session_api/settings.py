"""What the environment decides for this function, read once and checked as a whole."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final, Literal

from turnlog.domain.errors import TurnlogError
from turnlog.domain.exactjson import JsonObject
from turnlog.domain.session import DEFAULT_TTL_SECONDS

from .limits import MAX_TTL_SECONDS, MIN_TTL_SECONDS
from .names import names_somebody

Principals = Mapping[str, frozenset[str] | Literal["*"]]
"""``<account>/<role name>`` and the tenants that the role may act for; ``"*"`` is every tenant."""

_PRINCIPAL: Final = re.compile(r"\d{12}/[\w+=,.@-]{1,64}", re.ASCII)


class SettingsError(ValueError):
    """A variable is missing or has a value that it cannot have; the message names it."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The function's configuration.

    ``tenant_claim`` and ``user_claim`` name the JWT claims that say who is calling;
    ``default_ttl_seconds`` and ``allow_system_messages`` are the stage's defaults for new sessions.
    ``principals`` says who may come in through the IAM routes; without any there are none.
    ``compaction`` is the policy of sessions that have none, ``models`` names those that may write
    summaries, and ``machine`` is the state machine that has them written.
    """

    table: str
    bucket: str
    stage: str
    tenant_claim: str = "custom:tenant"
    user_claim: str = "sub"
    allow_system_messages: bool = False
    default_ttl_seconds: int = DEFAULT_TTL_SECONDS
    principals: Principals = field(default_factory=dict)
    compaction: JsonObject | None = None
    models: tuple[str, ...] = ()
    machine: str | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        """From the ``TURNLOG_*`` variables.

        Raises:
            SettingsError: a required variable is missing, or one has an unusable value.
        """
        return cls(
            table=_required(environment, "TURNLOG_TABLE"),
            bucket=_required(environment, "TURNLOG_BUCKET"),
            stage=_required(environment, "TURNLOG_STAGE"),
            tenant_claim=environment.get("TURNLOG_TENANT_CLAIM") or cls.tenant_claim,
            user_claim=environment.get("TURNLOG_USER_CLAIM") or cls.user_claim,
            allow_system_messages=_flag(environment, "TURNLOG_ALLOW_SYSTEM_MESSAGES"),
            default_ttl_seconds=_ttl(environment, "TURNLOG_DEFAULT_TTL_SECONDS"),
            principals=_principals(environment, "TURNLOG_IAM_PRINCIPALS"),
            compaction=_policy(environment, "TURNLOG_COMPACTION"),
            models=_names(environment, "TURNLOG_MODELS"),
            machine=environment.get("TURNLOG_COMPACTION_MACHINE") or None,
        )


@cache
def settings() -> Settings:
    """The settings of this execution environment."""
    return Settings.from_environment(os.environ)


def _required(environment: Mapping[str, str], name: str) -> str:
    value = environment.get(name, "")
    if not value:
        raise SettingsError(f"{name} is not set")
    return value


def _flag(environment: Mapping[str, str], name: str) -> bool:
    value = environment.get(name) or "false"
    if value not in ("true", "false"):
        raise SettingsError(f"{name} must be true or false, not {value!r}")
    return value == "true"


def _ttl(environment: Mapping[str, str], name: str) -> int:
    value = environment.get(name) or str(DEFAULT_TTL_SECONDS)
    if not (value.isascii() and value.isdigit()) or not MIN_TTL_SECONDS <= int(value) <= MAX_TTL_SECONDS:
        raise SettingsError(f"{name} must be whole seconds from {MIN_TTL_SECONDS} to {MAX_TTL_SECONDS}, not {value!r}")
    return int(value)


def _policy(environment: Mapping[str, str], name: str) -> JsonObject | None:
    """Any JSON object: who deploys a stage checks it as a policy (``turnlog.hosting.stage``)."""
    text = environment.get(name)
    if not text:
        return None
    try:
        return JsonObject.parse(text)
    except TurnlogError:
        raise SettingsError(f"{name} is not a JSON object") from None


def _names(environment: Mapping[str, str], name: str) -> tuple[str, ...]:
    """The names alone: no model is asked here."""
    try:
        value = json.loads(environment.get(name) or "{}")
    except json.JSONDecodeError:
        raise SettingsError(f"{name} is not JSON") from None
    if not isinstance(value, dict):
        raise SettingsError(f"{name} must be an object")
    return tuple(value)


def _principals(environment: Mapping[str, str], name: str) -> Principals:
    """A JSON object; Lambda's limit of 4 KB for all variables together bounds it."""
    try:
        value = json.loads(environment.get(name) or "{}", object_pairs_hook=lambda pairs: _once(name, pairs))
    except json.JSONDecodeError:
        raise SettingsError(f"{name} is not JSON") from None
    if not isinstance(value, dict):
        raise SettingsError(f"{name} must be an object")
    return {principal: _tenants(name, principal, tenants) for principal, tenants in value.items()}


def _once(name: str, pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object whose keys differ: of two entries for a role, the second would replace what the first allows."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise SettingsError(f"{name} names a key twice")
    return found


def _tenants(name: str, principal: str, value: object) -> frozenset[str] | Literal["*"]:
    if not _PRINCIPAL.fullmatch(principal):
        raise SettingsError(f"{name} names {principal!r}, which is not <account>/<role name>")
    if value == "*":
        return "*"
    if (
        isinstance(value, list)
        and value
        and all(isinstance(tenant, str) and names_somebody(tenant) for tenant in value)
    ):
        return frozenset(value)
    raise SettingsError(f'{name} must give {principal} a list of tenants, or "*"')
