"""Starts summarising passes as executions of a Step Functions state machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from ..compactor.jobs import SummaryJob
from ..domain.errors import StoreUnavailable

CONNECT_TIMEOUT_SECONDS: Final = 2
READ_TIMEOUT_SECONDS: Final = 5

_STARTED: Final = "ExecutionAlreadyExists"
_LATER: Final = frozenset(
    {"ThrottlingException", "ExecutionLimitExceeded", "ServiceUnavailable", "InternalServerError", "InternalFailure"}
)


class StateMachine:
    """One state machine; its client is made when the first execution is started."""

    def __init__(self, arn: str, make_client: Callable[[], Any] | None = None) -> None:
        self._arn = arn
        self._make_client = make_client or _client

    @cached_property
    def _client(self) -> Any:
        return self._make_client()

    def for_tenant(self, tenant_key: str) -> ExecutionStarter:
        """The port for one tenant, named as in keys."""
        return ExecutionStarter(self, tenant_key)

    def start(self, name: str, content: dict[str, Any]) -> None:
        """Start an execution, unless one of that name has been: names are taken for 90 days
        (Step Functions API, "StartExecution").

        Raises:
            StoreUnavailable: not just now.
        """
        try:
            self._client.start_execution(
                stateMachineArn=self._arn, name=name, input=json.dumps(content, separators=(",", ":"))
            )
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            status: Any = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            if code == _STARTED:
                return
            if code in _LATER or status >= 500:
                raise StoreUnavailable(f"The compaction could not be started just now: {code}.") from error
            raise
        except BotoCoreError as error:
            raise StoreUnavailable(f"The compaction could not be started just now: {type(error).__name__}.") from error


class ExecutionStarter:
    """A :class:`turnlog.compactor.SummaryStarter`."""

    def __init__(self, machine: StateMachine, tenant_key: str) -> None:
        self._machine = machine
        self._tenant_key = tenant_key

    def start(self, job: SummaryJob) -> None:
        """One StartExecution request."""
        self._machine.start(job.name(self._tenant_key), {"tenant": self._tenant_key, "job": job.to_json()})


def _client() -> Any:
    from botocore.config import Config  # noqa: PLC0415  (only who starts one pays for it)
    from botocore.session import Session  # noqa: PLC0415

    config = Config(
        connect_timeout=CONNECT_TIMEOUT_SECONDS,
        read_timeout=READ_TIMEOUT_SECONDS,
        retries={"mode": "standard", "total_max_attempts": 3},
    )
    return Session().create_client("stepfunctions", config=config)
