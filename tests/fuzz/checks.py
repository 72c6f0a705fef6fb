"""What has to hold of every answer, beyond what schemathesis looks at. Each check yields what is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import unquote, unquote_plus

from tests.fuzz.exchange import Exchange
from tests.support.session_api import DOCUMENT

CHALLENGED: Final = (401, 403)
"""What the gateway answers to a token that is missing, wrong, or lacks the scope."""

_HEADERS: Final = {"content-type", "if-match", "if-none-match", "idempotency-key"}
_QUERY: Final = {p["name"] for p in DOCUMENT["components"]["parameters"].values() if p["in"] == "query"}
_PATH: Final = {p["name"] for p in DOCUMENT["components"]["parameters"].values() if p["in"] == "path"}


def wrong_with(exchange: Exchange) -> Iterator[str]:
    """Everything that is wrong with an answer."""
    yield from _request_id(exchange)
    yield from _error(exchange)
    yield from _headers(exchange)


def _request_id(exchange: Exchange) -> Iterator[str]:
    if exchange.is_of_the_gateway:
        if exchange.status not in CHALLENGED:
            yield f"the gateway answered {exchange.status}"
        return
    if not exchange.header("x-request-id"):
        yield "X-Request-Id is missing"


def _error(exchange: Exchange) -> Iterator[str]:
    if exchange.status < 400 or exchange.is_of_the_gateway:
        return
    if not exchange.is_problem:
        yield f"an error is {exchange.content_type}, not a problem"
        return
    if exchange.method == "HEAD":
        return
    problem = exchange.json
    expected = {
        "status": exchange.status,
        "type": f"urn:turnlog:problem:{problem.get('code')}",
        "request_id": exchange.header("x-request-id"),
        "retryable": exchange.status == 503,
    }
    for name, value in expected.items():
        if problem.get(name) != value:
            yield f"{name} is {problem.get(name)!r}, not {value!r}"
    if unquote(problem["instance"]) != unquote(exchange.path):
        yield f"instance is {problem['instance']!r}, not {exchange.path!r}"
    if exchange.status == 422 and not problem["errors"]:
        yield "a 422 names no field"
    for error in problem["errors"]:
        yield from _pointer(exchange, error["pointer"])


def _pointer(exchange: Exchange, pointer: str) -> Iterator[str]:
    kind, colon, name = pointer.partition(":")
    if colon and kind == "query":
        sent = {unquote_plus(pair.partition("=")[0]) for pair in exchange.query.split("&")}
        if name and name not in sent | _QUERY:
            yield f"{pointer} points at a parameter that was not sent"
    elif colon and kind == "header":
        if name.lower() not in _HEADERS:
            yield f"{pointer} points at an undocumented header"
    elif colon and kind == "path":
        if name not in _PATH:
            yield f"{pointer} points at an undocumented part of the path"
    elif not _resolves(exchange.sent, pointer):
        yield f"{pointer!r} points nowhere in the body"


def _resolves(sent: bytes, pointer: str) -> bool:
    """Whether the pointer names a place of the body, or a member that is missing from an object there is."""
    if not pointer:
        return True
    if not pointer.startswith("/"):
        return False
    try:
        value: Any = json.loads(sent)
    except (ValueError, RecursionError):
        return True  # what is no JSON has no places to compare with
    *way, last = (part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/"))
    for part in way:
        try:
            value = value[int(part)] if isinstance(value, list) else value[part]
        except (KeyError, IndexError, ValueError, TypeError):
            return False
    return isinstance(value, dict) or (isinstance(value, list) and last.isdecimal() and int(last) < len(value))


def _headers(exchange: Exchange) -> Iterator[str]:
    if exchange.status == 405 and not exchange.header("allow"):
        yield "405 without Allow"
    if exchange.status == 204 and exchange.content:
        yield "204 with a body"
    if exchange.status == 503 and not (exchange.header("retry-after") or "").isdecimal():
        yield "503 without Retry-After in seconds"


def wrong_without_token(exchange: Exchange) -> Iterator[str]:
    """Without a token only public routes and unknown paths are answered; the rest is the gateway's 401."""
    if exchange.is_public or exchange.template is None:
        if exchange.status == 401 and exchange.is_public:
            yield "a public route asks for a token"
        return
    if exchange.status != 401:
        yield f"a route that needs a token answered {exchange.status} without one"
    elif exchange.json != {"message": "Unauthorized"}:
        yield f"the gateway's 401 says {exchange.json!r}"
