"""The composition root: who talks to what in this function."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from turnlog.compactor import Policies, Summaries
from turnlog.domain.exactjson import JsonObject
from turnlog.hosting.clock import SystemClock
from turnlog.providers.book import StageModels
from turnlog.stores.dynamodb import connect


class SettingsError(ValueError):
    """A variable is missing; the message names it."""


@dataclass(frozen=True)
class Dependencies:
    """Everything that a step needs from outside itself; tests hand in their own.

    ``summaries_for`` takes a tenant as it stands in keys.
    """

    summaries_for: Callable[[str], Summaries]


@cache
def production() -> Dependencies:
    """The real ones, made once per execution environment.

    Raises:
        SettingsError: a required variable is missing.
        InvalidRequest: the stage's models, or its policy, cannot be read.
    """
    environment = os.environ
    table, bucket = _required(environment, "TURNLOG_TABLE"), _required(environment, "TURNLOG_BUCKET")
    policy = environment.get("TURNLOG_COMPACTION")
    connection, clock = connect(table, bucket), SystemClock()
    models = StageModels.parse(environment.get("TURNLOG_MODELS", ""))
    policies = Policies(clock, JsonObject.parse(policy) if policy else None)

    def summaries_for(tenant: str) -> Summaries:
        return Summaries(
            connection(tenant), clock=clock, models=models, parts=connection.parts(tenant), policies=policies
        )

    return Dependencies(summaries_for)


def _required(environment: Mapping[str, str], name: str) -> str:
    value = environment.get(name, "")
    if not value:
        raise SettingsError(f"{name} is not set")
    return value


def warm_up() -> None:
    """Make the clients while Lambda initialises the environment. Does nothing outside Lambda."""
    if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:
        production()
