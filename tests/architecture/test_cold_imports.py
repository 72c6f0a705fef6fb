"""What a start of the function imports: nothing that no request needs. Each package is paid for at every cold start."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

LAMBDA = {
    "AWS_LAMBDA_FUNCTION_NAME": "session_api",
    "AWS_REGION": "eu-central-1",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "LAMBDA_TASK_ROOT": "/var/task",
    "TURNLOG_STAGE": "local",
    "TURNLOG_TABLE": "t",
    "TURNLOG_BUCKET": "b",
}
UNWANTED = (
    "asyncio",
    "aws_lambda_powertools.event_handler",
    "aws_xray_sdk",  # what a Tracer costs; Powertools' own module for it comes with its package and is small
    "boto3",
    "botocore.client",
    "botocore.session",
    "fastapi",
    "httpx",
    "jsonschema",
    "multiprocessing",
    "opensearchpy",
    "requests",
    "s3transfer",
    "session_api.answers",
    "session_api.compaction_answers",
    "session_api.openapi",
    "starlette",
    "turnlog.client",
    "turnlog.compaction",
    "turnlog.compactor",
    "turnlog.providers",
    "turnlog.stores.memory",
    "turnlog.testing",
    "turnlog.workflows",
)
NOT_INSTALLED = ("fastapi", "opensearchpy", "starlette")
"""Not even a development dependency today: named for the day when something brings them."""


@pytest.fixture(scope="module")
def imported() -> set[str]:
    """Every module that is there after a start in Lambda, the store connected, before the first request."""
    code = "import session_api.handler, json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], env=LAMBDA, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("name", UNWANTED)
def test_a_start_does_not_import(name: str, imported: set[str]) -> None:
    """Though it could: the packages are installed here, but for those of the list."""
    assert (name in NOT_INSTALLED) or find_spec(name) is not None
    assert name not in imported


@pytest.mark.parametrize("name", ["session_api.schemas", "turnlog.stores.dynamodb.direct", "aws_lambda_powertools"])
def test_a_start_imports_what_the_first_request_needs(name: str, imported: set[str]) -> None:
    """Nothing is put off to make the start look short."""
    assert name in imported
