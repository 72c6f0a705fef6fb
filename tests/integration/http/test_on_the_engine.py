"""The function over the DynamoDB store on the local engine: what HTTP promises, kept by the real store."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from session_api import limits
from tests.support.engine import Microburst
from tests.support.session_api import DOCUMENT, Api, Reply, path_of
from turnlog.stores.dynamodb import connect
from turnlog.stores.dynamodb.pacing import Pacing
from turnlog.testing.clock import ManualClock

pytestmark = pytest.mark.engine

EVENTS = "/v1/sessions/s/events"
NUMBERS = '{"t":0.1,"big":1e400,"n":12345678901234567890,"neg0":-0.0,"f":1.0,"i":1,"nan":"NaN"}'
EMPTY = '{"s":"","l":[],"m":{},"x":null,"nul":"a\\u0000b"}'


def api_on(endpoint: str, table: str, bucket: str, **more: Any) -> Api:
    """The function over this table; the store and the service look at the same clock."""
    clock = ManualClock()
    stores = connect(table, bucket, endpoint_url=endpoint, clock=clock.now, **more)
    return Api(repository_for=stores, uploads_for=stores.uploads, clock=clock)


@pytest.fixture
def session(engine: str, engine_table: str, engine_bucket: str) -> Api:
    """Alice of acme, who has a session "s"."""
    api = api_on(engine, engine_table, engine_bucket)
    assert 201 == api.create().status
    return api


def user(text: str, **event: Any) -> dict[str, Any]:
    """A user event."""
    return {**event, "message": {"role": "user", "content": text}}


def contents(reply: Reply) -> list[str]:
    """The texts of a page."""
    return [event["message"]["content"] for event in reply.json["data"]]


def test_the_life_of_a_session(session: Api) -> None:
    """Create, append, read, change, list, delete, and a new life that sees nothing of the old."""
    session.append("one", user("two", id="b"))
    changed = session.call("PATCH", "/v1/sessions/s", {"metadata": {"n": 1.0}, "ttl_seconds": None})

    assert ["one", "two"] == contents(session.list())
    assert (2, None, '"metadata":{"n":1.0}' in changed.text) == (
        changed.json["version"],
        changed.json["expires_at"],
        True,
    )
    assert ["s"] == [row["id"] for row in session.call("GET", "/v1/sessions").json["data"]]
    assert [204, 404] == [session.call("DELETE", "/v1/sessions/s").status for _ in range(2)]
    assert 404 == session.append("lost").status
    session.clock.advance(1)
    assert 201 == session.create().status
    assert [] == session.list().json["data"]
    assert [1] == [event["seq"] for event in session.append(user("again", id="b")).json["events"]]


def test_c1_a_stale_writer_is_refused_and_told_the_head(session: Api) -> None:
    """412 with the current ETag; nothing written."""
    tag = session.list().headers["etag"]
    first, second = session.append("a", If_Match=tag), session.append("b", If_Match=tag)

    assert (201, 412, first.headers["etag"]) == (first.status, second.status, second.json["version"])
    assert ["a"] == contents(session.list())


def test_c8_a_key_replays_the_first_answer_also_after_other_appends(session: Api) -> None:
    """Before If-Match is looked at; other content is 422."""
    first = session.append("x", Idempotency_Key="k")
    for i in range(5):
        session.append(str(i))
    again = session.append("x", Idempotency_Key="k", If_Match='"1.1.1"')
    other = session.append("y", Idempotency_Key="k")

    assert (201, first.content) == (again.status, again.content)
    assert (422, "idempotency-key-reused") == (other.status, other.json["code"])
    assert 6 == len(session.list().json["data"])


def test_c9_old_and_new_ids_in_one_batch_over_many_folds(session: Api) -> None:
    """300 ids later the first one still replays with its seq, and with other content conflicts."""
    for start in range(0, 300, 50):
        session.append(*(user(str(i), id=f"e{i}") for i in range(start, start + 50)))
    mixed = session.append(user("0", id="e0"), user("new", id="e300"))
    conflict = session.append(user("other", id="e17"))

    assert [("e0", 1, True), ("e300", 301, False)] == [tuple(event.values()) for event in mixed.json["events"]]
    assert (409, "e17") == (conflict.status, conflict.json["id"])


def test_a_create_with_a_key_replays_and_belongs_to_its_user(session: Api) -> None:
    """With and without an id."""
    for body in ({}, {"id": "named"}):
        first, again = (session.call("POST", "/v1/sessions", body, Idempotency_Key=f"k{len(body)}") for _ in range(2))
        assert (201, first.content) == (again.status, again.content)
    assert 409 == session.as_user("bob").call("POST", "/v1/sessions", {"id": "named"}, Idempotency_Key="k1").status


@pytest.mark.parametrize("text", [NUMBERS, EMPTY], ids=["e3", "e8"])
def test_json_comes_back_as_its_text(session: Api, text: str) -> None:
    """As metadata, as an unknown key, and as provider data."""
    block = f'{{"type":"provider","provider":"p","data":{text}}}'
    message = f'{{"role":"user","content":[{block}],"extra":{text}}}'
    session.call("POST", EVENTS, raw=f'{{"events":[{{"id":"e","metadata":{text},"message":{message}}}]}}')

    for reply in (session.list(), session.call("GET", f"{EVENTS}/e")):
        assert f'"metadata":{text},"message":{message}' in reply.text


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_b2_b4_equal_timestamps_keep_the_order_of_the_batches(session: Api, order: str) -> None:
    """Page after page, in both directions."""
    for start in range(0, 50, 10):
        session.append(*(user(str(i), timestamp="2026-01-01T00:00:00.000Z") for i in range(start, start + 10)))
    seen = [event["seq"] for page in session.pages(order=order, limit=7) for event in page]

    assert (list(range(1, 51)) if order == "asc" else list(range(50, 0, -1))) == seen


@pytest.mark.parametrize(
    "text", ["x" * 400_000, "x" * 3_000_000, "漢" * 1_000_000], ids=["400 KB", "3 MB", "3 MB of CJK"]
)
def test_a_large_event_comes_back_whole(session: Api, text: str) -> None:
    """Between small ones, by page and by id, in what Lambda can return."""
    session.append("before", user(text, id="big"), "after")
    pages = session.pages()

    assert ["before", text, "after"] == [event["message"]["content"] for page in pages for event in page]
    assert text == session.call("GET", f"{EVENTS}/big").json["message"]["content"]
    assert len(json.dumps(session.list().proxy)) <= limits.LAMBDA_PAYLOAD_BYTES


def test_e7_every_event_is_reached_by_pages_under_the_cap(session: Api) -> None:
    """12 MB of history."""
    for start in range(0, 200, 20):
        session.append(*(user("é" * 30_000, id=str(i)) for i in range(start, start + 20)))
    seen, query = [], {"limit": 100}
    while True:
        reply = session.list("s", query)
        assert len(json.dumps(reply.proxy)) <= limits.PAGE_BYTES
        seen += [event["id"] for event in reply.json["data"]]
        if not reply.json["has_more"]:
            break
        query["cursor"] = reply.json["next_cursor"]

    assert [str(i) for i in range(200)] == seen


def test_last_n_and_filters_read_past_what_does_not_match(session: Api) -> None:
    """One match in 300 events, and exactly the newest three of a role."""
    session.append({"id": "needle", "message": {"role": "assistant", "content": "needle"}})
    for start in range(0, 300, 100):
        session.append(*(user(f"hay {i}") for i in range(start, start + 100)))

    assert ["needle"] == [event["id"] for page in session.pages(keyword="NEEDLE") for event in page]
    assert [["hay 297", "hay 298", "hay 299"]] == [
        [event["message"]["content"] for event in page] for page in session.pages(last_n=3, types="user")
    ]


def test_lists_page_through_many_sessions_of_one_user(session: Api) -> None:
    """Newest first, each once, none of another user's."""
    for i in range(25):
        session.clock.advance(1)
        session.create(f"n{i}")
    session.as_user("bob").create("foreign")
    seen: list[str] = []
    query: dict[str, Any] = {"limit": 10}
    while True:
        reply = session.call("GET", "/v1/sessions", query=query)
        seen += [row["id"] for row in reply.json["data"]]
        if not reply.json["has_more"]:
            break
        query["cursor"] = reply.json["next_cursor"]

    assert [*(f"n{i}" for i in reversed(range(25))), "s"] == seen


