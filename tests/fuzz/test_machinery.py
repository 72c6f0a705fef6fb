"""What ``make fuzz`` would notice: each check, fed with an answer that is wrong in one way."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from tests.fuzz import checks, probes
from tests.fuzz.api import Seed, Target, Told, sow
from tests.fuzz.exchange import Exchange, below
from tests.fuzz.excuses import EXCUSES, Asked, excuse_for
from tests.fuzz.gateway import BASE, TOKEN, InProcess
from tests.fuzz.ledger import Ledger
from tests.fuzz.wire import Request
from tests.support.session_api import Api

PROBLEM = {
    "type": "urn:turnlog:problem:invalid-request",
    "title": "Invalid request",
    "status": 422,
    "detail": "d",
    "instance": "/v1/sessions/s/events",
    "code": "invalid-request",
    "request_id": "r",
    "retryable": False,
    "errors": [{"pointer": "/events/0/id", "detail": "d"}],
}
SENT = b'{"events": [{"id": 7}]}'
HEADERS = {"content-type": ["application/problem+json"], "x-request-id": ["r"]}
SEEDS = (Seed("s", ("e",), ("r-0",)),)


def refused(**changed: Any) -> Exchange:
    """A sound 422 of an append, but for what is changed."""
    content = json.dumps({**PROBLEM, **changed}).encode()
    return Exchange("POST", "/v1/sessions/s/events", "limit=1", {}, SENT, 422, HEADERS, content)


def pointing_at(pointer: str) -> Exchange:
    return refused(errors=[{"pointer": pointer, "detail": "d"}])


@pytest.mark.parametrize(
    "exchange",
    [
        refused(),
        pointing_at(""),
        pointing_at("/events/0/message"),  # a member that is missing
        pointing_at("query:limit"),
        pointing_at("header:If-Match"),
        pointing_at("path:sid"),
        replace(pointing_at("/a/b"), sent=b"{"),
        replace(refused(), status=204, headers={"x-request-id": ["r"]}, content=b""),
        replace(refused(), status=401, headers={"content-type": ["application/json"]}, content=b'{"message":"m"}'),
    ],
)
def test_a_sound_answer_has_nothing_wrong(exchange: Exchange) -> None:
    assert [] == list(checks.wrong_with(exchange))


@pytest.mark.parametrize(
    ("exchange", "wrong"),
    [
        (replace(refused(), headers={"content-type": HEADERS["content-type"]}), "X-Request-Id is missing"),
        (replace(refused(), headers={**HEADERS, "content-type": ["text/html"]}), "not a problem"),
        (replace(refused(), status=500, headers={"content-type": ["application/json"]}), "the gateway answered 500"),
        (refused(status=400), "status is 400"),
        (refused(type="about:blank"), "type is"),
        (refused(request_id="other"), "request_id is"),
        (refused(retryable=True), "retryable is"),
        (refused(instance="/v1/sessions/t/events"), "instance is"),
        (refused(errors=[]), "a 422 names no field"),
        (pointing_at("/events/1/id"), "points nowhere"),
        (pointing_at("/events/0/id/x"), "points nowhere"),
        (pointing_at("events/0"), "points nowhere"),
        (pointing_at("query:nothing"), "was not sent"),
        (pointing_at("header:Host"), "an undocumented header"),
        (pointing_at("path:tenant"), "an undocumented part"),
        (replace(refused(status=405), status=405), "405 without Allow"),
        (replace(refused(), status=204), "204 with a body"),
        (replace(refused(status=503, retryable=True), status=503), "503 without Retry-After"),
    ],
)
def test_a_wrong_answer_is_noticed(exchange: Exchange, wrong: str) -> None:
    assert any(wrong in found for found in checks.wrong_with(exchange)), list(checks.wrong_with(exchange))


@pytest.mark.parametrize(
    ("path", "status", "content", "is_wrong"),
    [
        ("/v1/sessions/s", 401, {"message": "Unauthorized"}, False),
        ("/v1/sessions/s", 401, {"message": "no"}, True),
        ("/v1/sessions/s", 404, {}, True),
        ("/v1/health", 200, {}, False),
        ("/v1/health", 401, {}, True),
        ("/v1/nothing", 404, {}, False),
    ],
)
def test_a_route_that_is_open_or_shut_by_mistake_is_noticed(
    path: str, status: int, content: Mapping[str, Any], is_wrong: bool
) -> None:
    exchange = Exchange("GET", path, "", {}, b"", status, {}, json.dumps(content).encode())

    assert is_wrong == bool(list(checks.wrong_without_token(exchange)))


@pytest.fixture
def target() -> Target:
    found = Target(BASE, TOKEN, InProcess(Api()).connect())
    found.send("POST", "/v1/sessions", {"id": "s"})
    return found


def posted(target: Target, below: str, body: Any) -> Exchange:
    answer = target.send("POST", f"/v1/sessions/s/{below}", body)
    headers = {name.lower(): [value] for name, value in answer.headers.items()}
    sent = json.dumps(body).encode()
    return Exchange("POST", f"/v1/sessions/s/{below}", "", {}, sent, answer.status_code, headers, answer.content)


def appended(target: Target, *events: Any) -> Exchange:
    return posted(target, "events", {"events": events})


EVENT = {"message": {"role": "user", "content": "x", "n": 1.5}, "metadata": {"a": 1}}


def test_the_ledger_takes_an_append_that_reads_back_and_a_refusal_without_effect(target: Target) -> None:
    ledger = Ledger(target.read)
    before = ledger.look("s")
    good = appended(target, EVENT)
    between = ledger.look("s")
    bad = appended(target, {"message": {"role": "nobody"}})

    assert (201, 422) == (good.status, bad.status)
    assert [] == [*ledger.wrong_after(good, before), *ledger.wrong_after(bad, between)]


@pytest.mark.parametrize(
    ("changed", "wrong"),
    [
        ({"message": {"role": "user", "content": "y", "n": 1.5}}, "message of event"),
        ({"message": {"role": "user", "content": "x", "n": 1.50001}}, "message of event"),
        ({"metadata": {}}, "metadata of event"),
        ({"branch": "a"}, "branch of event"),
    ],
)
def test_the_ledger_notices_what_reads_back_otherwise(target: Target, changed: Any, wrong: str) -> None:
    ledger = Ledger(target.read)
    before = ledger.look("s")
    exchange = appended(target, EVENT)

    altered = replace(exchange, sent=json.dumps({"events": [{**EVENT, **changed}]}).encode())

    assert any(wrong in found for found in ledger.wrong_after(altered, before))


def test_the_ledger_notices_a_refusal_with_an_effect_a_gap_and_a_session_that_lives_on(target: Target) -> None:
    ledger = Ledger(target.read)
    before = ledger.look("s")
    exchange = appended(target, EVENT)
    gap = replace(exchange, content=exchange.content.replace(b'"seq":1', b'"seq":2'))
    deleted = replace(exchange, method="DELETE", path="/v1/sessions/s", status=204)

    for wrong, told in (
        (replace(exchange, status=409), "changed the session"),
        (gap, "came [2]"),
        (deleted, "answers 200"),
    ):
        assert any(told in found for found in ledger.wrong_after(wrong, before)), told


def test_the_ledger_follows_compactions(target: Target) -> None:
    """Each is in the history when its 201 comes; a refusal that has made one is not excused by what policies do."""
    ledger = Ledger(target.read)
    appended(target, EVENT, EVENT, EVENT)
    rules = {"strategy": {"type": "turn_window", "max_turns": 2}}
    before = ledger.look("s")
    dry, made = (posted(target, "compactions", {**rules, "dry_run": flag}) for flag in (True, False))
    between = ledger.look("s")
    nothing = posted(target, "compactions", rules)

    assert (200, 201, 200) == (dry.status, made.status, nothing.status)
    assert [] == [*ledger.wrong_after(made, before), *ledger.wrong_after(nothing, between)]
    assert ["a 200 has made 1 compactions"] == list(ledger.wrong_after(dry, before))
    assert ["a 201 has made 0 compactions"] == list(ledger.wrong_after(replace(nothing, status=201), between))
    appended(target, EVENT)
    assert ["a compaction moved the end of the log from 3 to 4"] == list(ledger.wrong_after(nothing, between))


@pytest.mark.parametrize("pointer", ["query:limit", "query:order"])
def test_an_excuse_needs_its_pointer_and_its_reason(pointer: str) -> None:
    both, one = (Asked(query, {}, None) for query in ({"limit": 1, "last_n": 1}, {"limit": 1}))

    assert (pointer == "query:limit") == (excuse_for(pointing_at(pointer), both) is not None)
    assert excuse_for(pointing_at(pointer), one) is None
    assert excuse_for(replace(pointing_at(pointer), headers={}), both) is None


def test_every_excuse_says_why() -> None:
    assert all(excuse.reason.endswith(".") for excuse in EXCUSES)


def test_the_same_seed_makes_the_same_probes_and_another_one_others() -> None:
    def made(seed: int) -> list[Request]:
        return list(islice(probes.requests(seed, "t", SEEDS), 50))

    assert made(1) == made(1)
    assert made(1) != made(2)


def test_probes_reach_every_kind_of_oddity() -> None:
    """A table that no mutation draws from would go unnoticed."""
    drawn = list(islice(probes.requests(1, None, SEEDS), 2000))
    routes = {(p.method, p.target.partition("?")[0].rpartition("/")[2]) for p in drawn}

    assert {"TRACE", "HEAD", "PROPFIND"} <= {p.method for p in drawn}
    assert {("GET", "health"), ("POST", "events"), ("POST", "uploads")} <= routes
    assert any("%ED%A0%80" in p.target for p in drawn)
    assert any(p.body.startswith(b"[[[[") for p in drawn)
    assert any(header == ("Content-Encoding", "br") for p in drawn for header in p.headers)
    assert any(b"\\u202e" in p.body or "\u202e".encode() in p.body for p in drawn)


def test_a_probe_is_shown_as_a_line_for_the_shell_without_its_token() -> None:
    probe = Request("POST", "/v1/sessions?a=%00", [("Authorization", "Bearer secret"), ("X", "\xe9")], b"{'\xff\\n}")

    line = probe.as_curl("http://127.0.0.1:1/$default")

    assert "secret" not in line
    assert r"--data-binary $'{\x27\xff\x5cn}'" in line
    assert r"-H $'X: \xe9'" in line
    assert line.endswith("$'http://127.0.0.1:1/$default/v1/sessions?a=%00'")


def test_a_probe_goes_out_as_it_is_written() -> None:
    head = Request("get", "/v1/%zz", [("X", "\xe9")], b"ab").head("http://127.0.0.1:1/base")

    assert head.startswith(b"get /base/v1/%zz HTTP/1.1\r\nHost: 127.0.0.1:1\r\n")
    assert head.endswith(b"\r\nX: \xe9\r\nContent-Length: 2\r\n\r\n")


def test_paths_are_told_below_the_base() -> None:
    assert ("/v1/health", "a=1") == below("http://h/x/$default", "http://h/x/$default/v1/health?a=1")
    assert ("/v1/health", "") == below("http://h/x/$default", "http://h/x/%24default/v1/health")


def test_what_the_runner_tells_arrives_and_is_for_the_owner_only(target: Target, tmp_path: Any) -> None:
    told = Told(target.url, target.token, True, sow(target))
    told.write(tmp_path / "told.json")

    assert told == Told.read(tmp_path / "told.json")
    assert 0o600 == (tmp_path / "told.json").stat().st_mode & 0o777
