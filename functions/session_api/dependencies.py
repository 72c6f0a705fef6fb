"""The composition root: who talks to what in this function."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from turnlog.domain.instant import Instant
from turnlog.domain.ports import Clock, SessionRepository, UploadStore
from turnlog.service import ServiceSettings, SessionService

from .settings import Settings, settings


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

    def service_for(self, tenant: str) -> SessionService:
        """The service over one tenant's sessions."""
        defaults = ServiceSettings(
            default_ttl_seconds=self.settings.default_ttl_seconds,
            allow_system_messages=self.settings.allow_system_messages,
        )
        return SessionService(
            self.repository_for(tenant), clock=self.clock, settings=defaults, uploads=self.uploads_for(tenant)
        )


@cache
def production() -> Dependencies:
    """The real ones, made once per execution environment.

    The store is imported here and not above: only this function needs boto3, so tests, the
    OpenAPI generator and the two public routes start without it.
    """
    from turnlog.stores.dynamodb import connect  # noqa: PLC0415  (see above)

    config = settings()
    connection = connect(config.table, config.bucket)
    return Dependencies(config, connection, SystemClock(), connection.uploads)


def warm_up() -> None:
    """Make the client while Lambda initialises the environment, when it grants a whole core;
    the first request would otherwise pay for it. Does nothing outside Lambda."""
    if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:
        production()
