"""What schemathesis is told about this API: ids that exist, checks of our own, refusals that no schema can state."""

from __future__ import annotations

import hashlib
import json
import os
import re
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl

import schemathesis
from schemathesis.core.failures import Failure
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.meta import CoveragePhaseData, TestPhase
from schemathesis.openapi.checks import RejectedPositiveData

from tests.fuzz import checks
from tests.fuzz.api import MODEL, SEEDS_VARIABLE, Seed, Target, Told
from tests.fuzz.exchange import Exchange, below, sent_by
from tests.fuzz.excuses import Asked, excuse_for
from tests.fuzz.ledger import Ledger, Seen, is_followed, is_plain_id, path_of
from tests.support.session_api import DOCUMENT

Case: TypeAlias = schemathesis.Case[Any]


class Fuzz:
    """What one run knows."""

    def __init__(self, target: Target, seeds: tuple[Seed, ...], *, has_token: bool) -> None:
        self.target = target
        self.seeds = seeds
        self.has_token = has_token
        self.ledger = Ledger(target.read)
        self.before: dict[str, Seen] = {}
        self.cursors: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        self.contents: dict[str, bytes] = {}
        self.doomed = 0
        self.keys = 0

    def exchange(self, response: schemathesis.Response) -> Exchange:
        request = response.request
        path, query = below(self.target.url, request.url or "")
        return Exchange(
            method=request.method or "",
            path=path,
            query=query,
            sent_headers={name.lower(): str(value) for name, value in request.headers.items()},
            sent=sent_by(request),
            status=response.status_code,
            headers=response.headers,
            content=response.content,
        )


@cache
def fuzz() -> Fuzz:
    """This process's run."""
    told = Told.read(Path(os.environ[SEEDS_VARIABLE]))
    return Fuzz(Target(told.url, told.token), told.seeds, has_token=told.has_token)


# --------------------------------------------------------------------------- ids that exist


@schemathesis.hook
def before_call(context: schemathesis.HookContext, case: Case, kwargs: dict[str, Any]) -> None:
    """Put ids, versions, refs and cursors that exist in place of generated ones, then look at the session."""
    if not fuzz().has_token:
        return
    dice = Dice(case)
    if case.meta is not None and case.meta.phase.name is not TestPhase.STATEFUL:
        _known_path(case, dice)
        _known_cursor(case, dice)
        _known_refs(case, dice)
        _known_model(case, dice)
        _mended_headers(case)
        _fresh_key(case, dice)
    _known_content(case, dice)
    session_id = case.path_parameters.get("sid")
    if case.method in ("POST", "PATCH", "DELETE") and isinstance(session_id, str) and is_plain_id(session_id):
        seen = fuzz().before[case.id] = fuzz().ledger.look(session_id)
        _known_version(case, dice, seen)


class Dice:
    """Chances that follow from the generated request, so that a shrunken or repeated request meets the same ones."""

    def __init__(self, case: Case) -> None:
        self._state = zlib.crc32(repr((case.method, case.path, case.path_parameters, case.query, case.body)).encode())

    def below(self, sides: int) -> int:
        """A number below ``sides``."""
        self._state = zlib.crc32(self._state.to_bytes(4, "big"))
        return self._state % sides


def _is_positive(case: Case, location: ParameterLocation) -> bool:
    assert case.meta is not None
    component = case.meta.components.get(location)
    return component is None or component.mode.is_positive


SLOW_IN: Final = 20
"""One in so many requests meets the session that is slow."""


def _known_path(case: Case, dice: Dice) -> None:
    if "sid" not in case.path_parameters or not _is_positive(case, ParameterLocation.PATH) or not dice.below(6):
        return
    if case.method == "DELETE":
        fuzz().doomed += 1
        case.path_parameters["sid"] = f"doomed-{fuzz().doomed}"
        fuzz().target.send("POST", "/v1/sessions", {"id": f"doomed-{fuzz().doomed}"})
        return
    is_slow = not dice.below(SLOW_IN)
    wants_pass = "cid" in case.path_parameters
    seeds = [seed for seed in fuzz().seeds if (seed.passes if wants_pass else seed.is_slow == is_slow)]
    seed = seeds[dice.below(len(seeds))]
    known = {
        "sid": seed.session,
        "eid": seed.events[dice.below(len(seed.events))],
        "ref": seed.refs[dice.below(len(seed.refs))],
        "cid": seed.passes[dice.below(len(seed.passes))] if wants_pass else "",
    }
    for name in case.path_parameters:
        case.path_parameters[name] = known[name]


