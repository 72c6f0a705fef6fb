"""Presigned URLs: what they cover, recomputed from AWS's description; and what errors of S3 mean."""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import botocore.session
import pytest
from botocore.config import Config
from botocore.credentials import RefreshableCredentials
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError

from turnlog.domain.errors import StoreUnavailable
from turnlog.domain.ids import base36
from turnlog.domain.instant import Instant
from turnlog.domain.uploads import URL_SECONDS, UploadRef
from turnlog.stores.dynamodb import S3UploadStore, connect
from turnlog.testing.contract.uploads import LIFE, PNG, a_life, request_of

SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
REGION = "eu-central-1"
REF = UploadRef.of(a_life(), hashlib.sha256(PNG).hexdigest())


def a_store(**arguments: Any) -> S3UploadStore:
    """As the function makes it, with known keys."""
    keys = {"aws_access_key_id": "AKIDEXAMPLE", "aws_secret_access_key": SECRET, "aws_session_token": "token"}
    return connect("table", "bucket", **{"region_name": REGION, **arguments}, client=object(), **keys).uploads("acme")  # type: ignore[arg-type]


class Link:
    """A presigned URL in its parts."""

    def __init__(self, url: str) -> None:
        self.parts = urlsplit(url)
        self.query = dict(parse_qsl(self.parts.query, keep_blank_values=True))

    def fits(self, method: str, headers: Mapping[str, str], query: Mapping[str, str] | None = None) -> bool:
        """Whether the signature is that of the request (S3 API reference, "Authenticating requests: using query
        parameters")."""
        asked = dict(self.query if query is None else query)
        given = asked.pop("X-Amz-Signature")
        names = asked["X-Amz-SignedHeaders"].split(";")
        sent = {**headers, "host": self.parts.netloc}
        canonical = "\n".join(
            [
                method,
                self.parts.path,
                "&".join(f"{quote(k, safe='-_.~')}={quote(v, safe='-_.~')}" for k, v in sorted(asked.items())),
                *(f"{name}:{sent.get(name, '')}" for name in names),
                "",
                ";".join(names),
                "UNSIGNED-PAYLOAD",
            ]
        )
        _, day, region, service, last = asked["X-Amz-Credential"].split("/")
        scope = f"{day}/{region}/{service}/{last}"
        digest = hashlib.sha256(canonical.encode()).hexdigest()
        to_sign = f"AWS4-HMAC-SHA256\n{asked['X-Amz-Date']}\n{scope}\n{digest}"
        key = f"AWS4{SECRET}".encode()
        for part in (day, region, service, last):
            key = hmac.digest(key, part.encode(), "sha256")
        return given == hmac.digest(key, to_sign.encode(), "sha256").hex()


@pytest.mark.parametrize("region", [REGION, "us-east-1"])
def test_the_signature_of_a_put_covers_length_type_and_checksum(region: str) -> None:
    """It fits the granted headers and no others; also where S3 still knows an older signature."""
    grant = a_store(region_name=region).grant(a_life(), request_of(PNG, "text/plain; charset=utf-8"))
    link = Link(grant.url)
    other = base64.b64encode(hashlib.sha256(b"other").digest()).decode()

    assert {"content-length", "content-type", "host", "x-amz-checksum-sha256"} == set(
        link.query["X-Amz-SignedHeaders"].split(";")
    )
    assert link.fits("PUT", grant.headers)
    for name, value in (("content-length", "1"), ("content-type", "text/html"), ("x-amz-checksum-sha256", other)):
        assert not link.fits("PUT", {**grant.headers, name: value})
    assert not link.fits("GET", grant.headers)


