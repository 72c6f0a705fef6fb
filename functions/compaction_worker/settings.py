"""What the environment decides for this function."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from turnlog.domain.exactjson import JsonObject


class SettingsError(ValueError):
    """A variable is missing or has a value that it cannot have; the message names it."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The function's configuration. ``compaction`` is the policy of sessions that have none, ``models``
    names those that may write summaries, and ``machine`` is the state machine that has them written."""

    table: str
    bucket: str
    machine: str
    compaction: JsonObject | None = None
    models: tuple[str, ...] = ()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        """From the ``TURNLOG_*`` variables.

        Raises:
            SettingsError: a required variable is missing, or one has an unusable value.
        """
        policy = environment.get("TURNLOG_COMPACTION")
        return cls(
            table=_required(environment, "TURNLOG_TABLE"),
            bucket=_required(environment, "TURNLOG_BUCKET"),
            machine=_required(environment, "TURNLOG_COMPACTION_MACHINE"),
            compaction=JsonObject.parse(policy) if policy else None,
            models=_names(environment, "TURNLOG_MODELS"),
        )


def _required(environment: Mapping[str, str], name: str) -> str:
    value = environment.get(name, "")
    if not value:
        raise SettingsError(f"{name} is not set")
    return value


def _names(environment: Mapping[str, str], name: str) -> tuple[str, ...]:
    """The names alone: no model is asked here."""
    value = json.loads(environment.get(name) or "{}")
    if not isinstance(value, dict):
        raise SettingsError(f"{name} must be an object")
    return tuple(value)
