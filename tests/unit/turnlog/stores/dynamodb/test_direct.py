"""The direct client: the requests and answers of a botocore client, and its own retries."""

from __future__ import annotations

import base64
import json
import os
import re
import socket
import subprocess
import sys
import zlib
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.exceptions import ClientError, ConnectionClosedError, EndpointConnectionError, ReadTimeoutError
from botocore.session import Session

from turnlog.stores.dynamodb import connect
from turnlog.stores.dynamodb.aws import DynamoDBRim
from turnlog.stores.dynamodb.direct import Credentials, DirectClient, Environment, environment_of
from turnlog.stores.dynamodb.rim import Absent, ConditionFailed, Put, TransactionFailed, Unavailable

PLAIN = {
    "AWS_LAMBDA_FUNCTION_NAME": "f",
    "AWS_REGION": "eu-central-1",
    "AWS_ACCESS_KEY_ID": "AKID",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_SESSION_TOKEN": "token",
}
URL = "https://dynamodb.eu-central-1.amazonaws.com/"
ENVIRONMENT = Environment(URL, "eu-central-1", Credentials("AKID", "secret", "token"))
KEY = {"pk": {"S": "p"}, "sk": {"S": "s"}}
TOKEN = {"ClientRequestToken": "x"}


def answer(body: object = None, status: int = 200, *, damage: int = 0) -> SimpleNamespace:
    """An HTTP response, with the checksum that DynamoDB adds."""
    content = json.dumps({} if body is None else body).encode()
    checksum = str(zlib.crc32(content) + damage)
    return SimpleNamespace(status_code=status, content=content, headers={"x-amz-crc32": checksum})


def refusal(code: str, status: int = 400, **more: Any) -> SimpleNamespace:
    """An error as DynamoDB sends it."""
    return answer({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "It was so.", **more}, status)


class Net:
    """Keeps the requests; each is answered by the next of the answers, or raises it."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.requests: list[Any] = []

    def send(self, request: Any) -> Any:
        self.requests.append(request)
        given = self.answers.pop(0)
        if isinstance(given, Exception):
            raise given
        return given


class Calls:
    """A direct client over a net, and how long it has slept."""

    def __init__(self, *answers: object) -> None:
        self.net = Net(*answers)
        self.slept: list[float] = []
        self.client = DirectClient(ENVIRONMENT, self.net, attempts=3, sleep=self.slept.append, chance=lambda: 0.5)
        self.rim = DynamoDBRim(self.client, "table")


# ------------------------------------------------------------------ requests


def botocore_request(operation: str, arguments: dict[str, Any]) -> Any:
    """The request that a botocore client would send."""
    session = Session()
    session.set_credentials("AKID", "secret", "token")
    client: Any = session.create_client("dynamodb", region_name="eu-central-1")
    sent = []

    def keep(request: Any, **_: Any) -> AWSResponse:
        sent.append(request)
        raw = SimpleNamespace(stream=lambda: iter([b"{}"]))
        return AWSResponse(URL, 200, HTTPHeaders(), raw)

    client.meta.events.register("before-send.dynamodb", keep)
    getattr(client, operation)(**arguments)
    return sent[0]


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("query", {"TableName": "t", "ExpressionAttributeValues": {":p": {"S": "ü"}}}),
        ("scan", {"TableName": "t", "ConsistentRead": True}),
        ("get_item", {"TableName": "t", "Key": KEY, "ConsistentRead": False}),
        ("batch_get_item", {"RequestItems": {"t": {"Keys": [KEY]}}}),
        ("put_item", {"TableName": "t", "Item": {**KEY, "b": {"B": b"\0\xff"}, "n": {"N": "1"}, "o": {"BOOL": True}}}),
        ("update_item", {"TableName": "t", "Key": KEY, "UpdateExpression": "SET #a = :0"}),
        ("delete_item", {"TableName": "t", "Key": KEY}),
        ("transact_write_items", {"TransactItems": [{"Delete": {"TableName": "t", "Key": KEY}}], **TOKEN}),
    ],
)  # fmt: skip
def test_it_sends_what_a_botocore_client_sends(operation: str, arguments: dict[str, Any]) -> None:
    """The same place, operation and body, signed over the same headers at least."""
    calls = Calls(answer())
    getattr(calls.client, operation)(**arguments)
    (ours,), theirs = calls.net.requests, botocore_request(operation, arguments)

    assert ("POST", URL) == (ours.method, ours.url) == (theirs.method, theirs.url)
    assert json.loads(theirs.body) == json.loads(ours.body)
    for name in ("Content-Type", "X-Amz-Target", "X-Amz-Security-Token"):
        theirs_is = theirs.headers[name]
        assert ours.headers[name] == (theirs_is.decode() if isinstance(theirs_is, bytes) else theirs_is)
    pattern = r"AWS4-HMAC-SHA256 Credential=AKID/\d{8}/eu-central-1/dynamodb/aws4_request, SignedHeaders=([^,]+), "
    signed = [re.match(pattern, text_of(request.headers["Authorization"])) for request in (ours, theirs)]
    assert all(signed)
    assert {"content-type", "host", "x-amz-date", "x-amz-security-token", "x-amz-target"} <= set(
        signed[0][1].split(";")  # type: ignore[index]  # it matched
    )


def text_of(header: str | bytes) -> str:
    """botocore's headers are bytes once they are prepared."""
    return header.decode() if isinstance(header, bytes) else header


