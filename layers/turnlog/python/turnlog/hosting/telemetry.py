"""Logs and metrics of the functions behind streams and state machines, through Powertools: the one
module of the library that knows it, and nothing else of the library imports this one.

Never in a log: message content, metadata, or the name of a tenant or a session (their hashes are there).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import MetricUnit, single_metric

NAMESPACE: Final = "Turnlog"
NAMED: Final = 5
"""How many of the modules that were compiled at the start the log names."""

HASH_DIGITS: Final = 16


class Telemetry:
    """The log and the metrics of one function."""

    def __init__(self, service: str) -> None:
        self._service = service
        self.logger = Logger(service=service)

    def count(self, name: str, value: int = 1, **dimensions: str) -> None:
        """One metric, at once."""
        with single_metric(
            name=name,
            unit=MetricUnit.Count,
            value=value,
            namespace=NAMESPACE,
            default_dimensions={"service": self._service, **dimensions},
        ):
            pass

    def report_start(self, compiled: Sequence[str]) -> None:
        """Warn of the modules that were compiled at the start, and count them; quiet when there are none."""
        if compiled:
            extra = {"count": len(compiled), "modules": list(compiled[:NAMED])}
            self.logger.warning("compiled at start", extra=extra)
            self.count("CompiledAtStart", len(compiled))


def hashed(text: str) -> str:
    """How a log names what it must not name: the first hex digits of the SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_DIGITS]
