"""The API in this process behind ``requests``: a gateway that checks tokens, the function, and the bucket's URLs."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from io import BytesIO
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPResponse

from tests.fuzz.exchange import sent_by
from tests.support.session_api import CONTEXT, Api, http_event

BASE: Final = "http://api.example.com"
TOKEN: Final = "in-process"


class InProcess(HTTPAdapter):
    """Answers every request of a ``requests`` session without a network."""

    def __init__(self, api: Api) -> None:
        super().__init__()
        self._api = api

    def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        """One request, as the gateway and S3 would answer it."""
        content = sent_by(request)
        headers = {name.lower(): _text(value) for name, value in request.headers.items()}
        url = request.url or ""
        if not url.startswith(BASE):
            served = self._api.bucket.serve(request.method or "", url, headers, content)
            return self._answer(request, served.status, served.headers, served.content)
        return self._answer(request, *self._route(request.method or "", url, headers, content))

    def _answer(
        self, request: requests.PreparedRequest, status: int, headers: Mapping[str, str], content: bytes
    ) -> requests.Response:
        raw = HTTPResponse(body=BytesIO(content), headers=headers, status=status, preload_content=False)
        return self.build_response(request, raw)

    def _route(
        self, method: str, url: str, headers: dict[str, str], content: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        parts = urlsplit(url)
        token = headers.get("authorization", "")
        claims = {"custom:tenant": self._api.tenant, "sub": self._api.user} if token == f"Bearer {TOKEN}" else None
        is_public = method == "GET" and parts.path in ("/v1/health", "/v1/openapi.json")
        if claims is None and not is_public and unquote(parts.path).startswith("/v1/sessions"):
            return 401, {"content-type": "application/json"}, b'{"message":"Unauthorized"}'
        text, is_base64 = _as_lambda_gets_it(content)
        event = http_event(
            method, parts.path, query=parts.query, body=text, headers=headers, claims=claims, is_base64=is_base64
        )
        proxy = self._api.handler(event, CONTEXT)  # type: ignore[arg-type]  # a stand-in for Lambda's context
        body = proxy["body"] or ""
        return (
            proxy["statusCode"],
            proxy["headers"],
            base64.b64decode(body) if proxy["isBase64Encoded"] else body.encode(),
        )

    def connect(self) -> requests.Session:
        """A session all of whose requests end here."""
        session = requests.Session()
        session.trust_env = False
        for scheme in ("http://", "https://"):
            session.mount(scheme, self)
        return session


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _as_lambda_gets_it(content: bytes) -> tuple[str | None, bool]:
    """The gateway hands on what is text, and everything else in base64."""
    if not content:
        return None, False
    try:
        return content.decode("utf-8"), False
    except UnicodeDecodeError:
        return base64.b64encode(content).decode("ascii"), True