def test_a_foreign_session_looks_exactly_like_an_unknown_one(session: Api) -> None:
    """On every operation of the document that names a session."""
    session.append(user("secret", id="e"))
    asked = {"media_type": "text/plain", "bytes": 1, "sha256": "0" * 64}
    policy = {"trigger": {"type": "never"}, "strategy": {"type": "turn_window", "max_turns": 1}}
    session.call("PATCH", "/v1/sessions/s", {"compaction": policy})
    session.append(user("later"))
    ref = session.call("POST", "/v1/sessions/s/uploads", asked).json["ref"]
    ids = {"eid": "e", "ref": ref, "cid": session.compact().json["id"]}
    strangers = [session.as_user("bob"), session.as_user("alice", "globex")]
    blank: Callable[[Reply], bytes] = lambda r: re.sub(rb'"(instance|request_id)":"[^"]*"', b"", r.content)  # noqa: E731
    for template, operations in DOCUMENT["paths"].items():
        for method, operation in operations.items() if "{sid}" in template else ():
            examples = (
                operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("examples", {})
            )
            for body in [example["value"] for example in examples.values()] or [None]:
                for stranger in strangers:
                    foreign, unknown = (
                        stranger.call(method.upper(), path_of(template, sid=sid, **ids), body) for sid in ("s", "none")
                    )
                    assert (404, blank(unknown), unknown.headers) == (foreign.status, blank(foreign), foreign.headers)
    assert ["secret", "later"] == contents(session.list())