def test_a_transaction_gets_a_token_that_its_repetitions_keep() -> None:
    """A lost answer is no second transaction; another call has another token."""
    calls = Calls(ReadTimeoutError(endpoint_url=URL), answer(), answer())
    for _ in range(2):
        calls.client.transact_write_items(TransactItems=[])
    first, again, other = [json.loads(request.body)["ClientRequestToken"] for request in calls.net.requests]

    assert first == again != other


# ------------------------------------------------------------------ answers


def test_binary_values_come_back_as_bytes_and_an_attribute_may_be_called_b() -> None:
    """Wherever they stand."""
    wire = {"B": {"S": "text"}, "data": {"B": base64.b64encode(b"\0\xff").decode()}}
    calls = Calls(answer({"Items": [wire], "Count": 1}), answer({"Item": {"B": {"B": "AA=="}}}))

    assert [{"B": {"S": "text"}, "data": {"B": b"\0\xff"}}] == calls.client.query()["Items"]
    assert {"B": {"B": b"\0"}} == calls.client.get_item()["Item"]


def test_a_condition_that_does_not_hold_brings_the_item_that_is_there() -> None:
    """Without a second try."""
    item = {**KEY, "b": {"B": "AA=="}}
    calls = Calls(refusal("ConditionalCheckFailedException", Item=item))
    with pytest.raises(ConditionFailed) as failed:
        calls.rim.put(Put({"pk": "p", "sk": "s"}, Absent()))

    assert {"pk": "p", "sk": "s", "b": b"\0"} == failed.value.old
    assert 1 == len(calls.net.requests)


def test_a_cancelled_transaction_says_which_condition_did_not_hold() -> None:
    """By its place."""
    reasons = [{"Code": "None"}, {"Code": "ConditionalCheckFailed", "Item": KEY}]
    calls = Calls(refusal("TransactionCanceledException", CancellationReasons=reasons))
    with pytest.raises(TransactionFailed) as failed:
        calls.rim.transact([])

    assert {1: {"pk": "p", "sk": "s"}} == failed.value.failed


def test_an_answer_that_is_no_json_has_the_status_for_its_code() -> None:
    """As when something on the way answers."""
    page = SimpleNamespace(status_code=403, content=b"<html>", headers={})
    calls = Calls(page)
    with pytest.raises(ClientError) as refused:
        calls.client.get_item()

    assert "403" == refused.value.response["Error"]["Code"]


# ------------------------------------------------------------------ retries


@pytest.mark.parametrize(
    "first",
    [
        refusal("ProvisionedThroughputExceededException"),
        refusal("ThrottlingException"),
        refusal("TransactionInProgressException"),
        refusal("InternalServerError", 500),
        answer(status=503),
        answer({"Item": KEY}, damage=1),
        EndpointConnectionError(endpoint_url=URL),
        ConnectionClosedError(endpoint_url=URL),
        ReadTimeoutError(endpoint_url=URL),
    ],
    ids=lambda first: getattr(first, "content", None) or type(first).__name__,
)
def test_what_may_pass_is_tried_again_with_the_same_request(first: object) -> None:
    """Signed anew."""
    calls = Calls(first, answer({"Item": KEY}))

    assert {"Item": KEY} == calls.client.get_item(TableName="t")
    assert 1 == len({request.body for request in calls.net.requests})
    assert [0.5] == calls.slept


def test_after_three_attempts_the_last_refusal_stands() -> None:
    """With growing pauses in between."""
    calls = Calls(*[refusal("ThrottlingException")] * 3)
    with pytest.raises(Unavailable):
        calls.rim.get(("p", "s"))

    assert ([0.5, 1.0], []) == (calls.slept, calls.net.answers)


def test_after_three_attempts_without_an_answer_the_store_is_unavailable() -> None:
    """Nothing is known of the calls."""
    calls = Calls(*[ReadTimeoutError(endpoint_url=URL)] * 3)
    with pytest.raises(Unavailable):
        calls.rim.put(Put({"pk": "p", "sk": "s"}))

    assert [] == calls.net.answers


