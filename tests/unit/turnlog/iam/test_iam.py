"""Requests to the IAM routes: signed as AWS says, by whatever credentials the process has."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import sys
from typing import Any

import botocore.session
import httpx
import pytest

from turnlog.client import AsyncClient, Client, SessionNotFound, user
from turnlog.client.iam import IamAuth

REGION = "eu-central-1"
URL = f"https://abc123.execute-api.{REGION}.amazonaws.com"


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a role."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")


def _mac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _signature(request: httpx.Request) -> tuple[str, str]:
    """The signature that came, and the one that the rules of Signature Version 4 give."""
    authorization = request.headers["authorization"]
    parts = dict(part.strip().split("=", 1) for part in authorization.removeprefix("AWS4-HMAC-SHA256 ").split(","))
    names = parts["SignedHeaders"].split(";")
    stamp, scope = request.headers["x-amz-date"], parts["Credential"].split("/", 1)[1]
    raw_path, _, query = request.url.raw_path.decode().partition("?")
    canonical = "\n".join(
        [
            request.method,
            raw_path.replace("%", "%25"),
            "&".join(sorted(query.split("&"))) if query else "",
            *(f"{name}:{request.headers[name].strip()}" for name in names),
            "",
            ";".join(names),
            hashlib.sha256(request.content).hexdigest(),
        ]
    )
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = b"AWS4secret"
    for part in scope.split("/"):
        key = _mac(key, part)
    return parts["Signature"], hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _sent(use: Any) -> httpx.Request:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        request.read()
        seen.append(request)
        return httpx.Response(404, json={"code": "session-not-found", "status": 404, "detail": "no"})

    use(httpx.MockTransport(answer))
    return seen[0]


def _sync(transport: httpx.MockTransport, **options: Any) -> None:
    with (
        Client.iam(URL, tenant="acme", user="ann", transport=transport, **options) as client,
        pytest.raises(SessionNotFound),
    ):
        client.session("s:1").append(user("héllo"))


@pytest.mark.parametrize("surface", ["sync", "async"])
def test_the_signature_is_the_one_that_aws_would_compute(surface: str) -> None:
    """Over method, path, query, headers and body."""

    async def asynchronous(transport: httpx.MockTransport) -> None:
        async with AsyncClient.iam(URL, tenant="acme", user="ann", transport=transport) as client:
            with pytest.raises(SessionNotFound):
                await client.session("s:1").append(user("héllo"))

    request = _sent(_sync if surface == "sync" else lambda transport: asyncio.run(asynchronous(transport)))
    came, computed = _signature(request)
    assert computed == came
    assert f"/{REGION}/execute-api/aws4_request" in request.headers["authorization"]
    assert "token" == request.headers["x-amz-security-token"]


def test_it_goes_to_the_iam_routes_and_names_tenant_and_user_under_the_signature() -> None:
    request = _sent(_sync)
    assert "/iam/v1/sessions/s%3A1/events" == request.url.raw_path.decode()
    assert ("acme", "ann") == (request.headers["x-turnlog-tenant"], request.headers["x-turnlog-user"])
    signed = request.headers["authorization"].split("SignedHeaders=")[1].split(",")[0]
    assert {"host", "x-turnlog-tenant", "x-turnlog-user", "x-amz-date"} <= set(signed.split(";"))


def test_names_that_no_header_holds_are_percent_encoded() -> None:
    auth = IamAuth("größe, gmbh", "a b\n", region=REGION)
    request = next(auth.auth_flow(httpx.Request("GET", URL)))
    assert ("gr%C3%B6%C3%9Fe%2C%20gmbh", "a%20b%0A") == (
        request.headers["x-turnlog-tenant"],
        request.headers["x-turnlog-user"],
    )


def test_the_region_comes_from_the_address_or_is_asked_for() -> None:
    assert REGION == IamAuth.region_of(URL)
    assert IamAuth.region_of("https://api.example.com") is None
    with pytest.raises(ValueError, match="region"):
        Client.iam("https://api.example.com", tenant="a", user="b")
    Client.iam("https://api.example.com", tenant="a", user="b", region=REGION).close()


def test_without_credentials_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    session = botocore.session.Session()
    monkeypatch.setattr(session, "get_credentials", lambda: None)
    with pytest.raises(ValueError, match="credentials"):
        IamAuth("a", "b", region=REGION, session=session)


def test_without_botocore_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "turnlog.client.iam", None)
    with pytest.raises(ImportError) as caught:
        Client.iam(URL, tenant="a", user="b")
    assert "turnlog[client,aws]" in caught.value.__notes__[0]
