"""Each bad input has a clear 4xx that points at the field."""

import base64
import json
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.session_api import Api, http_event

USER = {"message": {"role": "user", "content": "x"}}
EVENTS = "/v1/sessions/s/events"
COMPACTIONS = "/v1/sessions/s/compactions"


@dataclass(frozen=True)
class Bad:
    """A request, and the status and pointers that it deserves."""

    method: str
    path: str
    status: int
    pointers: list[str]
    body: Any = None
    raw: str | None = None
    query: str = ""
    headers: dict[str, str] | None = None

    def __str__(self) -> str:
        shown = self.raw if self.raw is not None else "" if self.body is None else json.dumps(self.body)
        return f"{self.method} {self.path}?{self.query} {shown[:60]} {self.headers or ''}"


def creating(body: Any, *pointers: str, status: int = 422) -> Bad:
    return Bad("POST", "/v1/sessions", status, list(pointers), body=body)


def patching(body: Any, *pointers: str) -> Bad:
    return Bad("PATCH", "/v1/sessions/s", 422, list(pointers), body=body)


def event(extra: dict[str, Any], pointer: str) -> Bad:
    """A batch whose second event is bad."""
    return Bad("POST", EVENTS, 422, [f"/events/1{pointer}"], body={"events": [USER, {**USER, **extra}]})


def message(message: Any, pointer: str) -> Bad:
    return event({"message": message}, f"/message{pointer}")


def block(block: Any, pointer: str, role: str = "assistant") -> Bad:
    return message({"role": role, "content": [block]}, f"/content/0{pointer}")


def raw(text: str, *pointers: str, status: int = 400) -> Bad:
    return Bad("POST", EVENTS, status, list(pointers), raw=text)


def listing(query: str, pointer: str | None, status: int = 422) -> Bad:
    return Bad("GET", EVENTS, status, [] if pointer is None else [pointer], query=query)


def header(method: str, path: str, name: str, value: str, body: Any = None) -> Bad:
    return Bad(method, path, 422, [f"header:{name}"], body=body, headers={name: value})


def compacting(body: Any, *pointers: str, status: int = 422) -> Bad:
    return Bad("POST", COMPACTIONS, status, list(pointers), body=body)


def policy(value: Any, pointer: str) -> Bad:
    return creating({"compaction": value}, f"/compaction{pointer}")


STRATEGY = {"type": "turn_window", "max_turns": 3}
TRIGGER = {"type": "turn_count", "max_turns": 9}
SUMMARY = {"type": "recursive_summarization", "max_events_to_keep": 10, "overlap_size": 2, "model": "m"}
NOT_BOOLEANS: list[Any] = [1, 0, "true", "yes", None, [], {}]
NOT_OBJECTS: list[Any] = ["turn_window", [], 1]
BAD_IDS = [
    "",
    " ",
    ".",
    "..",
    "../x",
    "a/b",
    "a#b",
    "a b",
    "%2e%2e",
    "a\0",
    "a\n",
    "x" * 129,
    "é",
    "é",
    7,
    True,
    ["a"],
]

