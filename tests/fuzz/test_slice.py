"""A small slice of ``make fuzz``: the function in this process, the same hooks and the same checks."""

from __future__ import annotations

from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import ignored_auth

from tests.fuzz import hooks
from tests.fuzz.api import Seed, Target, sow
from tests.fuzz.gateway import BASE, TOKEN, InProcess
from tests.support.session_api import DOCUMENT, Api

CONFIG = schemathesis.Config.from_path(Path(__file__).parent / "schemathesis.toml")
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT, config=CONFIG)
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def target() -> Target:
    return Target(BASE, TOKEN, InProcess(Api()).connect())


@pytest.fixture(scope="module")
def seeds(target: Target) -> tuple[Seed, ...]:
    return sow(target)


@pytest.fixture(autouse=True)
def fuzz(target: Target, seeds: tuple[Seed, ...], monkeypatch: pytest.MonkeyPatch) -> hooks.Fuzz:
    run = hooks.Fuzz(target, seeds, has_token=True)
    monkeypatch.setattr(hooks, "fuzz", lambda: run)
    return run


@SCHEMA.parametrize()
@settings(max_examples=5, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_operation_keeps_to_its_document(case: hooks.Case, target: Target) -> None:
    """Whatever the document lets a client send, and what it does not."""
    case.call_and_validate(base_url=BASE, session=target.session, headers=AUTHORIZED, excluded_checks=[ignored_auth])