@pytest.mark.parametrize("code", ["ValidationException", "AccessDeniedException", "ResourceNotFoundException"])
def test_what_will_not_pass_is_not_tried_again(code: str) -> None:
    """It comes out as it is."""
    calls = Calls(refusal(code))
    with pytest.raises(ClientError, match="It was so") as refused:
        calls.rim.get(("p", "s"))

    assert (code, []) == (refused.value.response["Error"]["Code"], calls.slept)


# ------------------------------------------------------------------ when it is used


def test_the_plain_case_is_credentials_and_a_region_in_lambda() -> None:
    """The endpoint follows from the region."""
    assert ENVIRONMENT == environment_of(PLAIN)


@pytest.mark.parametrize(
    ("region", "url"),
    [
        ("us-gov-west-1", "https://dynamodb.us-gov-west-1.amazonaws.com/"),
        ("cn-north-1", "https://dynamodb.cn-north-1.amazonaws.com.cn/"),
        ("ap-southeast-7", "https://dynamodb.ap-southeast-7.amazonaws.com/"),
    ],
)
def test_the_endpoint_is_that_of_the_regions_partition(region: str, url: str) -> None:
    """As botocore's own rules have it."""
    found = environment_of({**PLAIN, "AWS_REGION": region})
    client = Session().create_client("dynamodb", region_name=region, aws_access_key_id="x", aws_secret_access_key="x")

    assert found is not None
    assert url == found.endpoint_url == f"{client.meta.endpoint_url}/"


@pytest.mark.parametrize(
    ("variables", "url"),
    [
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, "http://127.0.0.1:1/"),
        ({"AWS_ENDPOINT_URL": "http://a", "AWS_ENDPOINT_URL_DYNAMODB": "http://b/"}, "http://b/"),
        ({"AWS_ENDPOINT_URL": "http://a", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}, URL),
    ],
)
def test_a_configured_endpoint_comes_first(variables: dict[str, str], url: str) -> None:
    """The variables of the SDKs, which an engine on a laptop sets."""
    found = environment_of({**PLAIN, **variables})

    assert found is not None
    assert url == found.endpoint_url


@pytest.mark.parametrize(
    "change",
    [
        *({name: ""} for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION")),
        {"AWS_REGION": "us-iso-east-1"},
        {"AWS_REGION": "us-isob-east-1"},
        {"AWS_REGION": "eusc-de-east-1"},
        {"AWS_USE_FIPS_ENDPOINT": "true"},
        {"AWS_USE_DUALSTACK_ENDPOINT": "true"},
        {"AWS_PROFILE": "p"},
        {"AWS_CA_BUNDLE": "/b"},
        {"HTTPS_PROXY": "http://p"},
        {"https_proxy": "http://p"},
    ],
    ids=str,
)
def test_anything_else_is_left_to_a_botocore_client(change: dict[str, str]) -> None:
    """Which knows what to make of it."""
    assert environment_of({**PLAIN, **change}) is None


def test_outside_lambda_it_is_not_used() -> None:
    """Credentials may change there while the process lives."""
    assert environment_of({name: value for name, value in PLAIN.items() if name != "AWS_LAMBDA_FUNCTION_NAME"}) is None


@pytest.mark.parametrize(
    ("changes", "arguments", "expected"),
    [
        ({}, "", "False"),
        ({"AWS_USE_FIPS_ENDPOINT": "true"}, "", "True"),
        ({}, ", endpoint_url='http://127.0.0.1:1'", "True"),
    ],
)
def test_connect_leaves_botocores_machinery_alone_in_the_plain_case(
    changes: dict[str, str], arguments: str, expected: str
) -> None:
    """Its session and client are what a cold start saves."""
    code = f"import sys; from turnlog.stores.dynamodb import connect; connect('t', 'b'{arguments})\n"
    code += "print('botocore.client' in sys.modules)"
    environment = {**PLAIN, "AWS_DEFAULT_REGION": "eu-central-1", **changes, "PATH": os.environ["PATH"]}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)

    assert (f"{expected}\n", "") == (done.stdout, done.stderr)


def test_a_client_that_is_given_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """In Lambda, too."""
    for name, value in PLAIN.items():
        monkeypatch.setenv(name, value)
    asked = []
    client: Any = SimpleNamespace(query=lambda **arguments: asked.append(arguments) or {"Items": []})
    connect("t", "b", client=client)("acme").find("s")

    assert ["t"] == [arguments["TableName"] for arguments in asked]


def test_its_connections_wait_neither_for_acknowledgements_nor_longer_than_told() -> None:
    """What a botocore client sets on its sockets; 40 ms a call depend on it."""
    session: Any = DirectClient.connect(ENVIRONMENT, connect_timeout=2, read_timeout=5, attempts=3)._session
    pool = session._manager.connection_from_url(URL)

    assert (2, 5) == (pool.timeout.connect_timeout, pool.timeout.read_timeout)
    assert [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)] == pool.conn_kw["socket_options"]