CASES = [
    # ---- ids
    *(creating({"id": id}, "/id") for id in BAD_IDS),
    creating({"id": "~abc-1"}, "/id"),
    *(event({"id": id}, "/id") for id in BAD_IDS),
    event({"id": "~abc"}, "/id"),
    # ---- sessions
    creating([], ""),
    creating("x", ""),
    Bad("POST", "/v1/sessions", 422, [""], raw="null"),
    creating({"user_id": "mallory"}, "/user_id"),
    creating({"tenant": "globex", "expires_at": "x"}, "/tenant", "/expires_at"),
    *(creating({"ttl_seconds": ttl}, "/ttl_seconds") for ttl in (59, 0, -1, 3155760001, 60.5, True, "60", [60])),
    *(
        Bad("POST", "/v1/sessions", 422, ["/ttl_seconds"], raw=f'{{"ttl_seconds":{number}}}')
        for number in ("1e400", "1e999999999", "60.000000000000000000000000000001", "-0", "6e-1", "5.9e1")
    ),
    creating({"metadata": []}, "/metadata"),
    creating({"metadata": None}, "/metadata"),
    creating({"metadata": {"x": "y" * 16_384}}, "/metadata", status=413),
    creating({"metadata": {"x": "é" * 8_192}}, "/metadata", status=413),
    creating({"metadata": {"x": "y" * 16_384}, "id": 1}, "/id", "/metadata"),
    creating({"allow_system_messages": "true"}, "/allow_system_messages"),
    creating({"allow_system_messages": 1}, "/allow_system_messages"),
    patching({}, ""),
    patching({"id": "t"}, "/id"),
    patching({"ttl_seconds": 1}, "/ttl_seconds"),
    patching({"metadata": "x"}, "/metadata"),
    patching({"created_at": "x", "version": 3}, "/created_at", "/version"),
    # ---- policy
    policy([], ""),
    creating({"compaction": {}}, "/compaction/trigger", "/compaction/strategy"),
    policy({"trigger": TRIGGER, "strategy": STRATEGY, "x": 1}, "/x"),
    policy({"trigger": {}, "strategy": STRATEGY}, "/trigger/type"),
    policy({"trigger": {"type": "moon"}, "strategy": STRATEGY}, "/trigger/type"),
    policy({"trigger": {"type": "turn_count"}, "strategy": STRATEGY}, "/trigger/max_turns"),
    policy({"trigger": {**TRIGGER, "max_turns": 0}, "strategy": STRATEGY}, "/trigger/max_turns"),
    policy({"trigger": {**TRIGGER, "turn_count": 0}, "strategy": STRATEGY}, "/trigger/turn_count"),
    policy({"trigger": {"type": "any_of", "triggers": []}, "strategy": STRATEGY}, "/trigger/triggers"),
    policy(
        {
            "trigger": {"type": "any_of", "triggers": [TRIGGER, {"type": "token_count", "threshold": "9"}]},
            "strategy": STRATEGY,
        },
        "/trigger/triggers/1/threshold",
    ),
    policy({"trigger": TRIGGER, "strategy": {"type": "turn_count"}}, "/strategy/type"),
    policy({"trigger": TRIGGER, "strategy": {**STRATEGY, "max_events": 1}}, "/strategy/max_events"),
    policy({"trigger": TRIGGER, "strategy": {**SUMMARY, "overlap_size": 10}}, "/strategy/overlap_size"),
    policy({"trigger": TRIGGER, "strategy": {**SUMMARY, "model": ""}}, "/strategy/model"),
    Bad(
        "POST",
        "/v1/sessions",
        413,
        ["/compaction"],
        body={"compaction": {"trigger": {"type": "any_of", "triggers": [TRIGGER] * 200}, "strategy": STRATEGY}},
    ),
    policy({"trigger": TRIGGER, "strategy": SUMMARY}, "/strategy/model"),
    patching({"compaction": {"trigger": TRIGGER, "strategy": SUMMARY}}, "/compaction/strategy/model"),
    patching({"compaction": {"trigger": {"type": "always"}, "strategy": STRATEGY}}, "/compaction/trigger/type"),
    # ---- compaction
    compacting([], ""),
    compacting({}, "/strategy"),
    compacting({"force": True}, "/strategy"),
    compacting({"trigger": TRIGGER}, "/strategy"),
    compacting({"policy": {}, "strategy": STRATEGY}, "/policy"),
    *(compacting({"strategy": STRATEGY, "force": value}, "/force") for value in NOT_BOOLEANS),
    *(compacting({"strategy": STRATEGY, "dry_run": value}, "/dry_run") for value in NOT_BOOLEANS),
    *(compacting({"strategy": value}, "/strategy") for value in NOT_OBJECTS),
    compacting({"strategy": {}}, "/strategy/type"),
    compacting({"strategy": {"type": "turn_count", "max_turns": 1}}, "/strategy/type"),
    compacting({"strategy": {"type": "turn_window"}}, "/strategy/max_turns"),
    *(compacting({"strategy": {**STRATEGY, "max_turns": n}}, "/strategy/max_turns") for n in (0, -1, 1.5, True, "3")),
    compacting({"strategy": {**STRATEGY, "turn_window": 1}}, "/strategy/turn_window"),
    compacting({"strategy": SUMMARY}, "/strategy/model"),
    *(compacting({"strategy": {**SUMMARY, "system_prompt": text}}, "/strategy/system_prompt") for text in ("", " \n")),
    compacting({"strategy": {**SUMMARY, "shadow_prompt": "x" * 3001}}, "/strategy/shadow_prompt"),
    compacting({"strategy": {**SUMMARY, "overlap_size": 10}}, "/strategy/overlap_size"),
    compacting({"strategy": {**SUMMARY, "system_prompt": "é" * 2100}}, "/strategy", status=413),
    compacting({"strategy": STRATEGY, "trigger": {"type": "always"}}, "/trigger/type"),
    compacting({"strategy": STRATEGY, "trigger": {"type": "never", "max_turns": 1}}, "/trigger/max_turns"),
    compacting(
        {"strategy": STRATEGY, "trigger": {"type": "any_of", "triggers": [TRIGGER, {"type": "token_count"}]}},
        "/trigger/triggers/1/threshold",
    ),
    compacting(
        {"strategy": STRATEGY, "trigger": {"type": "any_of", "triggers": [TRIGGER] * 200}}, "/trigger", status=413
    ),
    Bad("POST", COMPACTIONS, 422, ["query:dry_run"], query="dry_run=true", body={"strategy": STRATEGY}),
    *(
        Bad("GET", COMPACTIONS, 422, [f"query:{query.partition('=')[0]}"], query=query)
        for query in ("limit=0", "limit=101", "cursor=", "cursor=x", "cursor=MXxlfA", "order=asc", "status=failed")
    ),
    *(
        Bad(method, f"{COMPACTIONS}/{cid}{rest}", status, ["path:cid"])
        for cid, status in (
            ("x", 422),
            ("0", 422),
            ("1.", 422),
            ("1.XY", 422),
            ("%31%2E", 422),
            ("..", 422),
            ("1.5f0c2a9b7e11%0A", 422),
            ("٣", 422),
            ("1%", 400),
        )
        for method, rest in (("GET", ""), ("POST", "/undo"))
    ),
    Bad("POST", f"{COMPACTIONS}/1/undo", 422, ["query:force"], query="force=true"),
    # ---- append
    Bad("POST", EVENTS, 422, ["/events"], body={}),
    Bad("POST", EVENTS, 422, ["/events"], body={"events": []}),
    Bad("POST", EVENTS, 422, ["/events"], body={"events": [USER] * 101}),
    Bad("POST", EVENTS, 422, ["/events"], body={"events": USER}),
    Bad("POST", EVENTS, 422, ["/events/0"], body={"events": ["x"]}),
    Bad("POST", EVENTS, 422, ["/create_if_missing"], body={"events": [USER], "create_if_missing": 1}),
    Bad("POST", EVENTS, 422, ["/user"], body={"events": [USER], "user": "x"}),
    Bad(
        "POST",
        EVENTS,
        422,
        ["/events/0/message/role", "/events/2/message", "/events/2/seq"],
        body={"events": [{"message": {"role": "robot", "content": ""}}, USER, {"seq": 4}]},
    ),
    *(event({key: 1}, f"/{key}") for key in ("seq", "archived", "synthetic", "session_id")),
    event({"a/b~c": 1}, "/a~1b~0c"),
    *(
        event({"branch": branch}, "/branch")
        for branch in ("", "  ", ".", "a.", ".a", "a..b", "a b", "é", "a/b", 1, "x" * 257)
    ),
    *(
        event({"timestamp": stamp}, "/timestamp")
        for stamp in (
            "",
            "yesterday",
            "2026-01-01",
            "2026-01-01T00:00:00",
            "2026-02-30T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:60Z",
            "2026-01-01T00:00:00.1234567890Z",
            "2026-01-01T00:00:00+25:00",
            1767225600,
            True,
        )
    ),
    event({"metadata": "x"}, "/metadata"),
    event({"metadata": None}, "/metadata"),
    Bad("POST", EVENTS, 413, ["/events/0/metadata"], body={"events": [{**USER, "metadata": {"x": "y" * 16_384}}]}),
    # ---- messages
    message(None, ""),
    message("hi", ""),
    message({}, "/role"),
    message({"role": "User", "content": ""}, "/role"),
    message({"role": ["user"], "content": ""}, "/role"),
    message({"role": "user"}, "/content"),
    message({"role": "user", "content": None}, "/content"),
    message({"role": "user", "content": 1}, "/content"),
    message({"role": "tool", "content": "x"}, "/content"),
    block("x", ""),
    block({}, "/type"),
    block({"type": "hologram"}, "/type"),
    block({"type": "text"}, "/text"),
    block({"type": "text", "text": 1}, "/text"),
    block({"type": "tool_call", "id": "c", "name": "t", "arguments": {"k": 1}}, "/arguments"),
    block({"type": "tool_call", "id": "c", "name": "t", "arguments": "{}"}, "/type", role="user"),
    block({"type": "thinking", "text": "x"}, "/type", role="user"),
    block({"type": "text", "text": "x"}, "/type", role="tool"),
    block({"type": "tool_result", "content": "x"}, "/call_id", role="tool"),
    block({"type": "tool_result", "call_id": "c"}, "/content", role="tool"),
    block({"type": "tool_result", "call_id": "c", "content": "x", "status": "final"}, "/status", role="tool"),
    block({"type": "tool_result", "call_id": "c", "content": [{"type": "x"}]}, "/content/0/type", role="tool"),
    block({"type": "media", "media_type": "image/png"}, "", role="user"),
    block({"type": "media", "media_type": "", "url": "x"}, "/media_type", role="user"),
    block({"type": "provider", "provider": "p"}, "/data", role="user"),
    # ---- JSON itself
    raw(""),
    raw("   "),
    raw("{"),
    raw("{'a':1}"),
    raw('{"events":[]} x'),
    raw('{"events":[],"events":[]}', "/events"),
    raw('{"events":[NaN]}', "/events/0"),
    raw('{"events":[-Infinity]}', "/events/0"),
    raw('{"events":' + "[" * 64 + "]" * 64 + "}", "/events" + "/0" * 63),
    raw('{"events":' + "[" * 100_000, "/events" + "/0" * 63),
    raw('{"events":[' + "1" * 1001 + "]}", "/events/0"),
    raw('{"events":[{"message":{"role":"user","content":"a\\ud83d b"}}]}', "/events/0/message/content"),
    raw('{"events":[{"message":{"role":"user","\\udc00":1}}]}', "/events/0/message/?"),
    # ---- query
    listing("limit=0", "query:limit"),
    listing("limit=101", "query:limit"),
    listing("limit=", "query:limit"),
    listing("limit=1.0", "query:limit"),
    listing("limit=%D9%A1", "query:limit"),
    listing("limit=99999999999999999999", "query:limit"),
    listing("limit", "query:limit"),
    listing("limit=1&limit=2", "query:limit"),
    listing("last_n=0", "query:last_n"),
    listing("last_n=-3", "query:last_n"),
    listing("last_n=1001", "query:last_n"),
    listing("last_n=5&limit=5", "query:limit"),
    listing("tail=5", "query:tail"),
    listing("page=0&page_size=5", "query:page"),
    listing("pattern=a", "query:pattern"),
    listing("Limit=5", "query:Limit"),
    listing("=5", "query:"),
    listing("&", "query:"),
    listing("types=", "query:types"),
    listing("types=user,", "query:types"),
    listing("types=User", "query:types"),
    listing("types=user&types=tool", "query:types"),
    listing("from=now", "query:from"),
    listing("to=2026-01-01T00:00:00+01:00", "query:to"),
    listing("archived=yes", "query:archived"),
    listing("exclude_synthetic=1", "query:exclude_synthetic"),
    listing("branch=", "query:branch"),
    listing("branch=a..b", "query:branch"),
    listing("keyword=", "query:keyword"),
    listing("keyword=+", "query:keyword"),
    listing("keywords=a,,b", "query:keywords"),
    listing("keywords=a&match=some", "query:match"),
    listing("match=all", "query:match"),
    listing("order=up", "query:order"),
    listing("keyword=%zz", "query:keyword", status=400),
    listing("keyword=%ff", "query:keyword", status=400),
    *(
        listing(f"cursor={text}", "query:cursor")
        for text in ("", "x", "%F0%9F%98%80", "a" * 3000, "MQ==", "MQ", "MXxlfA")
    ),
    Bad("GET", "/v1/sessions", 422, ["query:user_id"], query="user_id=bob"),
    Bad("GET", "/v1/sessions", 422, ["query:order_by"], query="order_by=name"),
    Bad("GET", "/v1/sessions", 422, ["query:cursor"], query="cursor=abc"),
    Bad("GET", "/v1/sessions/s", 422, ["query:x"], query="x=1"),
    Bad("DELETE", "/v1/sessions/s", 422, ["query:force"], query="force=true"),
    Bad("PATCH", "/v1/sessions/s", 422, ["query:x"], query="x", body={"metadata": {}}),
    Bad("POST", "/v1/sessions", 422, ["query:id"], query="id=x", body={}),
    Bad("POST", EVENTS, 422, ["query:x"], query="x=1", body={"events": [USER]}),
    Bad("GET", "/v1/health", 422, ["query:x"], query="x=1"),
    # ---- path
    *(
        Bad(method, f"/v1/sessions/{sid}{rest}", 422, ["path:sid"], body=body)
        for sid in (".", "..", "a%20b", "a%23b", "%2e%2e", "%252e", "a%00", "a\0", "a\n", "é", "~a-1", "x" * 129)
        for method, rest, body in (("GET", "", None), ("DELETE", "", None), ("POST", "/events", {"events": [USER]}))
    ),
    Bad("GET", f"{EVENTS}/..", 422, ["path:eid"]),
    Bad("GET", f"{EVENTS}/~abc", 422, ["path:eid"]),
    Bad("GET", f"{EVENTS}/a b", 422, ["path:eid"]),
    Bad("GET", f"{EVENTS}/%e9", 400, ["path:eid"]),
    Bad("GET", "/v1/sessions/50%", 400, ["path:sid"]),
    # ---- headers
    *(
        header(method, path, "If-Match", value, body)
        for value in ("", "5", '"5', "W/5", '"1" "2"', '"1",', '*, "1"')
        for method, path, body in (
            ("POST", EVENTS, {"events": [USER]}),
            ("POST", COMPACTIONS, {"strategy": STRATEGY}),
            ("PATCH", "/v1/sessions/s", {"metadata": {}}),
            ("DELETE", "/v1/sessions/s", None),
        )
    ),
    header("POST", "/v1/sessions", "If-None-Match", '"1.2.3"', {}),
    *(
        header("POST", path, "Idempotency-Key", value, body)
        for value in ("", " ", "a b", "k" * 256, "é", "a\x7f")
        for path, body in ((EVENTS, {"events": [USER]}), ("/v1/sessions", {}))
    ),
    *(
        Bad("POST", EVENTS, 415, ["header:Content-Type"], body={"events": [USER]}, headers={"Content-Type": value})
        for value in (
            "text/plain",
            "application/x-www-form-urlencoded",
            "",
            "application/json; charset=latin-1",
            "json",
        )
    ),
]


