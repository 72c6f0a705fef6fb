"""`make redrive`: records that were given up get one more try, and a message goes only when they are worked off."""

import io
import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from infra import redrive as module
from infra.redrive import Clients, RedriveError, redrive

STREAM = "arn:aws:dynamodb:eu-central-1:123456789012:table/t/stream/x"
DUE = json.dumps({"dynamodb": {"NewImage": {"due": {"BOOL": [True]}}}})


def record(number: int, *, due: bool = True) -> dict[str, Any]:
    image = {"due": {"BOOL": True}} if due else {"b": {"B": b"bytes"}}
    return {"dynamodb": {"SequenceNumber": str(number), "NewImage": image}}


def message(name: str, first: int, last: int) -> dict[str, str]:
    info = {"shardId": "s", "startSequenceNumber": str(first), "endSequenceNumber": str(last), "streamArn": STREAM}
    return {"MessageId": name, "ReceiptHandle": name, "Body": json.dumps({"DDBStreamBatchInfo": info})}


class Cloud:
    """The three services: a queue, a stream of numbered records, and a function that says what it is told to."""

    def __init__(self, *messages: dict[str, str], records: int = 20, page: int = 3) -> None:
        self.messages = list(messages)
        self.stream = [record(n, due=n % 2 == 0) for n in range(1, records + 1)]
        self.page = page
        self.trimmed_to = 0
        self.failing: set[str] = set()
        self.error: str | None = None
        self.got: list[list[str]] = []
        self.mappings: list[dict[str, Any]] = [
            {
                "EventSourceArn": STREAM,
                "FunctionArn": "worker",
                "BatchSize": 2,
                "FunctionResponseTypes": ["ReportBatchItemFailures"],
                "FilterCriteria": {"Filters": [{"Pattern": DUE}]},
            }
        ]

    @property
    def clients(self) -> Clients:
        return Clients(self, self, self)

    def receive_message(self, **_: Any) -> dict[str, Any]:
        return {"Messages": self.messages[:10]}

    def delete_message(self, **arguments: Any) -> None:
        self.messages = [one for one in self.messages if one["ReceiptHandle"] != arguments["ReceiptHandle"]]

    def list_event_source_mappings(self, **_: Any) -> dict[str, Any]:
        return {"EventSourceMappings": self.mappings}

    def get_shard_iterator(self, **arguments: Any) -> dict[str, str]:
        if int(arguments["SequenceNumber"]) <= self.trimmed_to:
            raise ClientError({"Error": {"Code": "TrimmedDataAccessException"}}, "GetShardIterator")
        return {"ShardIterator": arguments["SequenceNumber"]}

    def get_records(self, **arguments: Any) -> dict[str, Any]:
        at = int(arguments["ShardIterator"])
        found = self.stream[at - 1 : at - 1 + self.page]
        return {"Records": found, "NextShardIterator": str(at + self.page)}

    def invoke(self, **arguments: Any) -> dict[str, Any]:
        numbers = [one["dynamodb"]["SequenceNumber"] for one in json.loads(arguments["Payload"])["Records"]]
        self.got.append(numbers)
        failures = [{"itemIdentifier": number} for number in numbers if number in self.failing]
        answer = {"Payload": io.BytesIO(json.dumps({"batchItemFailures": failures}).encode())}
        return answer if self.error is None else {**answer, "FunctionError": self.error}


def test_records_are_read_again_and_those_that_the_mapping_wants_are_handed_over() -> None:
    cloud = Cloud(message("a", 2, 9), message("b", 11, 11))
    assert redrive(cloud.clients, "queue", "worker") == (2, 0)
    assert cloud.got == [["2", "4"], ["6", "8"]], "in batches; what the filter keeps out is nobody's"
    assert cloud.messages == []


def test_a_record_that_fails_again_keeps_its_message(capsys: pytest.CaptureFixture[str]) -> None:
    cloud = Cloud(message("a", 2, 2), message("b", 4, 4))
    cloud.failing = {"2"}
    assert redrive(cloud.clients, "queue", "worker") == (1, 1)
    assert [one["MessageId"] for one in cloud.messages] == ["a"]
    assert "fail again" in capsys.readouterr().out
    cloud.failing = set()
    assert redrive(cloud.clients, "queue", "worker") == (1, 0)


def test_a_function_that_fails_keeps_the_message() -> None:
    cloud = Cloud(message("a", 2, 2))
    cloud.error = "Unhandled"
    assert redrive(cloud.clients, "queue", "worker") == (0, 1)


def test_records_that_have_left_the_stream_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    cloud = Cloud(message("a", 2, 3))
    cloud.trimmed_to = 5
    assert redrive(cloud.clients, "queue", "worker") == (0, 1)
    assert "have left the stream" in capsys.readouterr().out


@pytest.mark.parametrize("body", ["", "7", "{}", '{"DDBStreamBatchInfo": {}}', '{"DDBStreamBatchInfo": 7}'])
def test_a_message_of_somebody_else_is_kept(body: str) -> None:
    cloud = Cloud({"MessageId": "a", "ReceiptHandle": "a", "Body": body})
    assert redrive(cloud.clients, "queue", "worker") == (0, 1)
    assert cloud.got == []


def test_a_function_without_a_mapping_is_refused() -> None:
    cloud = Cloud()
    cloud.mappings = []
    with pytest.raises(RedriveError, match="0 event source mappings"):
        redrive(cloud.clients, "queue", "worker")


def test_the_exit_status_says_how_it_went(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    cloud = Cloud(message("a", 2, 2), message("b", 4, 4))
    monkeypatch.setattr(Clients, "connect", classmethod(lambda cls, url: cloud.clients))
    cloud.failing = {"4"}
    words = ["--queue", "q", "--function", "f"]
    assert module.main(words) == 1
    cloud.failing = set()
    assert module.main(words) == 0
    cloud.mappings = []
    assert module.main(words) == 2
    assert "error:" in capsys.readouterr().err
