"""The composition root: who talks to what in this function."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

from turnlog.domain.due import DueView
from turnlog.domain.instant import Instant
from turnlog.domain.ports import Clock, SessionRepository, UploadStore
from turnlog.service import ServiceSettings, SessionService

from .settings import Settings, settings

if TYPE_CHECKING:
    from turnlog.compactor import Compactor, Policies, SummaryModel, SummaryStarter
    from turnlog.stores.dynamodb import Connection


class SystemClock:
    """The machine's clock, in whole milliseconds."""

    def now(self) -> Instant:
        """The present instant."""
        return Instant.of_ms(time.time_ns() // 1_000_000)


@dataclass(frozen=True)
class Dependencies:
    """Everything that a request needs from outside itself; tests hand in their own."""

    settings: Settings
    repository_for: Callable[[str], SessionRepository]
    clock: Clock
    uploads_for: Callable[[str], UploadStore]
    starter_for: Callable[[str], SummaryStarter] | None = None

    def service_for(self, tenant: str) -> SessionService:
        """The service over one tenant's sessions."""
        defaults = ServiceSettings(
            default_ttl_seconds=self.settings.default_ttl_seconds,
            allow_system_messages=self.settings.allow_system_messages,
        )
        return SessionService(
            self.repository_for(tenant),
            clock=self.clock,
            settings=defaults,
            uploads=self.uploads_for(tenant),
            due=self._is_due,
        )

    def compactor_for(self, tenant: str) -> Compactor:
        """Compaction of one tenant's sessions; a model is asked elsewhere."""
        from turnlog.compactor import Compactor  # noqa: PLC0415  (who compacts pays for it, not each cold start)

        starter = None if self.starter_for is None else self.starter_for(tenant)
        return Compactor(
            self.repository_for(tenant),
            clock=self.clock,
            policies=self._policies,
            models=_Names(self.settings.models if starter is not None else ()),
            starter=starter,
        )

    def _is_due(self, view: DueView) -> bool:
        """Whether an append asks for a pass. Sessions without a policy never do, and pay for nothing."""
        if view.policy is None and self.settings.compaction is None:
            return False
        return self._policies.is_due(view)

    @cached_property
    def _policies(self) -> Policies:
        from turnlog.compactor import Policies  # noqa: PLC0415  (as above)

        return Policies(self.clock, self.settings.compaction)


@dataclass(frozen=True)
class _Names:
    """The models of the stage, by name only: this function asks none."""

    names: tuple[str, ...]

    def find(self, name: str) -> SummaryModel | None:
        """None: it is another function that asks."""
        return None


@cache
def production() -> Dependencies:
    """The real ones, made once per execution environment.

    The store is imported here and not above: only this function needs boto3, so tests, the
    OpenAPI generator and the two public routes start without it.
    """
    from turnlog.stores.dynamodb import connect  # noqa: PLC0415  (see above)

    config = settings()
    connection = connect(config.table, config.bucket)
    return Dependencies(config, connection, SystemClock(), connection.uploads, _starters(config.machine, connection))


def _starters(machine: str | None, connection: Connection) -> Callable[[str], SummaryStarter] | None:
    if machine is None:
        return None

    def starter(tenant: str) -> SummaryStarter:
        from turnlog.workflows.stepfunctions import StateMachine  # noqa: PLC0415  (who starts one pays for it)

        return StateMachine(machine).for_tenant(connection.tenant_key(tenant))

    return starter


def warm_up() -> None:
    """Make the client while Lambda initialises the environment, when it grants a whole core;
    the first request would otherwise pay for it. Does nothing outside Lambda."""
    if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:
        production()
