"""The rim on a DynamoDB client: expressions, wire values, and what an error means."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from botocore.exceptions import BotoCoreError, ClientError

from . import rim
from .rim import Check, ConditionFailed, Delete, IndexPage, IndexPlace, Item, Key, Page, Put, Update, Value, Write

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from .direct import DirectClient

Wire: TypeAlias = dict[str, dict[str, Any]]

_UNAVAILABLE: Final = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "RequestLimitExceeded",
        "TransactionInProgressException",
        "TransactionConflictException",
        "InternalServerError",
        "InternalFailure",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "RequestTimeout",
        "RequestTimeoutException",
        "500",
        "502",
        "503",
        "504",
    }
)
"""Error codes after which the same call may succeed later (AWS: "Error handling with DynamoDB")."""

_CONFLICTS: Final = frozenset(
    {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded", "RequestLimitExceeded"}
)
_BATCH_GET: Final = 100
"""Most keys of one BatchGetItem (AWS limit)."""


def to_wire(item: Mapping[str, Value]) -> Wire:
    """Python values as DynamoDB attribute values."""
    return {name: _value(value) for name, value in item.items()}


def _value(value: Value) -> dict[str, Any]:
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, int):
        return {"N": str(value)}
    return {"B": value}


def from_wire(wire: Mapping[str, Any]) -> Item:
    """DynamoDB attribute values as Python values; attributes of other types are not ours."""
    item: Item = {}
    for name, typed in wire.items():
        for kind, value in typed.items():  # there is exactly one
            if kind == "S":
                item[name] = value
            elif kind == "N":
                item[name] = int(value)
            elif kind == "B":
                item[name] = bytes(value)
            elif kind == "BOOL":
                item[name] = value
    return item


class _Expression:
    """Collects the placeholders of one request's expressions."""

    def __init__(self) -> None:
        self._count = itertools.count()
        self.names: dict[str, str] = {}
        self.values: dict[str, dict[str, Any]] = {}

    def name(self, name: str) -> str:
        """A placeholder for an attribute's name (many plain words are reserved)."""
        self.names[f"#{name}"] = name
        return f"#{name}"

    def value(self, value: Value) -> str:
        """A placeholder for a value."""
        token = f":{next(self._count)}"
        self.values[token] = _value(value)
        return token

    def condition(self, condition: rim.Condition) -> str:
        """The condition's text."""
        if isinstance(condition, rim.Absent):
            return f"attribute_not_exists({self.name(condition.name)})"
        if isinstance(condition, rim.Present):
            return f"attribute_exists({self.name(condition.name)})"
        if isinstance(condition, rim.Compare):
            return f"{self.name(condition.name)} {condition.op} {self.value(condition.value)}"
        word = " AND " if isinstance(condition, rim.All) else " OR "
        return f"({word.join(self.condition(part) for part in condition.parts)})"

    def update(self, update: Update) -> str:
        """The update's text."""
        clauses = []
        if update.set:
            clauses.append("SET " + ", ".join(f"{self.name(n)} = {self.value(v)}" for n, v in update.set.items()))
        if update.remove:
            clauses.append("REMOVE " + ", ".join(self.name(n) for n in update.remove))
        if update.add:
            clauses.append("ADD " + ", ".join(f"{self.name(n)} {self.value(v)}" for n, v in update.add.items()))
        return " ".join(clauses)

    def arguments(self) -> dict[str, Any]:
        """The placeholders as request parameters; DynamoDB refuses empty maps."""
        out: dict[str, Any] = {}
        if self.names:
            out["ExpressionAttributeNames"] = self.names
        if self.values:
            out["ExpressionAttributeValues"] = self.values
        return out


def _key(key: Key) -> Wire:
    return {"pk": {"S": key[0]}, "sk": {"S": key[1]}}


