"""Executions: started once, and what an answer means."""

import json
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from turnlog.compactor import SummaryJob
from turnlog.domain.errors import StoreUnavailable
from turnlog.workflows.stepfunctions import StateMachine

JOB = SummaryJob("s", 1, 2, 3, 4, "3.ab", "{}")


class Client:
    """Step Functions, as far as it goes."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.asked: list[dict[str, Any]] = []

    def start_execution(self, **arguments: Any) -> dict[str, Any]:
        self.asked.append(arguments)
        if self.failures:
            raise self.failures.pop(0)
        return {}


def refused(code: str, status: int = 400) -> ClientError:
    return ClientError({"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}, "StartExecution")  # type: ignore[typeddict-item]


def start(client: Client) -> None:
    StateMachine("arn", lambda: client).for_tenant("acme").start(JOB)


def test_an_execution_is_named_by_its_try_and_gets_names_only() -> None:
    client = Client()
    for _ in range(2):
        start(client)
    first, second = client.asked
    assert first == second
    assert first["stateMachineArn"] == "arn"
    assert json.loads(first["input"]) == {"tenant": "acme", "job": JOB.to_json()}
    assert len(first["name"]) <= 80
    assert set(first["name"]) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    others = [{"session_id": "t"}, {"inc": 2}, {"generation": 3}, {"number": 5}, {"pass_id": "3.cd"}]
    names = {replace(JOB, **other).name("acme") for other in others} | {JOB.name("acme"), JOB.name("other")}  # type: ignore[arg-type]
    assert len(names) == 7
    assert replace(JOB, last_seq=9).name("acme") == JOB.name("acme"), "one try, however long the log is by now"


def test_one_that_has_been_started_is_left_alone() -> None:
    start(Client(refused("ExecutionAlreadyExists")))


@pytest.mark.parametrize(
    "failure",
    [
        refused("ThrottlingException"),
        refused("ExecutionLimitExceeded"),
        refused("X", 503),
        EndpointConnectionError(endpoint_url="x"),
    ],
)
def test_what_may_work_later_says_so(failure: Exception) -> None:
    with pytest.raises(StoreUnavailable):
        start(Client(failure))


def test_what_will_never_work_stays_what_it_is() -> None:
    with pytest.raises(ClientError):
        start(Client(refused("AccessDeniedException")))
