"""One lane: batches of one shard, one after the other, each until it is done or given up.

What follows from a failure (Lambda developer guide, "Using AWS Lambda with Amazon DynamoDB", "Configuring partial batch
response with DynamoDB and Lambda", "Retaining discarded records for a DynamoDB event source in Lambda"):

* the function ends with an error: the batch is halved, if the mapping bisects, and the halves are tried one by one,
  which uses up no retry; a batch that is not halved is tried again;
* it names failed records: everything from the first of them on is tried again;
* too often, or too late: the rest of the batch goes to the on-failure queue, and the lane goes on.
"""

import json
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from infra.local.pump.mapping import FOR_EVER, Mapping

Record = dict[str, Any]

FIRST_WAIT = 0.25
LONGEST_WAIT = 10.0
"""Seconds between two tries. Lambda's own waits are not documented; these suit somebody who watches."""


@dataclass(frozen=True, slots=True)
class Invoked:
    """How an invocation ended: `error` is None, or Lambda's word for what went wrong."""

    payload: Any = None
    error: str | None = None
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class GivenUp:
    """Records that go to the on-failure queue, and why."""

    records: Sequence[Record]
    condition: str
    invocations: int
    error: str | None
    request_id: str


@dataclass(slots=True)
class _Piece:
    records: list[Record]
    tries: int = 0
    error: str | None = None
    request_id: str = ""


class Lane:
    """Works batches off.

    Args:
        mapping: the settings.
        invoke: calls the function with records.
        give_up: takes what could not be worked off.
        wait: waits for so many seconds; answers False when the lane has to end.
        now: the wall clock, in seconds since 1970.
    """

    def __init__(
        self,
        mapping: Mapping,
        *,
        invoke: Callable[[Sequence[Record]], Invoked],
        give_up: Callable[[GivenUp], None],
        wait: Callable[[float], bool],
        now: Callable[[], float],
    ) -> None:
        self._mapping = mapping
        self._invoke = invoke
        self._give_up = give_up
        self._wait = wait
        self._now = now

    def work(self, records: Sequence[Record]) -> bool:
        """Work one batch off; False when the lane had to end before that."""
        pieces = deque([_Piece(list(records))])
        while pieces:
            piece = pieces.popleft()
            self._drop_old(piece)
            if not piece.records:
                continue
            done = self._invoke(piece.records)
            piece.error, piece.request_id = done.error, done.request_id
            if done.error is not None and self._mapping.bisects and len(piece.records) > 1:
                middle = len(piece.records) // 2
                pieces.appendleft(_Piece(piece.records[middle:], piece.tries))
                pieces.appendleft(_Piece(piece.records[:middle], piece.tries))
                continue
            left = piece.records if done.error is not None else self._left(piece.records, done.payload)
            if not left:
                continue
            piece.records, piece.tries = left, piece.tries + 1
            if self._mapping.retries != FOR_EVER and piece.tries > self._mapping.retries:
                self._lose(piece, "RetryAttemptsExhausted")
                continue
            pieces.appendleft(piece)
            if not self._wait(min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (piece.tries - 1))):
                return False
        return True

    def _left(self, records: list[Record], answer: Any) -> list[Record]:
        """What has to come again, by the function's own report."""
        if not self._mapping.reports_items or answer is None:
            return []
        failures = answer.get("batchItemFailures") if isinstance(answer, dict) else None
        if not isinstance(answer, dict) or (failures is not None and not isinstance(failures, list)):
            return records
        if not failures:
            return []
        numbers = [record["dynamodb"]["SequenceNumber"] for record in records]
        named = [one.get("itemIdentifier") if isinstance(one, dict) else None for one in failures]
        if any(name not in numbers for name in named):
            return records  # an unknown or empty name: Lambda takes the whole batch as failed
        return records[min(numbers.index(name) for name in named) :]

    def _drop_old(self, piece: _Piece) -> None:
        if self._mapping.max_age == FOR_EVER:
            return
        oldest = self._now() - self._mapping.max_age
        old = [record for record in piece.records if arrived(record) < oldest]
        if old:
            piece.records = [record for record in piece.records if arrived(record) >= oldest]
            self._lose(_Piece(old, piece.tries, piece.error, piece.request_id), "RecordAgeExceeded")

    def _lose(self, piece: _Piece, condition: str) -> None:
        self._give_up(GivenUp(piece.records, condition, piece.tries, piece.error, piece.request_id))


def arrived(record: Record) -> float:
    """When the record came into the stream, in seconds since 1970."""
    moment: float = record["dynamodb"]["ApproximateCreationDateTime"]
    return moment


def failure_message(
    given_up: GivenUp, mapping: Mapping, shard: str, timestamp: Callable[[float], str], now: float
) -> str:
    """The message for the on-failure queue, in Lambda's form: it names the records and does not hold them."""
    first, last = given_up.records[0], given_up.records[-1]
    body = {
        "requestContext": {
            "requestId": given_up.request_id,
            "functionArn": mapping.function,
            "condition": given_up.condition,
            "approximateInvokeCount": given_up.invocations,
        },
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": given_up.error},
        "version": "1.0",
        "timestamp": timestamp(now),
        "DDBStreamBatchInfo": {
            "shardId": shard,
            "startSequenceNumber": first["dynamodb"]["SequenceNumber"],
            "endSequenceNumber": last["dynamodb"]["SequenceNumber"],
            "approximateArrivalOfFirstRecord": timestamp(arrived(first)),
            "approximateArrivalOfLastRecord": timestamp(arrived(last)),
            "batchSize": len(given_up.records),
            "streamArn": mapping.stream,
        },
    }
    if given_up.error is None:
        del body["responseContext"]["functionError"]  # type: ignore[attr-defined]
    return json.dumps(body)