def test_the_signature_of_a_get_covers_that_it_is_an_attachment() -> None:
    """Without the parameter, or with another value, it does not fit."""
    client = Answers(ContentType="text/html", ContentLength=3)
    found = a_store_over(client).find(a_life(), REF)
    assert found is not None
    link = Link(found.url)
    inline = {**link.query, "response-content-disposition": "inline"}
    without = {name: value for name, value in link.query.items() if name != "response-content-disposition"}

    assert "attachment" == link.query["response-content-disposition"]
    assert link.fits("GET", {})
    assert not link.fits("GET", {}, inline)
    assert not link.fits("GET", {}, without)
    assert not link.fits("GET", {}, {**link.query, "response-content-type": "text/html"})
    assert not link.fits("PUT", {})


def test_in_aws_a_url_names_the_buckets_own_regional_host() -> None:
    """A global or path-style one would be redirected, which a signature does not survive."""
    url = a_store().grant(a_life("a/b"), request_of(PNG)).url

    assert f"bucket.s3.{REGION}.amazonaws.com" == urlsplit(url).netloc
    assert f"/t/acme/s/a%2Fb/0{base36(LIFE)}/u/{REF.sha256}" == unquote(urlsplit(url).path)


@pytest.mark.parametrize("way", ["argument", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"])
def test_elsewhere_the_bucket_stands_in_the_path(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine on this machine has one name."""
    endpoint = "http://localhost:8787"
    if way != "argument":
        monkeypatch.setenv(way, endpoint)
    url = a_store(**({"endpoint_url": endpoint} if way == "argument" else {})).grant(a_life(), request_of(PNG)).url

    assert url.startswith(f"{endpoint}/bucket/t/acme/s/s/")


def test_the_end_is_that_of_the_signature() -> None:
    """The date that is signed, and five minutes."""
    grant = a_store().grant(a_life(), request_of(PNG))
    link = Link(grant.url)
    began = datetime.strptime(link.query["X-Amz-Date"], "%Y%m%dT%H%M%S%z")

    assert str(URL_SECONDS) == link.query["X-Amz-Expires"]
    assert Instant.parse((began + timedelta(seconds=URL_SECONDS)).isoformat()) == grant.expires_at


@pytest.mark.parametrize(("left", "shown"), [(120, 120), (3600, URL_SECONDS)])
def test_credentials_that_end_sooner_end_the_url(left: int, shown: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """S3 refuses a URL whose credentials have ended; who gets one is told the truth."""
    now = datetime.now(UTC).replace(microsecond=0)
    monkeypatch.setattr(RefreshableCredentials, "refresh_needed", lambda self, refresh_in=None: False)
    session = botocore.session.Session()
    session._credentials = RefreshableCredentials(  # type: ignore[attr-defined]
        "AKIDEXAMPLE", SECRET, "token", now + timedelta(seconds=left), dict, "test"
    )
    client: Any = session.create_client("s3", region_name=REGION, config=Config(signature_version="s3v4"))
    store = S3UploadStore("acme", make_client=lambda: client, bucket="bucket")
    ends = datetime.fromisoformat(store.grant(a_life(), request_of(PNG)).expires_at.text)

    assert abs((ends - now).total_seconds() - shown) <= 5


def test_a_client_that_would_sign_less_is_refused() -> None:
    """botocore's own choice for URLs of S3 is an older signature, which binds none of the headers."""
    session = botocore.session.Session()
    client: Any = session.create_client("s3", region_name="us-east-1", config=Config(signature_version="s3"))
    store = S3UploadStore("acme", make_client=lambda: client, bucket="bucket")

    with pytest.raises(RuntimeError, match="s3v4"):
        store.grant(a_life(), request_of(PNG))


# ------------------------------------------------------------------ requests


class Answers:
    """An S3 client that signs like the real one, answers every request so, or raises it."""

    def __init__(self, error: Exception | None = None, **answer: Any) -> None:
        self.error, self.answer = error, answer
        self.calls: list[dict[str, Any]] = []
        keys: dict[str, Any] = {"aws_access_key_id": "AKIDEXAMPLE", "aws_secret_access_key": SECRET}
        config = Config(signature_version="s3v4", s3={"addressing_style": "virtual"})
        real: Any = botocore.session.Session().create_client("s3", region_name=REGION, config=config, **keys)
        self.generate_presigned_url = real.generate_presigned_url
        self.head_object = self.put_object = self._call

    def _call(self, **arguments: Any) -> dict[str, Any]:
        self.calls.append(arguments)
        if self.error is not None:
            raise self.error
        return self.answer


def a_store_over(client: Any) -> S3UploadStore:
    """The store over a client of the test's."""
    return S3UploadStore("acme", make_client=lambda: client, bucket="bucket")


def refused(code: str, status: int) -> ClientError:
    """What botocore makes of an answer of S3."""
    return ClientError({"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}, "HeadObject")  # type: ignore[typeddict-item]


@pytest.mark.parametrize(("code", "status"), [("404", 404), ("403", 403)])
def test_nothing_uploaded_is_403_or_404(code: str, status: int) -> None:
    """S3 says 403 to whoever may not list the bucket."""
    assert a_store_over(Answers(refused(code, status))).find(a_life(), REF) is None


def test_a_ref_of_another_life_costs_no_request() -> None:
    """Its life says enough."""
    client = Answers(ContentType="a/b", ContentLength=1)

    assert a_store_over(client).find(a_life(inc=LIFE + 1), REF) is None
    assert [] == client.calls


def test_the_checksum_that_s3_keeps_is_asked_for_and_compared() -> None:
    """Other content under the key is not what the ref names."""
    right = base64.b64encode(bytes.fromhex(REF.sha256)).decode()
    client = Answers(ContentType="image/png", ContentLength=len(PNG), ChecksumSHA256=right)

    found = a_store_over(client).find(a_life(), REF)
    assert found is not None
    assert ("image/png", len(PNG)) == (found.media_type, found.size)
    assert ["ENABLED"] == [call["ChecksumMode"] for call in client.calls]
    client.answer["ChecksumSHA256"] = base64.b64encode(bytes(32)).decode()
    assert a_store_over(client).find(a_life(), REF) is None


@pytest.mark.parametrize(
    "error",
    [refused("SlowDown", 503), refused("500", 500), EndpointConnectionError(endpoint_url="u"), NoCredentialsError()],
    ids=lambda error: type(error).__name__,
)
def test_what_may_pass_is_unavailable(error: Exception) -> None:
    """Throttled, failed or unreachable: the same request may succeed later."""
    store = a_store_over(Answers(error))
    with pytest.raises(StoreUnavailable):
        store.find(a_life(), REF)
    with pytest.raises(StoreUnavailable):
        store.link(a_life(), "{}")


def test_what_will_not_pass_stays_what_it_is() -> None:
    """A bucket that is gone is an operator's business."""
    with pytest.raises(ClientError):
        a_store_over(Answers(refused("NoSuchBucket", 404))).link(a_life(), "{}")


def test_without_credentials_no_url_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Told as unavailable, like every other call without them."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    store = connect("t", "bucket", region_name=REGION, client=object()).uploads("acme")  # type: ignore[arg-type]

    with pytest.raises(StoreUnavailable, match="NoCredentials"):
        store.grant(a_life(), request_of(PNG))


def test_the_copy_of_a_link_is_written_before_it_is_signed_and_lies_apart() -> None:
    """Below ``l/``, where a lifecycle rule removes it; JSON, and named by its content."""
    client = Answers()
    link = a_store_over(client).link(a_life("a b"), '{"x":1}')

    (call,) = client.calls
    sha256 = hashlib.sha256(b'{"x":1}').hexdigest()
    assert f"l/acme/s/a%20b/0{base36(LIFE)}/{sha256}" == call["Key"]
    assert (b'{"x":1}', "application/json") == (call["Body"], call["ContentType"])
    assert (7, sha256) == (link.size, link.sha256)
    assert Link(link.url).fits("GET", {})
