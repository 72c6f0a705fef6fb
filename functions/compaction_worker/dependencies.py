"""The composition root: who talks to what in this function."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from turnlog.compactor import Compactor, Policies, SummaryModel
from turnlog.hosting.clock import SystemClock
from turnlog.stores.dynamodb import Connection, connect
from turnlog.workflows.stepfunctions import StateMachine

from .settings import Settings


@dataclass(frozen=True)
class Names:
    """The models of the stage, by name only: it is another function that asks them."""

    names: tuple[str, ...]

    def find(self, name: str) -> SummaryModel | None:
        """None."""
        return None


@dataclass(frozen=True)
class Dependencies:
    """Everything that the worker needs from outside itself; tests hand in their own.

    ``compactor_for`` takes a tenant as it stands in keys.
    """

    connection: Connection
    compactor_for: Callable[[str], Compactor]
    clock: SystemClock


@cache
def production() -> Dependencies:
    """The real ones, made once per execution environment."""
    settings = Settings.from_environment(os.environ)
    connection, clock = connect(settings.table, settings.bucket), SystemClock()
    machine = StateMachine(settings.machine)
    policies = Policies(clock, settings.compaction)

    def compactor_for(tenant: str) -> Compactor:
        return Compactor(
            connection(tenant),
            clock=clock,
            policies=policies,
            models=Names(settings.models),
            starter=machine.for_tenant(str(tenant)),
        )

    return Dependencies(connection, compactor_for, clock)


def warm_up() -> None:
    """Make the clients while Lambda initialises the environment. Does nothing outside Lambda."""
    if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:
        production()
