"""Requests that nobody generates from a document: hostile URLs, headers and bodies, made of valid requests.

The same seed makes the same requests. Each answer has to be one that the document knows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

from jsonschema import ValidationError

from tests.fuzz import checks, odd
from tests.fuzz.api import Seed
from tests.fuzz.exchange import Exchange
from tests.fuzz.ledger import Ledger, is_followed
from tests.fuzz.wire import Request
from tests.support.session_api import Reply, check_against_document

Mutation = Callable[[Random, Request], None]


def requests(seed: int, token: str | None, seeds: tuple[Seed, ...]) -> Iterator[Request]:
    """Endlessly: a valid request with one to three things wrong."""
    random = Random(seed)
    quick = [one for one in seeds if not one.is_slow]
    while True:
        request = random.choice(_VALID)(random, random.choice(quick))
        if token is not None:
            request.headers.append(("Authorization", f"Bearer {token}"))
        for mutate in random.choices(_MUTATIONS, k=random.choice((1, 1, 1, 2, 3))):
            mutate(random, request)
        if request.target.isprintable() and " " not in request.target:
            yield request


_TEXT: Final = {"type": "text", "text": "x"}


def _with_body(method: str, target: str, body: Any) -> Request:
    return Request(method, target, [("Content-Type", "application/json")], json.dumps(body).encode())


def _message(random: Random, seed: Seed) -> Any:
    return random.choice((
        {"role": "user", "content": "hello"},
        {"role": "user", "content": [{"type": "media", "media_type": "image/png", "ref": seed.refs[0]}]},
        {"role": "assistant", "content": [{"type": "tool_call", "id": "c", "name": "n", "arguments": "{}"}]},
        {"role": "assistant", "content": [{"type": "thinking", "text": "t"}, _TEXT]},
        {"role": "tool", "content": [{"type": "tool_result", "call_id": "c", "content": [_TEXT]}]},
        {"role": "system", "content": [{"type": "provider", "provider": "p", "data": {"n": 1.0}}]},
    ))  # fmt: skip


def _policy() -> Any:
    trigger = {"type": "any_of", "triggers": [{"type": "turn_count", "max_turns": 20}]}
    return {"trigger": trigger, "strategy": {"type": "sliding_window", "max_events": 20}}


NO_PASS: Final = ("1.5f0c2a9b7e11",)
"""For sessions that were never compacted."""

_VALID: Final[tuple[Callable[[Random, Seed], Request], ...]] = (
    lambda r, s: _with_body("POST", "/v1/sessions", {"metadata": {"a": 1}, "ttl_seconds": 60, "compaction": _policy()}),
    lambda r, s: _with_body("PATCH", f"/v1/sessions/{s.session}", {"metadata": {"n": r.random()}, "ttl_seconds": None}),
    lambda r, s: _with_body(
        "POST",
        f"/v1/sessions/{s.session}/events",
        {"events": [{"message": _message(r, s), "metadata": {}, "branch": "a.b"}], "create_if_missing": False},
    ),
    lambda r, s: _with_body(
        "POST",
        f"/v1/sessions/{s.session}/uploads",
        {"media_type": "image/png", "bytes": 5, "sha256": s.refs[0].partition("-")[2]},
    ),
    lambda r, s: Request("GET", f"/v1/sessions?limit={r.randint(1, 100)}&order=asc"),
    lambda r, s: Request("GET", f"/v1/sessions/{s.session}"),
    lambda r, s: Request("GET", f"/v1/sessions/{s.session}/events?limit={r.randint(1, 100)}&archived=false"),
    lambda r, s: Request("GET", f"/v1/sessions/{s.session}/events/{r.choice(s.events)}"),
    lambda r, s: Request("GET", f"/v1/sessions/{s.session}/uploads/{s.refs[0]}"),
    lambda r, s: _with_body(
        "POST",
        f"/v1/sessions/{s.session}/compactions",
        {**_policy(), "force": r.random() < 0.5, "dry_run": r.random() < 0.5},
    ),
    lambda r, s: Request("GET", f"/v1/sessions/{s.session}/compactions?limit={r.randint(1, 100)}"),
    lambda r, s: Request("GET", f"/v1/sessions/{s.session}/compactions/{r.choice(s.passes or NO_PASS)}"),
    lambda r, s: Request("POST", f"/v1/sessions/{s.session}/compactions/{r.choice(s.passes or NO_PASS)}/undo"),
    lambda r, s: Request("DELETE", "/v1/sessions/nobody-has-this-one"),
    lambda r, s: Request("GET", "/v1/health"),
    lambda r, s: Request("GET", "/v1/openapi.json"),
)


def _odd_method(random: Random, request: Request) -> None:
    request.method = random.choice(odd.METHODS)


def _odd_segment(random: Random, request: Request) -> None:
    path, mark, query = request.target.partition("?")
    segments = path.split("/")
    segments[random.randrange(1, len(segments))] = random.choice(odd.SEGMENTS)
    request.target = "/".join(segments) + mark + query


def _odd_path(random: Random, request: Request) -> None:
    path, mark, query = request.target.partition("?")
    path = random.choice(
        (path + "/", path + "//", path.upper(), path.replace("/", "//", 1), path + "/more", path + ".json")
    )
    request.target = path + mark + query


def _odd_query(random: Random, request: Request) -> None:
    path, _, query = request.target.partition("?")
    more = random.choice(odd.QUERIES)
    request.target = f"{path}?{query}&{more}" if query and random.random() < 0.5 else f"{path}?{more}"


def _odd_header(random: Random, request: Request) -> None:
    name, value = random.choice(odd.HEADERS)
    if random.random() < 0.8:
        request.headers = [header for header in request.headers if header[0] != name]
    request.headers.append((name, value))


def _odd_body(random: Random, request: Request) -> None:
    request.body = random.choice(odd.BODIES)


def _odd_value(random: Random, request: Request) -> None:
    """Replace, add or take away something somewhere in the body."""
    try:
        body = json.loads(request.body)
    except (ValueError, RecursionError):
        return
    places = list(_places(body))
    if not places:
        return
    container, key = random.choice(places)
    deed = random.random()
    if deed < 0.15:
        del container[key]
    elif deed < 0.3 and isinstance(container, dict):
        container[random.choice(("unknown", "", "Type", "\0", "id", "ref", "data", "name"))] = random.choice(odd.VALUES)
    else:
        container[key] = random.choice(odd.VALUES)
    request.body = json.dumps(body, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in list(pairs):
        yield value, key
        yield from _places(member)


_MUTATIONS: Final[tuple[Mutation, ...]] = (
    _odd_method,
    _odd_segment,
    _odd_path,
    *(_odd_query,) * 2,
    *(_odd_header,) * 3,
    *(_odd_body,) * 3,
    *(_odd_value,) * 6,
)


# --------------------------------------------------------------------------- what has to hold


_OF_TRANSPORT: Final = {"content-length", "date", "connection", "server", "apigw-requestid"}


def is_known_engine_difference(exchange: Exchange) -> bool:
    """Whether the local engine answered instead of the gateway (docs/local.md, "How it differs from AWS")."""
    return exchange.method == "OPTIONS" and exchange.status == 403


def wrong_with(exchange: Exchange) -> Iterator[str]:
    """What is wrong with the answer to a probe."""
    if is_known_engine_difference(exchange):
        return
    yield from checks.wrong_with(exchange)
    # It decodes a path before it routes it, so that %2F separates segments.
    path = re.sub("%2F", "/", exchange.path, flags=re.IGNORECASE)
    own = {name: values[0] for name, values in exchange.headers.items() if name not in _OF_TRANSPORT}
    try:
        check_against_document(exchange.method, path, Reply(exchange.status, own, exchange.content, {}))
    except (AssertionError, KeyError, ValidationError) as wrong:
        yield f"{type(wrong).__name__}: {str(wrong)[:1000]}"


def wrong_after(exchange: Exchange, ledger: Ledger, before: Any) -> Iterator[str]:
    """What a probe did to the session that it named."""
    if before is not None and is_followed(exchange):
        yield from ledger.wrong_after(exchange, before)
