"""The rim on boto3: what a refusal means, and requests that DynamoDB accepts."""

from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError
from hypothesis import given
from hypothesis import strategies as st

from turnlog.stores.dynamodb.aws import DynamoDBRim, from_wire, to_wire
from turnlog.stores.dynamodb.rim import (
    Absent,
    Check,
    ConditionFailed,
    Delete,
    Item,
    Present,
    Put,
    TransactionFailed,
    Unavailable,
    Update,
)

KEY = ("p", "s")


def refused(code: str, status: int = 400, **more: Any) -> ClientError:
    answer: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}, **more}
    return ClientError(answer, "PutItem")


class Client:
    """Records its calls; each answers, or raises, the next of the answers."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def __getattr__(self, operation: str) -> Any:
        def call(**arguments: Any) -> object:
            self.calls.append((operation, arguments))
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call


def rim(*answers: object) -> DynamoDBRim:
    client: Any = Client(*answers)
    return DynamoDBRim(client, "table")


values = st.text(max_size=5) | st.integers(-(10**37), 10**37) | st.binary(max_size=5) | st.booleans()


@given(st.dictionaries(st.text("abc", min_size=1), values))
def test_items_come_back(item: Item) -> None:
    wire = to_wire(item)
    back = from_wire(wire)
    assert back == item
    assert [type(back[name]) for name in item] == [type(value) for value in item.values()]


def test_attributes_of_types_that_are_not_ours_are_left_out() -> None:
    assert from_wire({"a": {"S": "x"}, "b": {"M": {}}, "c": {"NULL": True}}) == {"a": "x"}


@pytest.mark.parametrize(
    "error",
    [
        *(refused(code) for code in (
            "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded",
            "TransactionConflictException", "TransactionInProgressException", "RequestTimeout",
        )),
        refused("InternalServerError", 500), refused("SomethingNew", 503),
        ReadTimeoutError(endpoint_url="u"), EndpointConnectionError(endpoint_url="u"),
    ],
    ids=str,
)  # fmt: skip
def test_what_may_pass_is_unavailable(error: Exception) -> None:
    with pytest.raises(Unavailable):
        rim(error).put(Put({"pk": "p", "sk": "s"}))


@pytest.mark.parametrize("code", ["ValidationException", "AccessDeniedException", "ResourceNotFoundException"])
def test_what_will_not_pass_stays_what_it_is(code: str) -> None:
    with pytest.raises(ClientError):
        rim(refused(code)).put(Put({"pk": "p", "sk": "s"}))


def test_a_condition_that_fails_hands_back_the_item_that_is_there() -> None:
    old = {"pk": {"S": "p"}, "sk": {"S": "s"}, "n": {"N": "3"}, "c": {"B": b"x"}}
    with pytest.raises(ConditionFailed) as there:
        rim(refused("ConditionalCheckFailedException", Item=old)).put(Put({"pk": "p", "sk": "s"}, Absent()))
    assert there.value.old == {"pk": "p", "sk": "s", "n": 3, "c": b"x"}
    with pytest.raises(ConditionFailed) as nothing:
        rim(refused("ConditionalCheckFailedException")).delete(Delete(KEY, Present()))
    assert nothing.value.old is None


def test_a_cancelled_transaction_says_which_conditions_failed() -> None:
    check = Check(KEY, Absent())

    def cancelled(*reasons: dict[str, Any]) -> ClientError:
        return refused("TransactionCanceledException", CancellationReasons=list(reasons))

    item = {"pk": {"S": "p"}}
    with pytest.raises(TransactionFailed) as failed:
        rim(cancelled({"Code": "None"}, {"Code": "ConditionalCheckFailed", "Item": item})).transact([check])
    assert failed.value.failed == {1: {"pk": "p"}}
    for code in ("TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"):
        with pytest.raises(TransactionFailed) as conflict:
            rim(cancelled({"Code": code}, {"Code": "None"})).transact([check])
        assert conflict.value.failed == {}
    with pytest.raises(ClientError):
        rim(cancelled({"Code": "ValidationError"})).transact([check])


def test_a_batch_is_asked_for_until_nothing_is_left_and_given_up_when_nothing_comes() -> None:
    keys = [("p", str(n)) for n in range(150)]

    def page(found: list[tuple[str, str]], left: list[tuple[str, str]]) -> dict[str, Any]:
        shape = [{"pk": {"S": pk}, "sk": {"S": sk}} for pk, sk in found]
        rest = [{"pk": {"S": pk}, "sk": {"S": sk}} for pk, sk in left]
        return {"Responses": {"table": shape}, "UnprocessedKeys": {"table": {"Keys": rest}} if rest else {}}

    full = rim(page(keys[:60], keys[60:100]), page(keys[60:], []))
    assert set(full.batch_get(keys)) == set(keys)
    starved = rim(*[page([], keys[:2])] * 9)
    with pytest.raises(Unavailable):
        starved.batch_get(keys[:2])


def test_an_update_sets_removes_and_adds() -> None:
    client: Any = Client({"Attributes": {"pk": {"S": "p"}, "rev": {"N": "2"}}})
    after = DynamoDBRim(client, "table").update(Update(KEY, Present(), {"x": 1}, ("y",), {"rev": 1}))
    assert after == {"pk": "p", "rev": 2}
    ((operation, arguments),) = client.calls
    assert operation == "update_item"
    assert arguments["UpdateExpression"] == "SET #x = :0 REMOVE #y ADD #rev :1"
    assert arguments["ConditionExpression"] == "attribute_exists(#pk)"
    assert arguments["ExpressionAttributeNames"] == {"#x": "x", "#y": "y", "#rev": "rev", "#pk": "pk"}
    assert arguments["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD"


def test_a_put_without_a_condition_has_no_empty_maps() -> None:
    """DynamoDB refuses them."""
    client: Any = Client(SimpleNamespace())
    DynamoDBRim(client, "table").put(Put({"pk": "p", "sk": "s"}))
    assert set(client.calls[0][1]) == {"TableName", "Item"}
