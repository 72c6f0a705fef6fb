"""What the pump needs of the engine: streams, functions, queues, through their public APIs."""

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from infra.local.deployment import Target
from infra.local.pump.lane import Invoked, Record
from infra.local.pump.mapping import Mapping

PAGE = 1000
"""Most records of one GetRecords (DynamoDB Streams API)."""


class StreamLostError(Exception):
    """A place in a stream is no longer valid; reading goes on from the last record that was seen."""


@dataclass(slots=True)
class Place:
    """Where reading a shard has come to. `iterator` None: the shard is closed and read to its end."""

    shard: str
    iterator: str | None
    last: str | None = None


@dataclass(slots=True)
class EngineIo:
    """The calls. Every one may be made from any thread."""

    target: Target
    _streams: Any = field(init=False)
    _functions: Any = field(init=False)
    _queues: Any = field(init=False)

    def __post_init__(self) -> None:
        self._streams = self.target.client("dynamodbstreams")
        self._functions = self.target.client("lambda")
        self._queues = self.target.client("sqs")

    def mappings(self) -> list[Mapping]:
        """Every mapping of a DynamoDB stream, enabled or not; refuses what it cannot keep."""
        pages = self._functions.get_paginator("list_event_source_mappings").paginate()
        found = [one for page in pages for one in page["EventSourceMappings"]]
        return [Mapping.read(one) for one in found if ":dynamodb:" in one.get("EventSourceArn", "")]

    def shards(self, stream: str) -> Iterator[str]:
        """The ids of the stream's shards, parents before children."""
        start: dict[str, str] = {}
        while True:
            described = self._streams.describe_stream(StreamArn=stream, **start)["StreamDescription"]
            yield from (shard["ShardId"] for shard in described["Shards"])
            last = described.get("LastEvaluatedShardId")
            if last is None:
                return
            start = {"ExclusiveStartShardId": last}

    def place(self, stream: str, shard: str, after: str | None) -> Place:
        """A place in a shard: its beginning, or behind a record."""
        where: dict[str, str] = {"ShardIteratorType": "TRIM_HORIZON"}
        if after is not None:
            where = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": after}
        answer = self._streams.get_shard_iterator(StreamArn=stream, ShardId=shard, **where)
        return Place(shard, answer["ShardIterator"], after)

    def records(self, place: Place, stream: str) -> list[Record]:
        """The next records, as a function gets them; moves the place.

        Raises:
            StreamLostError: the place is no longer valid.
        """
        try:
            answer = self._streams.get_records(ShardIterator=place.iterator, Limit=PAGE)
        except ClientError as error:
            if error.response["Error"]["Code"] in ("ExpiredIteratorException", "TrimmedDataAccessException"):
                raise StreamLostError from error
            raise
        records = [as_delivered(record, stream) for record in answer["Records"]]
        place.iterator = answer.get("NextShardIterator")
        if records:
            place.last = records[-1]["dynamodb"]["SequenceNumber"]
        return records

    def invoke(self, function: str, records: Sequence[Record]) -> Invoked:
        """One invocation; an engine that refuses it counts as an error of the function, as with Lambda."""
        payload = json.dumps({"Records": list(records)}, default=plain)
        try:
            answer = self._functions.invoke(FunctionName=function, Payload=payload.encode())
        except (ClientError, BotoCoreError) as error:
            return Invoked(error=type(error).__name__)
        text = answer["Payload"].read()
        request_id = answer["ResponseMetadata"].get("RequestId", "")
        if answer.get("FunctionError"):
            return Invoked(_parsed(text), answer["FunctionError"], request_id)
        return Invoked(_parsed(text), None, request_id)

    def send(self, queue_arn: str, message: str) -> None:
        """One message to a queue."""
        name = queue_arn.rpartition(":")[2]
        url = self._queues.get_queue_url(QueueName=name)["QueueUrl"]
        self._queues.send_message(QueueUrl=url, MessageBody=message)


def _parsed(text: bytes) -> Any:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return None


def as_delivered(record: dict[str, Any], stream: str) -> Record:
    """A record of the streams API in the form that Lambda hands over."""
    inner = dict(record["dynamodb"])
    moment = inner.get("ApproximateCreationDateTime")
    if isinstance(moment, datetime):
        inner["ApproximateCreationDateTime"] = moment.timestamp()
    return {**record, "dynamodb": inner, "eventSourceARN": stream}


def plain(value: Any) -> Any:
    """For `json`: bytes as base64, as in Lambda's events."""
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode("ascii")
    raise TypeError(f"{type(value).__name__} is not JSON")
