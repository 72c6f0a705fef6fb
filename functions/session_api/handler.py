"""The Lambda function behind the HTTP API."""

from __future__ import annotations

from . import dependencies
from .resolver import Resolver

lambda_handler = Resolver(dependencies.production)
dependencies.warm_up()