@pytest.mark.parametrize("bad", CASES, ids=str)
def test_bad_input_is_refused_where_it_is_wrong(session: Api, bad: Bad) -> None:
    """The status fits, every wrong field is pointed at, and nothing was written."""
    headers = {name.replace("-", "_"): value for name, value in (bad.headers or {}).items()}
    reply = session.call(bad.method, bad.path, bad.body, raw=bad.raw, query=bad.query, **headers)

    assert bad.status == reply.status, reply.text
    assert bad.pointers == reply.pointers, reply.text
    assert all(error["detail"] for error in reply.json["errors"])
    assert reply.json["detail"]
    assert "application/problem+json" == reply.headers["Content-Type"]
    assert 0 == session.call("GET", "/v1/sessions/s").json["version"]
    assert 1 == len(session.call("GET", "/v1/sessions").json["data"])


@pytest.mark.parametrize(
    ("bad", "detail"),
    [
        (Bad("POST", EVENTS, 422, [], body={"events": []}), "/events: must have at least 1 entry."),
        (creating({"ttl_seconds": 1, "x": 2}), "/ttl_seconds: must be at least 60; /x: is not a known field."),
        (raw('{"a":"\n"}'), "Not JSON: Invalid control character at line 1, column 7."),
        (event({"timestamp": "2026-01-01T00:00:00.1234567890Z"}, ""), "has 10 fractional digits; at most 9"),
        (event({"timestamp": "2016-12-31T23:59:60Z"}, ""), "is a leap second, which cannot be kept"),
        (Bad("GET", f"{EVENTS}/~ABC-0", 422, []), "an id that the server made, such as ~mkq1x2y3-17"),
        (event({"id": "~ABC-0"}, ""), "an id that the server made, such as ~mkq1x2y3-17"),
        (listing("cursor=" + "a" * 2049, None), "query:cursor: must have at most 2048 characters"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_the_text_says_what_is_wrong(session: Api, bad: Bad, detail: str) -> None:
    """In words that help, with the pointer before a colon."""
    reply = session.call(bad.method, bad.path, bad.body, raw=bad.raw, query=bad.query)

    assert bad.status == reply.status
    assert detail in reply.json["detail"]


@pytest.mark.parametrize(
    "value",
    ["application/json", "APPLICATION/JSON", 'application/json; charset="UTF-8"', "application/merge-patch+json"],
)
def test_json_media_types_are_taken(session: Api, value: str) -> None:
    """In any case, with a charset that is UTF-8, with a suffix."""
    assert 200 == session.call("PATCH", "/v1/sessions/s", {"metadata": {}}, Content_Type=value).status


def test_a_body_without_a_content_type_is_taken_as_json(api: Api) -> None:
    """The gateway sends such a body in base64."""
    claims = {"custom:tenant": "acme", "sub": "alice"}
    body = base64.b64encode(b'{"id":"s"}').decode()

    assert 201 == api.invoke(http_event("POST", "/v1/sessions", body=body, is_base64=True, claims=claims)).status


@pytest.mark.parametrize("body", ["!", "eyJ9", "e", "ÿ"])
def test_broken_base64_and_broken_utf8_are_400(api: Api, body: str) -> None:
    """Whether the base64, the text in it or the JSON is what is broken."""
    claims = {"custom:tenant": "acme", "sub": "alice"}

    assert 400 == api.invoke(http_event("POST", "/v1/sessions", body=body, is_base64=True, claims=claims)).status


def test_a_body_that_the_gateway_repaired_is_400(session: Api) -> None:
    """It puts U+FFFD where the bytes were no UTF-8; what was announced is then of another length."""
    sent = b'{"events":[{"message":{"role":"user","content":"caf\xe9"}}]}'
    repaired = sent.decode("utf-8", "replace")

    assert 400 == session.call("POST", "/v1/sessions/s/events", raw=repaired, Content_Length=str(len(sent))).status
    whole = str(len(repaired.encode()))
    assert 201 == session.call("POST", "/v1/sessions/s/events", raw=repaired, Content_Length=whole).status


def test_a_lone_surrogate_that_the_gateway_let_through_is_400(api: Api) -> None:
    """The event's own JSON may hold one."""
    assert 400 == api.call("POST", "/v1/sessions", raw='{"id":"\ud800"}').status


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/v1",
        "/v1/",
        "/v1/sessions/",
        "/v1/sessions/s/",
        "/v1/sessions//events",
        "/v2/sessions",
        "/v1/openapiXjson",
        "/v1/health\n",
        "/v1/sessions/s/events/e/x",
        "/v1/sessions/a/b",
    ],
)
def test_an_unknown_path_is_a_404_problem(session: Api, path: str) -> None:
    """A trailing slash, too."""
    reply = session.call("GET", path)

    assert (404, "route-not-found") == (reply.status, reply.json["code"])


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PUT", "/v1/sessions", "POST, GET"),
        ("HEAD", "/v1/sessions/s", "GET, PATCH, DELETE"),
        ("DELETE", "/v1/sessions/s/events", "POST, GET"),
        ("POST", "/v1/sessions/s/events/e", "GET"),
        ("DELETE", "/v1/sessions/s/compactions", "POST, GET"),
        ("DELETE", "/v1/sessions/s/compactions/1", "GET"),
        ("GET", "/v1/sessions/s/compactions/1/undo", "POST"),
        ("POST", "/v1/health", "GET"),
    ],
)
def test_a_wrong_method_is_a_405_problem_with_the_right_ones(session: Api, method: str, path: str, allow: str) -> None:
    """Allow lists them."""
    reply = session.call(method, path)

    assert (405, allow) == (reply.status, reply.headers["allow"])


@pytest.mark.parametrize("headers", [{}, {"Content_Encoding": "gzip", "Content_Length": "70"}])
def test_without_a_length_to_compare_a_replacement_character_is_refused(session: Api, headers: dict[str, str]) -> None:
    """A chunked body: nobody can tell whether the gateway repaired it. Escaped, it is surely meant."""
    raw = '{"events":[{"message":{"role":"user","content":"a%sb"}}]}'
    refused = session.call("POST", EVENTS, raw=raw % "\ufffd", **headers)
    assert (400, "malformed-json") == (refused.status, refused.json["code"])
    assert 201 == session.call("POST", EVENTS, raw=raw % "\\ufffd", **headers).status
    if not headers:
        length = str(len((raw % "\ufffd").encode()))
        told = {"Content_Length": length, "Content_Encoding": "identity"}
        assert 201 == session.call("POST", EVENTS, raw=raw % "\ufffd", **told).status
