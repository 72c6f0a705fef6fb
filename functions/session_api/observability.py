"""One log line and one set of metrics for each request.

Never in the log: message content, metadata, tokens, or a tenant's name (its hash is there).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics, MetricUnit, single_metric

from .answer import Answer
from .identity import Identity

SERVICE: Final = "session_api"
NAMESPACE: Final = "Turnlog"
CONFLICTS: Final = (409, 412)

NAMED: Final = 5
"""How many of the modules that were compiled at the start the log names."""

logger = Logger(service=SERVICE)
metrics = Metrics(namespace=NAMESPACE, service=SERVICE)


def report_start(compiled: Sequence[str]) -> None:
    """Warn of the modules that were compiled at the start, and count them; quiet when there are none."""
    if not compiled:
        return
    logger.warning("compiled at start", extra={"count": len(compiled), "modules": list(compiled[:NAMED])})
    with single_metric(
        name="CompiledAtStart",
        unit=MetricUnit.Count,
        value=len(compiled),
        namespace=NAMESPACE,
        default_dimensions={"service": SERVICE},
    ):
        pass


class Watch:
    """Times one request on one route; ``request_id`` is the gateway's."""

    def __init__(self, route: str, request_id: str) -> None:
        self._route = route
        self._started = time.perf_counter()
        logger.set_correlation_id(request_id)

    def failed(self, error: Exception) -> None:
        """Log the error with its stack."""
        logger.error("failed", exc_info=error, extra={"route": self._route})

    def finish(self, answer: Answer, identity: Identity | None) -> None:
        """Write the line and the metrics."""
        elapsed_ms = round((time.perf_counter() - self._started) * 1000, 1)
        line: dict[str, object] = {"route": self._route, "status": answer.status, "elapsed_ms": elapsed_ms}
        if answer.code is not None:
            line["code"] = answer.code
        if identity is not None:
            line["tenant_hash"] = identity.tenant_hash
        logger.info("request", extra={**line, **answer.counts})
        self._emit(answer, elapsed_ms)

    def _emit(self, answer: Answer, elapsed_ms: float) -> None:
        # Only the count is split by status: every combination of dimensions is a metric that costs.
        by_status = {"service": SERVICE, "route": self._route, "status": str(answer.status)}
        with single_metric(
            name="Requests", unit=MetricUnit.Count, value=1, namespace=NAMESPACE, default_dimensions=by_status
        ):
            pass
        metrics.add_dimension(name="route", value=self._route)
        metrics.add_metric(name="Latency", unit=MetricUnit.Milliseconds, value=elapsed_ms)
        for name, value in answer.counts.items():
            metrics.add_metric(name=name, unit=MetricUnit.Count, value=value)
        if answer.status in CONFLICTS:
            metrics.add_metric(name="Conflicts", unit=MetricUnit.Count, value=1)
        metrics.flush_metrics()