class DynamoDBRim:
    """The calls on one table. Thread-safe as its client is."""

    def __init__(self, client: DynamoDBClient | DirectClient, table: str) -> None:
        self._client: Any = client
        self._table = table

    def _call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = getattr(self._client, operation)(**arguments)
        except ClientError as error:
            raise _translate(error) from error
        except BotoCoreError as error:
            raise rim.Unavailable(f"DynamoDB could not be reached: {type(error).__name__}") from error
        return answer

    def query(
        self,
        pk: str,
        low: str,
        high: str,
        *,
        descending: bool = False,
        limit: int | None = None,
        consistent: bool = True,
        start: Key | None = None,
    ) -> Page:
        """One Query request."""
        arguments: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": "pk = :p AND sk BETWEEN :l AND :h",
            "ExpressionAttributeValues": {":p": {"S": pk}, ":l": {"S": low}, ":h": {"S": high}},
            "ScanIndexForward": not descending,
            "ConsistentRead": consistent,
        }
        if limit is not None:
            arguments["Limit"] = limit
        if start is not None:
            arguments["ExclusiveStartKey"] = _key(start)
        answer = self._call("query", **arguments)
        last = answer.get("LastEvaluatedKey")
        return Page([from_wire(i) for i in answer["Items"]], (last["pk"]["S"], last["sk"]["S"]) if last else None)

    def get(self, key: Key, *, consistent: bool = True) -> Item | None:
        """One GetItem request."""
        answer = self._call("get_item", TableName=self._table, Key=_key(key), ConsistentRead=consistent)
        found = answer.get("Item")
        return from_wire(found) if found else None

    def batch_get(self, keys: Sequence[Key], *, consistent: bool = True) -> dict[Key, Item]:
        """BatchGetItem requests, until nothing is left unprocessed."""
        out: dict[Key, Item] = {}
        pending = list(dict.fromkeys(keys))
        fruitless = 0
        while pending:
            now, pending = pending[:_BATCH_GET], pending[_BATCH_GET:]
            request = {self._table: {"Keys": [_key(k) for k in now], "ConsistentRead": consistent}}
            answer = self._call("batch_get_item", RequestItems=request)
            found = [from_wire(i) for i in answer["Responses"].get(self._table, [])]
            out.update({(str(i["pk"]), str(i["sk"])): i for i in found})
            left = answer.get("UnprocessedKeys", {}).get(self._table, {}).get("Keys", [])
            fruitless = 0 if len(left) < len(now) else fruitless + 1
            if fruitless == 4:
                raise rim.Unavailable("DynamoDB returns no keys of a batch: throttled")
            pending.extend((k["pk"]["S"], k["sk"]["S"]) for k in left)
        return out

    def put(self, put: Put) -> None:
        """One PutItem request."""
        self._call("put_item", **self._put(put))

    def update(self, update: Update) -> Item:
        """One UpdateItem request."""
        answer = self._call("update_item", **self._update(update), ReturnValues="ALL_NEW")
        return from_wire(answer["Attributes"])

    def delete(self, delete: Delete) -> None:
        """One DeleteItem request."""
        self._call("delete_item", **self._delete(delete))

    def transact(self, writes: Sequence[Write]) -> None:
        """One TransactWriteItems request; the SDK gives it a token, so its own retries are safe."""
        self._call("transact_write_items", TransactItems=[self._write(w) for w in writes])

    def query_index(
        self, index: str, gpk: str, *, descending: bool, limit: int, start: IndexPlace | None = None
    ) -> IndexPage:
        """One Query request of an index."""
        sort = index.removeprefix("by_")
        arguments: dict[str, Any] = {
            "TableName": self._table,
            "IndexName": index,
            "KeyConditionExpression": "gpk = :g",
            "ExpressionAttributeValues": {":g": {"S": gpk}},
            "ScanIndexForward": not descending,
            "Limit": limit,
        }
        if start is not None:
            arguments["ExclusiveStartKey"] = {**_key(start.key), "gpk": {"S": gpk}, sort: {"S": start.sort}}
        answer = self._call("query", **arguments)
        last = answer.get("LastEvaluatedKey")
        return IndexPage([_place(i, sort) for i in answer["Items"]], _place(last, sort) if last else None)

    def scan_heads(self, pk_prefix: str, expired_before_ns: int) -> list[Item]:
        """Scan requests over the whole table."""
        return list(self._scan(pk_prefix, expired_before_ns))

    def _scan(self, pk_prefix: str, before: int) -> Iterator[Item]:
        start: dict[str, Any] = {}
        while True:
            answer = self._call(
                "scan",
                TableName=self._table,
                ConsistentRead=True,
                FilterExpression="sk = :head AND begins_with(pk, :p) AND xat < :before",
                ExpressionAttributeValues=to_wire({":head": "~", ":p": pk_prefix, ":before": before}),
                **start,
            )
            yield from (from_wire(i) for i in answer["Items"])
            if "LastEvaluatedKey" not in answer:
                return
            start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}

    # ------------------------------------------------------------------ request shapes

    def _put(self, put: Put) -> dict[str, Any]:
        arguments: dict[str, Any] = {"TableName": self._table, "Item": to_wire(put.item)}
        return arguments | self._conditional(put.condition, _Expression())

    def _delete(self, delete: Delete) -> dict[str, Any]:
        arguments: dict[str, Any] = {"TableName": self._table, "Key": _key(delete.key)}
        return arguments | self._conditional(delete.condition, _Expression())

    def _check(self, check: Check) -> dict[str, Any]:
        arguments: dict[str, Any] = {"TableName": self._table, "Key": _key(check.key)}
        return arguments | self._conditional(check.condition, _Expression())

    def _update(self, update: Update) -> dict[str, Any]:
        expression = _Expression()
        arguments: dict[str, Any] = {
            "TableName": self._table,
            "Key": _key(update.key),
            "UpdateExpression": expression.update(update),
        }
        return arguments | self._conditional(update.condition, expression)

    @staticmethod
    def _conditional(condition: rim.Condition | None, expression: _Expression) -> dict[str, Any]:
        if condition is None:
            return expression.arguments()
        text = expression.condition(condition)
        return {
            "ConditionExpression": text,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            **expression.arguments(),
        }

    def _write(self, write: Write) -> dict[str, Any]:
        if isinstance(write, Put):
            return {"Put": self._put(write)}
        if isinstance(write, Update):
            return {"Update": self._update(write)}
        if isinstance(write, Delete):
            return {"Delete": self._delete(write)}
        return {"ConditionCheck": self._check(write)}


def _place(wire: Mapping[str, Any], sort: str) -> IndexPlace:
    return IndexPlace(wire[sort]["S"], (wire["pk"]["S"], wire["sk"]["S"]))


def _translate(error: ClientError) -> Exception:
    """What a refused call means to the store; anything unknown stays a ``ClientError``."""
    response: Any = error.response
    code = response.get("Error", {}).get("Code", "")
    if code == "ConditionalCheckFailedException":
        old = response.get("Item")
        return ConditionFailed(from_wire(old) if old else None)
    if code == "TransactionCanceledException":
        reasons = response.get("CancellationReasons", [])
        failed = {
            i: from_wire(r["Item"]) if r.get("Item") else None
            for i, r in enumerate(reasons)
            if r.get("Code") == "ConditionalCheckFailed"
        }
        if failed or any(r.get("Code") in _CONFLICTS for r in reasons):
            return rim.TransactionFailed(failed)
        return error
    if code in _UNAVAILABLE or response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) >= 500:
        return rim.Unavailable(f"DynamoDB is not available: {code}")
    return error
