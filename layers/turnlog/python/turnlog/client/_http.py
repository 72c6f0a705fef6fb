"""Between calls and httpx, for the sync and the async surface alike. No I/O."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Final

import httpx

from .. import __version__
from ._answers import Answer
from ._calls import Call
from ._parts import is_header_value
from ._retry import Lost
from .errors import ClientError, ConnectionFailed, TimedOut, UnexpectedResponse

_HEADERS: Final = {
    "Accept": "application/json, application/problem+json",
    "User-Agent": f"turnlog-python/{__version__}",
}

DEFAULT_TIMEOUT: Final = httpx.Timeout(30.0, connect=5.0)
"""Longer than the API takes at most (its gateway gives up after 30 s), so that a slow answer is
not mistaken for a lost one."""

LIMITS: Final = httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=30.0)


def checked_url(url: str) -> str:
    """The base URL without a trailing slash.

    Raises:
        ValueError: not an absolute http or https URL, or one with credentials, query or fragment.
    """
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL as bad:
        raise ValueError(f"url is not a URL: {bad}") from None
    if parts.userinfo:
        raise ValueError("url must not hold credentials; give token or token_provider")
    if parts.port is not None and not 0 < parts.port < 65536:
        raise ValueError(f"url has no possible port: {url!r}")
    if parts.path.rstrip("/").endswith("/v1"):
        raise ValueError(f"url is the part before /v1: {url!r}")
    if parts.scheme not in ("http", "https") or not parts.host or parts.query or parts.fragment:
        raise ValueError(f"url must be like https://host/prefix, the part before /v1: {url!r}")
    return url.rstrip("/")


def checked_token(token: str) -> str:
    """The token, if a header can hold it. httpx would repeat the whole header, token included, in
    its own error.

    Raises:
        ValueError: it can't.
    """
    if token.lower().startswith("bearer "):
        raise ValueError("give the token alone, without 'Bearer'")
    if not is_header_value(token):
        raise ValueError("the token is empty, or has blanks around it or characters that no token has")
    return token


@dataclass(frozen=True)
class Local:
    """What ``make run`` tells of itself."""

    url: str
    token: str


def local_of(path: str | PathLike[str] | None) -> Local:
    """The file that ``make run`` writes; see ``Client.from_local``.

    Raises:
        FileNotFoundError: no such file: ``make run`` is not running, or runs elsewhere.
        ValueError: the file does not hold ``url`` and ``token``.
    """
    path = Path(os.environ.get("TURNLOG_HOME") or ".turnlog", "local.json") if path is None else path
    try:
        local = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as missing:
        missing.add_note("`make run` writes this file and removes it when it ends. Is it running?")
        raise
    except json.JSONDecodeError:
        local = None
    if not isinstance(local, dict) or not all(isinstance(local.get(key), str) for key in ("url", "token")):
        raise ValueError(f"{path} does not hold url and token; start `make run` again")
    return Local(local["url"], local["token"])


def iam_of(url: str, tenant: str, user: str, region: str | None) -> httpx.Auth:
    """What signs requests to the IAM routes; imports botocore, which no other part of the client needs.

    Raises:
        ImportError: it is not installed.
        ValueError: there are no credentials, or no region.
    """
    try:
        from .iam import IamAuth  # noqa: PLC0415  (see above)
    except ImportError as missing:
        missing.add_note('Requests are signed by botocore: pip install "turnlog[client,aws]"')
        raise
    return IamAuth(tenant, user, region=region or IamAuth.region_of(url))


def request_of(base: str, call: Call[Any], token: str | None) -> dict[str, Any]:
    """The arguments of ``httpx.Client.request``.

    Raises:
        ValueError: the token cannot stand in a header.
    """
    headers = {**_HEADERS, **call.headers}
    if token is not None:
        headers["Authorization"] = f"Bearer {checked_token(token)}"
    content = None
    if call.body is not None:
        headers["Content-Type"] = "application/json"
        content = call.body.encode()
    return {
        "method": call.method,
        "url": base + call.path,
        "params": list(call.query) or None,
        "headers": headers,
        "content": content,
    }


def answer_of(response: httpx.Response) -> Answer:
    """A response that has been read."""
    return Answer(response.status_code, dict(response.headers), response.content)


def lost(error: httpx.RequestError, url: str) -> Lost:
    """An attempt that httpx gave up: what to raise, and whether the server may have seen it."""
    reason = str(error) or type(error).__name__
    failure: ClientError
    if isinstance(error, (httpx.DecodingError, httpx.TooManyRedirects)):
        failure, reached, retry = UnexpectedResponse(f"The answer cannot be read: {reason}"), True, False
    elif isinstance(error, httpx.TimeoutException):
        failure, reached, retry = TimedOut(f"No answer from {url} in time: {reason}"), True, True
    else:
        failure, reached, retry = ConnectionFailed(f"No connection to {url}: {reason}"), True, True
    if isinstance(error, _NEVER_SENT):
        reached = False
    if isinstance(error, _OUR_OWN_FAULT):
        reached = retry = False
    failure.__cause__ = error
    return Lost(failure, reached, retry)


_NEVER_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
_OUR_OWN_FAULT: Final = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)
