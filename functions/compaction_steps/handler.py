"""The Lambda function behind the state machine of summarising compactions."""

from __future__ import annotations

from turnlog.hosting.start import initialising

with initialising() as watch:
    from . import dependencies, observability
    from .steps import Steps

    lambda_handler = Steps(dependencies.production)
    dependencies.warm_up()
observability.telemetry.report_start(watch.compiled)