def _mended_headers(case: Case) -> None:
    """Where the coverage phase finds no header that fits a pattern, it sends one that does not with every request, and
    the API would never come to look at the rest."""
    assert case.meta is not None
    data, is_positive = case.meta.phase.data, case.meta.generation.mode.is_positive
    if isinstance(data, CoveragePhaseData) and (is_positive or data.parameter_location is not ParameterLocation.HEADER):
        for name in ("If-Match", "If-None-Match"):
            if name in case.headers and not re.search(_PATTERNS[name], case.headers[name]):
                case.headers[name] = "*"


def _fresh_key(case: Case, dice: Dice) -> None:
    """A key that was used with another request is refused before anything else is looked at."""
    key = case.headers.get("Idempotency-Key")
    if key is not None and len(key) < KEY_CHARS and _is_positive(case, ParameterLocation.HEADER) and dice.below(4):
        fuzz().keys += 1
        case.headers["Idempotency-Key"] = f"{key}-{fuzz().keys}"


KEY_CHARS: Final = 240
_PATTERNS: Final = {
    parameter["name"]: parameter["schema"].get("pattern", r"^\*$")
    for parameter in DOCUMENT["components"]["parameters"].values()
    if parameter["in"] == "header"
}


def _known_version(case: Case, dice: Dice, seen: Seen) -> None:
    if "If-Match" in case.headers and seen.etag and _is_positive(case, ParameterLocation.HEADER) and dice.below(3):
        is_of_log = case.path.endswith(("/events", "/compactions"))
        case.headers["If-Match"] = re.sub(r'\.\d+"$', '"', seen.etag) if is_of_log else seen.etag


def _known_cursor(case: Case, dice: Dice) -> None:
    known = fuzz().cursors.get(f"{case.method} {case.path}")
    assert case.meta is not None
    # An invalid request stays as it is: what replaces its query would take away what is wrong with it.
    if known and "cursor" in case.query and case.meta.generation.mode.is_positive and dice.below(2):
        case.path_parameters.update(known[0])
        case.query.clear()
        case.query.update(known[1])


def _known_refs(case: Case, dice: Dice) -> None:
    places = (ParameterLocation.PATH, ParameterLocation.BODY)
    if not isinstance(case.body, dict) or not all(_is_positive(case, place) for place in places):
        return
    for block in _blocks(case.body):
        if isinstance(block.get("ref"), str) and dice.below(4):
            block["ref"] = fuzz().seeds[0].refs[0]
            case.path_parameters["sid"] = "small"


def _known_model(case: Case, dice: Dice) -> None:
    """A summary is written by a model that the stage has, or not at all."""
    if not isinstance(case.body, dict) or not _is_positive(case, ParameterLocation.BODY):
        return
    policy = case.body.get("compaction") or case.body
    strategy = policy.get("strategy") if isinstance(policy, dict) else None
    if isinstance(strategy, dict) and "model" in strategy and dice.below(4):
        strategy["model"] = MODEL


def _known_content(case: Case, dice: Dice) -> None:
    """Ask for leave to upload something that there is, so that it can be put."""
    if (
        case.meta is None
        or case.method != "POST"
        or not case.path.endswith("/uploads")
        or not isinstance(case.body, dict)
    ):
        return
    if _is_positive(case, ParameterLocation.BODY) and (case.meta.phase.name is TestPhase.STATEFUL or dice.below(2)):
        content = b"content %d" % dice.below(100)
        sha256 = hashlib.sha256(content).hexdigest()
        case.body.update(bytes=len(content), sha256=sha256)
        fuzz().contents[sha256] = content