def test_an_odd_tenant_keeps_its_sessions_apart(session: Api) -> None:
    """The claims are any strings without control characters."""
    for tenant, person in (("a#S#b", "x"), ("a", "S#b"), ("é/..", "|x"), ("acme", "alice ")):
        odd = session.as_user(person, tenant)
        assert 404 == odd.call("GET", "/v1/sessions/s").status
        assert (409 if tenant == "acme" else 201) == odd.create().status


def test_an_unavailable_store_is_a_503_that_says_when_to_come_back(
    microburst: Microburst, engine_table: str, engine_bucket: str
) -> None:
    """Nothing was written, and the same request succeeds later."""
    api = api_on(microburst.url, engine_table, engine_bucket, pacing=Pacing(deadline_seconds=0.2))
    assert 201 == api.create().status
    microburst.throttle("PutItem", 1000)
    refused = api.append("x", Idempotency_Key="k")
    microburst.clear()

    assert (503, "store-unavailable", True) == (refused.status, refused.json["code"], refused.json["retryable"])
    assert int(refused.headers["retry-after"]) >= 1
    assert 201 == api.append("x", Idempotency_Key="k").status
    assert ["x"] == contents(api.list())


def test_a_lost_answer_of_the_store_is_no_error_and_no_double(
    microburst: Microburst, engine_table: str, engine_bucket: str
) -> None:
    """The put had worked, and the function knows its own commit."""
    api = api_on(microburst.url, engine_table, engine_bucket)
    api.create()
    microburst.lose_answer("PutItem")

    assert [1] == [event["seq"] for event in api.append("x").json["events"]]
    assert ["PutItem"] == [fault["operation"] for fault in microburst.fired()]
    assert ["x"] == contents(api.list())
