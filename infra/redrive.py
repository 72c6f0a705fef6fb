"""`make redrive`: gives stream records that were given up to their function once more.

A message of the on-failure queue names records and does not hold them; they are read from the stream, where they stay
for 24 hours. Doing it twice is safe: whoever works records off looks first at what is there.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from infra.local.pump.engine import as_delivered, plain
from infra.local.pump.mapping import Mapping

RECEIVED = 10
PAGE = 1000


class RedriveError(Exception):
    """It cannot be done; the text says why."""


class GoneError(Exception):
    """The records have left the stream."""


@dataclass(frozen=True)
class Clients:
    """The services that it talks to."""

    queues: Any
    streams: Any
    functions: Any

    @classmethod
    def connect(cls, endpoint_url: str | None) -> Clients:
        """With the credentials and the region of the shell; ``endpoint_url`` for the local engine."""
        import boto3  # noqa: PLC0415 - the CDK app imports this package without it

        known: dict[str, Any] = {}
        if endpoint_url is not None:
            known = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "region_name": "us-east-1"}
        session = boto3.Session(**known)
        return cls(
            session.client("sqs", endpoint_url=endpoint_url),
            session.client("dynamodbstreams", endpoint_url=endpoint_url),
            session.client("lambda", endpoint_url=endpoint_url),
        )


def redrive(clients: Clients, queue_url: str, function: str) -> tuple[int, int]:
    """Work off every message that is visible now; how many were done, and how many were kept.

    Raises:
        RedriveError: the function has no mapping, or a message is none of Lambda's.
    """
    mapping = _mapping(clients, function)
    done, kept = 0, 0
    seen: set[str] = set()
    while messages := _received(clients, queue_url, seen):
        for message in messages:
            reason = _try(clients, mapping, message["Body"])
            if reason is None:
                clients.queues.delete_message(QueueUrl=queue_url, ReceiptHandle=message["ReceiptHandle"])
                done += 1
            else:
                kept += 1
                print(f"kept {message['MessageId']}: {reason}")  # noqa: T201 - a command line speaks to its user
    return done, kept


def _received(clients: Clients, queue_url: str, seen: set[str]) -> list[dict[str, Any]]:
    answer = clients.queues.receive_message(QueueUrl=queue_url, MaxNumberOfMessages=RECEIVED, VisibilityTimeout=120)
    fresh = [message for message in answer.get("Messages", []) if message["MessageId"] not in seen]
    seen.update(message["MessageId"] for message in fresh)
    return fresh


def _mapping(clients: Clients, function: str) -> Mapping:
    found = clients.functions.list_event_source_mappings(FunctionName=function)["EventSourceMappings"]
    if len(found) != 1:
        raise RedriveError(f"{function} has {len(found)} event source mappings; one is expected")
    return Mapping.read(found[0])


def _try(clients: Clients, mapping: Mapping, body: str) -> str | None:
    """None when the records of the message have been worked off, else why they have not."""
    try:
        info = json.loads(body)["DDBStreamBatchInfo"]
        records = [record for record in _records(clients, info) if mapping.wants(record)]
    except GoneError:
        return "its records have left the stream"
    except (ValueError, KeyError, TypeError):
        return "it is no message of Lambda's about a DynamoDB stream"
    return _invoke(clients, mapping, records) if records else None


def _records(clients: Clients, info: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The records from the first to the last that the message names."""
    first, last = int(info["startSequenceNumber"]), int(info["endSequenceNumber"])
    where = {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "SequenceNumber": info["startSequenceNumber"]}
    try:
        answer = clients.streams.get_shard_iterator(StreamArn=info["streamArn"], ShardId=info["shardId"], **where)
        iterator = answer["ShardIterator"]
        while iterator is not None:
            page = clients.streams.get_records(ShardIterator=iterator, Limit=PAGE)
            for record in page["Records"]:
                number = int(record["dynamodb"]["SequenceNumber"])
                if number > last:
                    return
                if number >= first:
                    yield as_delivered(record, info["streamArn"])
                if number == last:
                    return
            iterator = page.get("NextShardIterator") if page["Records"] else None
    except ClientError as error:
        if error.response["Error"]["Code"] in ("TrimmedDataAccessException", "ResourceNotFoundException"):
            raise GoneError from error
        raise


def _invoke(clients: Clients, mapping: Mapping, records: Sequence[dict[str, Any]]) -> str | None:
    for at in range(0, len(records), mapping.batch_size):
        payload = json.dumps({"Records": list(records[at : at + mapping.batch_size])}, default=plain)
        answer = clients.functions.invoke(FunctionName=mapping.function, Payload=payload.encode())
        result = json.loads(answer["Payload"].read() or b"null")
        if answer.get("FunctionError"):
            return f"the function fails: {answer['FunctionError']}"
        failures = (result or {}).get("batchItemFailures")
        if failures:
            return f"{len(failures)} of its {len(records)} records fail again"
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 0 when all is worked off, 1 when something was kept, 2 when it cannot be done."""
    parser = argparse.ArgumentParser(prog="make redrive", description="Give records that were given up another try.")
    parser.add_argument("--queue", required=True, help="the URL of the on-failure queue")
    parser.add_argument("--function", required=True, help="the name of the function behind the stream")
    parser.add_argument("--endpoint-url", default=os.environ.get("ENDPOINT") or None, help="a local engine")
    options = parser.parse_args(arguments)
    try:
        done, kept = redrive(Clients.connect(options.endpoint_url), options.queue, options.function)
    except (RedriveError, BotoCoreError, ClientError) as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return 2
    print(f"worked off {done}, kept {kept}")  # noqa: T201
    return 1 if kept else 0


if __name__ == "__main__":
    sys.exit(main())