def _blocks(value: Any) -> Iterator[dict[str, Any]]:
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if isinstance(value, dict) and value.get("type") == "media":
        yield value
    for member in members:
        yield from _blocks(member)


@schemathesis.hook
def after_call(context: schemathesis.HookContext, case: Case, response: schemathesis.Response) -> None:
    """Remember a listing that goes on."""
    exchange = fuzz().exchange(response)
    if exchange.status == 200 and isinstance(exchange.json, dict) and exchange.json.get("has_more"):
        query = dict(parse_qsl(exchange.query)) | {"cursor": exchange.json["next_cursor"]}
        fuzz().cursors[f"{case.method} {case.path}"] = (dict(case.path_parameters), query)


# --------------------------------------------------------------------------- checks


@schemathesis.check
def upload_is_taken(ctx: schemathesis.CheckContext, response: schemathesis.Response, case: Case) -> None:
    """What leave was given for can be put, whatever its media type, and is then there."""
    exchange = fuzz().exchange(response)
    if exchange.status != 201 or not exchange.path.endswith("/uploads"):
        return
    asked = json.loads(exchange.sent)
    content = fuzz().contents.get(asked["sha256"])
    if content is None or asked["bytes"] != len(content):
        return
    grant = exchange.json
    assert fuzz().target.put(grant["url"], grant["headers"], content) == 200, "the upload was refused"
    seen = fuzz().target.read(f"{exchange.path}/{grant['ref']}")
    there = (seen.status, seen.json["media_type"], seen.json["bytes"], seen.json["sha256"])
    assert there == (200, asked["media_type"], len(content), asked["sha256"]), f"the upload is {there}"


def _fail(wrong: Iterator[str]) -> None:
    found = list(wrong)
    assert not found, "\n".join(found)


@schemathesis.check
def answers_are_well_formed(ctx: schemathesis.CheckContext, response: schemathesis.Response, case: Case) -> None:
    """Problems are as documented and point at something; each answer has its X-Request-Id."""
    _fail(checks.wrong_with(fuzz().exchange(response)))


@schemathesis.check
def log_is_kept(ctx: schemathesis.CheckContext, response: schemathesis.Response, case: Case) -> None:
    """A refused write changes nothing; what was appended reads back."""
    before = fuzz().before.pop(case.id, None)
    exchange = fuzz().exchange(response)
    if before is not None and is_followed(exchange) and path_of(exchange.session_id or "") in exchange.path:
        _fail(fuzz().ledger.wrong_after(exchange, before))


@schemathesis.check
def links_lead_to_messages(ctx: schemathesis.CheckContext, response: schemathesis.Response, case: Case) -> None:
    """An event that is linked is the message that was stored, byte for byte as its link says."""
    exchange = fuzz().exchange(response)
    if exchange.status != 200 or exchange.method != "GET" or not re.search(r"/events(/[^/]+)?$", exchange.path):
        return
    for event in exchange.json.get("data", [exchange.json]):
        if link := event.get("link"):
            content = fuzz().target.get(link["url"]).content
            assert (link["bytes"], link["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())
            assert json.loads(content)["role"] in ("user", "assistant", "system", "tool")


@schemathesis.check
def only_public_without_token(ctx: schemathesis.CheckContext, response: schemathesis.Response, case: Case) -> None:
    """Without a token everything but the public routes is the gateway's 401."""
    if not fuzz().has_token:
        _fail(checks.wrong_without_token(fuzz().exchange(response)))


# --------------------------------------------------------------------------- exclusions


@schemathesis.hook
def filter_failure(
    context: schemathesis.HookContext,
    failure: Failure,
    case: Case,
    response: schemathesis.Response,
) -> bool:
    """Leave out refusals that no schema can state; ``excuses.py`` has the list and the reasons."""
    if not isinstance(failure, RejectedPositiveData):
        return True
    return excuse_for(fuzz().exchange(response), Asked(case.query, case.headers, case.body)) is None
