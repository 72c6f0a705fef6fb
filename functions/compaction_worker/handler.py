"""The Lambda function behind the table's stream and the sweep's schedule."""

from __future__ import annotations

from turnlog.hosting.start import initialising

with initialising() as watch:
    from . import dependencies, observability
    from .worker import Worker

    lambda_handler = Worker(dependencies.production)
    dependencies.warm_up()
observability.telemetry.report_start(watch.compiled)
