"""Requests that keep to the schema and are refused all the same, each with the reason why no schema can say it.

An excuse looks at the request and at what the answer points at; it never excuses a status as such.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.fuzz.api import MODEL
from tests.fuzz.exchange import Exchange, Json


@dataclass(frozen=True)
class Asked:
    """What the fuzzer asked for, before it was written down as HTTP."""

    query: Mapping[str, Any]
    headers: Mapping[str, str]
    body: Json


@dataclass(frozen=True)
class Excuse:
    """``fits`` says whether the request really has what the ``reason`` is about."""

    code: str
    pointer: str
    reason: str
    fits: Callable[[Asked], bool]


def _strategy(asked: Asked) -> Any:
    return asked.body.get("compaction", asked.body)["strategy"]


EXCUSES: Final = (
    Excuse(
        "invalid-request",
        "query:cursor",
        "A cursor continues the one listing that gave it; the text alone does not say which that was.",
        lambda asked: "cursor" in asked.query,
    ),
    Excuse(
        "invalid-request",
        "query:limit",
        "OpenAPI cannot say that two parameters exclude one another.",
        lambda asked: {"limit", "last_n"} <= asked.query.keys(),
    ),
    Excuse(
        "invalid-request",
        "query:match",
        "OpenAPI cannot say that a parameter needs another.",
        lambda asked: "match" in asked.query and "keywords" not in asked.query,
    ),
    Excuse(
        "idempotency-key-reused",
        "header:Idempotency-Key",
        "The same key came with another request before.",
        lambda asked: "Idempotency-Key" in asked.headers,
    ),
    Excuse(
        "precondition-failed",
        r"header:If-(None-)?Match",
        "Whether a version is the present one depends on the session.",
        lambda asked: bool({"If-Match", "If-None-Match"} & asked.headers.keys()),
    ),
    Excuse(
        "invalid-request",
        r"/events/\d+/message/content/\d+(/content/\d+)?/ref",
        "A ref belongs to the present life of one session.",
        lambda asked: '"ref"' in repr(asked.body).replace("'", '"'),
    ),
    Excuse(
        "invalid-request",
        r"/events/\d+/id",
        "A server-made id names an event of this log, or none.",
        lambda asked: any(str(event.get("id")).startswith("~") for event in asked.body["events"]),
    ),
    Excuse(
        "invalid-request",
        r"(/compaction)?/strategy/overlap_size",
        "JSON Schema cannot compare two numbers of a document.",
        lambda asked: "overlap_size" in _strategy(asked),
    ),
    Excuse(
        "invalid-request",
        r"(/compaction)?/strategy/model",
        "A stage has the models that it was deployed with.",
        lambda asked: _strategy(asked)["model"] != MODEL,
    ),
    Excuse(
        "invalid-request",
        "/strategy",
        "Whether there is a policy in place of a strategy depends on the session.",
        lambda asked: asked.body.get("strategy") is None,
    ),
)


def excuse_for(exchange: Exchange, asked: Asked) -> Excuse | None:
    """Why a request by schema may be refused; None when nothing excuses it."""
    if not exchange.is_problem:
        return None
    problem = exchange.json
    pointers = [error["pointer"] for error in problem["errors"]]
    for excuse in EXCUSES:
        told = pointers and all(re.fullmatch(excuse.pointer, pointer) for pointer in pointers)
        if problem["code"] == excuse.code and told and excuse.fits(asked):
            return excuse
    return None
