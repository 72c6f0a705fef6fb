"""Bodies in S3: what an error means, and that what comes back is what was written."""

from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    EndpointConnectionError,
    IncompleteReadError,
    ReadTimeoutError,
)

from turnlog.domain.errors import CorruptLog
from turnlog.stores.dynamodb.blobs import S3BlobStore, describe
from turnlog.stores.dynamodb.rim import Unavailable

BLOB = describe("t/acme/s/s/1/ab", b"body")


def refused(code: str, status: int) -> ClientError:
    return ClientError({"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}, "GetObject")  # type: ignore[typeddict-item]


def store(answer: object) -> S3BlobStore:
    """A store whose client answers so, or raises it."""

    def call(**arguments: Any) -> dict[str, Any]:
        if isinstance(answer, Exception):
            raise answer
        return {"Body": SimpleNamespace(read=lambda: answer)}

    client: Any = SimpleNamespace(put_object=call, get_object=call)
    return S3BlobStore(lambda: client, "bucket")


@pytest.mark.parametrize(
    "error",
    [
        ReadTimeoutError(endpoint_url="u"),
        ConnectionClosedError(endpoint_url="u"),
        EndpointConnectionError(endpoint_url="u"),
        IncompleteReadError(actual_bytes=1, expected_bytes=2),
        BotoCoreError(),
        refused("SlowDown", 503),
        refused("InternalError", 500),
        refused("RequestTimeout", 400),
    ],
    ids=lambda error: f"{type(error).__name__}-{getattr(error, 'response', None)}",
)
def test_what_may_pass_is_unavailable(error: Exception) -> None:
    with pytest.raises(Unavailable):
        store(error).put("k", b"x")
    with pytest.raises(Unavailable):
        store(error).get(BLOB)


def test_what_will_not_pass_stays_what_it_is() -> None:
    """A bucket that is not there is an operator's business, not a reason to come again."""
    missing = refused("NoSuchBucket", 404)
    with pytest.raises(ClientError):
        store(missing).put("k", b"x")
    with pytest.raises(ClientError):
        store(missing).get(BLOB)


@pytest.mark.parametrize("answer", [refused("NoSuchKey", 404), b"other", b""], ids=["gone", "other", "empty"])
def test_a_body_that_is_not_what_the_commit_says_is_corrupt(answer: object) -> None:
    with pytest.raises(CorruptLog):
        store(answer).get(BLOB)


def test_a_body_comes_back() -> None:
    assert store(b"body").get(BLOB) == b"body"
    assert store(b"").put("k", b"body") == describe("k", b"body")


def test_a_client_is_made_once_and_only_when_needed() -> None:
    made: list[int] = []

    def make() -> Any:
        made.append(1)
        return SimpleNamespace(put_object=lambda **arguments: {})

    lazy = S3BlobStore(make, "bucket")
    assert made == []
    lazy.put("a", b"x")
    lazy.put("b", b"x")
    assert made == [1]
