"""What the environment decides for this function, read once and checked as a whole."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from turnlog.domain.session import DEFAULT_TTL_SECONDS

from .limits import MAX_TTL_SECONDS, MIN_TTL_SECONDS


class SettingsError(ValueError):
    """A variable is missing or has a value that it cannot have; the message names it."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The function's configuration.

    ``tenant_claim`` and ``user_claim`` name the JWT claims that say who is calling;
    ``default_ttl_seconds`` and ``allow_system_messages`` are the stage's defaults for new sessions.
    """

    table: str
    bucket: str
    stage: str
    tenant_claim: str = "custom:tenant"
    user_claim: str = "sub"
    allow_system_messages: bool = False
    default_ttl_seconds: int = DEFAULT_TTL_SECONDS

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
