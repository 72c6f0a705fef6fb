"""The Lambda function behind the HTTP API."""

from __future__ import annotations

from turnlog.hosting.start import initialising

with initialising() as watch:
    from . import dependencies, observability
    from .resolver import Resolver

    lambda_handler = Resolver(dependencies.production)
    dependencies.warm_up()
observability.report_start(watch.compiled)
