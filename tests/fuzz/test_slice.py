"""A small slice of ``make fuzz``: the function in this process, the same hooks and the same checks."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import ignored_auth

from tests.fuzz import hooks
from tests.fuzz.api import Seed, Target, sow
from tests.fuzz.gateway import BASE, TOKEN, InProcess
from tests.support.session_api import DOCUMENT, Api

CONFIG = schemathesis.Config.from_path(Path(__file__).parent / "schemathesis.toml")
# Its own copy: hooks change examples in place, and other tests read the same document.
SCHEMA = schemathesis.openapi.from_dict(deepcopy(DOCUMENT), config=CONFIG)
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


def _slice_of(operation_id: str) -> Any:
    """Whatever the document lets a client send to one operation, and what it does not."""

    @SCHEMA.include(operation_id=operation_id).parametrize()
    @settings(max_examples=5, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    def keeps_to_its_document(case: hooks.Case, target: Target) -> None:
        # Left to make fuzz: the check that takes the token away sends requests of its own, past this session.
        unchecked = [ignored_auth]
        case.call_and_validate(base_url=BASE, session=target.session, headers=AUTHORIZED, excluded_checks=unchecked)

    return keeps_to_its_document


# One name for each operation: parallel runs tell tests apart by their names, and schemathesis gives all of them one.
OPERATION_IDS = [operation["operationId"] for path in DOCUMENT["paths"].values() for operation in path.values()]
globals().update(
    {f"test_{operation_id}_keeps_to_its_document": _slice_of(operation_id) for operation_id in OPERATION_IDS}
)
