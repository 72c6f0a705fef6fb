"""Uploads and links over HTTP events and a real engine, with the faults of S3 injected."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

import httpx
import pytest
from botocore.config import Config

from session_api import limits
from tests.support.engine import ROOT_KEY, Microburst, dynamodb_client, s3_client
from tests.support.session_api import Api
from turnlog.stores.dynamodb import connect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy_boto3_s3 import S3Client

pytestmark = pytest.mark.engine

ONE_ATTEMPT: Final = Config(retries={"total_max_attempts": 1}, connect_timeout=2, read_timeout=2)
THREE_ATTEMPTS: Final = Config(retries={"mode": "standard", "total_max_attempts": 3}, read_timeout=5)
LATE_MS: Final = 3000
"""The caller has given up by then, and the call has its effect all the same."""
UPLOADS: Final = "/v1/sessions/s/uploads"
LARGE: Final = f'{{"events":[{{"id":"large","message":{{"role":"user","content":"{"x" * 4_000_000}"}}}}]}}'


@pytest.fixture
def http() -> Iterator[httpx.Client]:
    """Whoever holds a URL."""
    with httpx.Client(trust_env=False) as client:
        yield client


@pytest.fixture
def s3(engine: str) -> S3Client:
    """The bucket as it is, past the proxy."""
    return s3_client(engine, access_key=ROOT_KEY)


def an_api(proxy: Microburst, table: str, bucket: str, config: Config = ONE_ATTEMPT) -> Api:
    """The function behind the proxy, with a session "s"."""
    client = s3_client(proxy.url, config, access_key=ROOT_KEY)
    stores = connect(table, bucket, client=dynamodb_client(proxy.url, config), make_s3=lambda: client)
    api = Api(repository_for=stores, uploads_for=stores.uploads)
    assert api.create().status == 201
    return api


@pytest.fixture
def api(microburst: Microburst, engine_table: str, engine_bucket: str) -> Api:
    """What each call to S3 does once is done once: nothing is hidden by the SDK's retries."""
    return an_api(microburst, engine_table, engine_bucket)


def objects(s3: S3Client, bucket: str, prefix: str) -> list[str]:
    """The keys below a prefix."""
    return [entry["Key"] for entry in s3.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", [])]


def fault(kind: str, operation: str) -> dict[str, Any]:
    """A rule of the proxy for one call."""
    faults: dict[str, dict[str, Any]] = {
        "throttled": {"error": {"code": "SlowDown", "status": 503}},
        "failed": {"error": {"code": "InternalError", "status": 500}},
        "late": {"latency": LATE_MS},
    }
    return {"service": "s3", "operation": operation, "times": 1, **faults[kind]}


@pytest.mark.parametrize("kind", ["throttled", "failed", "late"])
def test_a_link_whose_copy_could_not_be_written_is_503_and_the_next_read_gives_one(
    api: Api, kind: str, microburst: Microburst, s3: S3Client, engine_bucket: str
) -> None:
    """Also when the copy lands after the caller has given up; there is one copy in the end."""
    assert api.call("POST", "/v1/sessions/s/events", raw=LARGE).status == 201
    microburst.inject(fault(kind, "PutObject"))
    refused = api.list()
    again = api.list()

    assert (503, "store-unavailable", True) == (refused.status, refused.json["code"], refused.json["retryable"])
    assert "retry-after" in refused.headers
    link = again.json["data"][0]["link"]
    (key,) = objects(s3, engine_bucket, "l/")
    stored = s3.get_object(Bucket=engine_bucket, Key=key)["Body"].read()
    assert (len(stored), hashlib.sha256(stored).hexdigest()) == (link["bytes"], link["sha256"])


def test_the_sdks_retries_hide_a_throttle(
    microburst: Microburst, engine_table: str, engine_bucket: str, s3: S3Client
) -> None:
    """As in the deployed function: three attempts."""
    api = an_api(microburst, engine_table, engine_bucket, THREE_ATTEMPTS)
    assert api.call("POST", "/v1/sessions/s/events", raw=LARGE).status == 201
    microburst.inject({**fault("throttled", "PutObject"), "times": 2})

    assert "link" in api.call("GET", "/v1/sessions/s/events/large").json
    assert 2 == len([f for f in microburst.fired() if f["operation"] == "PutObject"])
    assert 1 == len(objects(s3, engine_bucket, "l/"))


def test_a_link_that_was_signed_before_a_crash_harms_nothing(api: Api, s3: S3Client, engine_bucket: str) -> None:
    """A copy that nobody was told of is overwritten by the next read, and lies where a rule removes it."""
    assert api.call("POST", "/v1/sessions/s/events", raw=LARGE).status == 201
    urls = {api.list().json["data"][0]["link"]["sha256"] for _ in range(3)}

    assert 1 == len(urls)
    assert 1 == len(objects(s3, engine_bucket, "l/"))


@pytest.mark.parametrize("kind", ["throttled", "failed", "late"])
def test_an_upload_that_could_not_be_looked_up_is_503_not_404(api: Api, kind: str, microburst: Microburst) -> None:
    """Only S3's own word says that nothing is there."""
    asked = {"media_type": "text/plain", "bytes": 1, "sha256": hashlib.sha256(b"x").hexdigest()}
    path = f"{UPLOADS}/{api.call('POST', UPLOADS, asked).json['ref']}"
    microburst.inject(fault(kind, "HeadObject"))

    assert [503, 404] == [api.call("GET", path).status for _ in range(2)]


def test_the_whole_way_on_real_requests(engine: str, engine_table: str, engine_bucket: str, http: httpx.Client) -> None:
    """Asked for, put, named in an event, found, read back; the signature holds, and ends the type's freedom."""
    stores = connect(
        engine_table,
        engine_bucket,
        client=dynamodb_client(engine),
        endpoint_url=engine,
        region_name="us-east-1",
        aws_access_key_id=ROOT_KEY,
        aws_secret_access_key=ROOT_KEY,
    )
    api = Api(repository_for=stores, uploads_for=stores.uploads)
    assert api.create().status == 201
    page = b"<script>alert(1)</script>" * 1000
    asked = {"media_type": "text/html", "bytes": len(page), "sha256": hashlib.sha256(page).hexdigest()}
    grant = api.call("POST", UPLOADS, asked).json
    assert 403 == http.put(grant["url"], headers={**grant["headers"], "content-type": "a/b"}, content=page).status_code
    assert 200 == http.put(grant["url"], headers=grant["headers"], content=page).status_code

    block = {"type": "media", "media_type": "text/html", "ref": grant["ref"]}
    assert api.append({"message": {"role": "user", "content": [block]}}).status == 201
    found = api.call("GET", f"{UPLOADS}/{grant['ref']}").json
    answer = http.get(found["url"])
    assert (page, "attachment") == (answer.content, answer.headers["content-disposition"])
    assert {**asked, "ref": grant["ref"]} == {k: v for k, v in found.items() if k not in ("url", "expires_at")}

    assert api.call("POST", "/v1/sessions/s/events", raw=LARGE).status == 201
    reply = api.list("s", {"last_n": 1})
    assert len(reply.content) < limits.PAGE_BYTES
    link = reply.json["data"][0]["link"]
    content = http.get(link["url"]).content
    assert (len(content), hashlib.sha256(content).hexdigest()) == (link["bytes"], link["sha256"])
    assert content.decode() in LARGE
