"""The event routes: append, list, get one; with the field cases that belong to them."""

from typing import Any

import pytest

from tests.support.session_api import Api

EPOCH = "2026-01-01T00:00:00.000Z"


def call(id: str) -> dict[str, Any]:
    """An assistant message with one tool call."""
    block = {"type": "tool_call", "id": id, "name": "lookup", "arguments": '{"k": 1}'}
    return {"role": "assistant", "content": [block]}


def result(id: str) -> dict[str, Any]:
    """The tool message that answers it."""
    return {"role": "tool", "content": [{"type": "tool_result", "call_id": id, "content": "ok"}]}


def user(text: str, **event: Any) -> dict[str, Any]:
    """A user event."""
    return {**event, "message": {"role": "user", "content": text}}


def seqs(reply: Any) -> list[int]:
    """The seqs of an append's answer or of a page."""
    return [event["seq"] for event in reply.json.get("events", reply.json.get("data"))]


def test_append_answers_id_seq_and_version_in_the_order_of_the_batch(session: Api) -> None:
    """Ids are the caller's or the server's, seqs have no gap, the ETag is the log's."""
    reply = session.append(user("a", id="a"), "b")

    assert 201 == reply.status
    assert [("a", 1, False), (reply.json["events"][1]["id"], 2, False)] == [
        tuple(event.values()) for event in reply.json["events"]
    ]
    assert reply.json["events"][1]["id"].startswith("~")
    assert (2, 2) == (reply.json["version"], reply.json["last_seq"])
    assert reply.headers["etag"].endswith('.2.0"')


def test_an_event_reads_back_whole_by_its_id_and_in_the_list(session: Api) -> None:
    """Both routes answer the same shape; a server-made id works in a path, too."""
    event = {
        "id": "e:1.a_b-c",
        "timestamp": "2026-01-31T12:00:00.5Z",
        "branch": "orch.w-1",
        "metadata": {"synthetic": True},
        "message": {"role": "user", "content": [{"type": "text", "text": "hi"}]},
    }
    made = session.append(event, "anonymous").json["events"][1]["id"]
    listed = session.list().json["data"]

    assert {**event, "seq": 1, "synthetic": True, "archived": False} == listed[0]
    assert listed[0] == session.call("GET", "/v1/sessions/s/events/e:1.a_b-c").json
    assert listed[1] == session.call("GET", f"/v1/sessions/s/events/{made}").json
    assert (EPOCH, None, {}) == tuple(listed[1][name] for name in ("timestamp", "branch", "metadata"))


def test_an_unknown_event_is_404(session: Api) -> None:
    """Whether the id could be a caller's or a server's."""
    for eid in ("nobody", "~abc-1", "~abc-p1-0"):
        reply = session.call("GET", f"/v1/sessions/s/events/{eid}")

        assert (404, "event-not-found") == (reply.status, reply.json["code"])


def test_create_if_missing_finds_or_creates(api: Api) -> None:
    """The session gets the stage's defaults; another user's is 404; the flag is off by default."""
    body = {"events": [user("hi")], "create_if_missing": True}

    assert 404 == api.append("hi").status
    assert [1] == seqs(api.call("POST", "/v1/sessions/s/events", body))
    assert [2] == seqs(api.call("POST", "/v1/sessions/s/events", body))
    assert 404 == api.as_user("bob").call("POST", "/v1/sessions/s/events", body).status
    assert "2026-03-02T00:00:00.000Z" == api.call("GET", "/v1/sessions/s").json["expires_at"]


def test_a_system_message_needs_the_sessions_or_the_stages_leave(session: Api) -> None:
    """422 at the role of the message with a way out; allowed after a PATCH."""
    event = {"message": {"role": "system", "content": "rules"}}
    refused = session.append("ok", event)
    session.call("PATCH", "/v1/sessions/s", {"allow_system_messages": True})

    assert (422, ["/events/1/message/role"]) == (refused.status, refused.pointers)
    assert "allow_system_messages" in refused.json["detail"]
    assert [1] == seqs(session.append(event))
    stage = Api(allow_system_messages=True)
    stage.create()
    assert [1] == seqs(stage.append(event))


# ------------------------------------------------------------------ field cases C: identity and races


def test_c1_a_stale_writer_is_refused_and_told_the_head(session: Api) -> None:
    """W1 and W2 read the same version; W1 writes, W2 gets 412 with the new one, nothing written."""
    tag = session.list().headers["etag"]
    first = session.append({"message": call("a1")}, If_Match=tag)
    second = session.append({"message": call("b1")}, If_Match=tag)

    assert (412, "precondition-failed") == (second.status, second.json["code"])
    assert first.headers["etag"] == second.json["version"] == second.headers["etag"]
    assert [1] == seqs(session.list())
    assert 201 == session.append({"message": call("b1")}, If_Match=second.json["version"]).status


def test_c8_the_same_key_replays_and_another_request_is_refused(session: Api) -> None:
    """One event; the second answer is the first one; other content under the key is 422."""
    first = session.append("x", Idempotency_Key="k1")
    session.append("later")
    again = session.append("x", Idempotency_Key="k1", If_Match='"1.1.1"')
    other = session.append("y", Idempotency_Key="k1")

    assert (first.status, first.content) == (again.status, again.content)
    assert (422, "idempotency-key-reused") == (other.status, other.json["code"])
    assert [1, 2] == seqs(session.list())


def test_the_key_covers_the_value_of_the_body_not_its_spelling(session: Api) -> None:
    """White space and the order of keys do not matter, the number's text does."""
    path = "/v1/sessions/s/events"
    first = session.call(
        "POST", path, raw='{"events":[{"id":"a","message":{"role":"user","content":"x","n":1}}]}', Idempotency_Key="k"
    )
    spelled = session.call(
        "POST",
        path,
        raw='{ "events":[{"message":{"n":1,"content":"\\u0078","role":"user"},"id":"a"}]}',
        Idempotency_Key="k",
    )
    other = session.call(
        "POST", path, raw='{"events":[{"id":"a","message":{"role":"user","content":"x","n":1.0}}]}', Idempotency_Key="k"
    )

    assert first.content == spelled.content
    assert 422 == other.status


def test_the_key_covers_the_path(session: Api) -> None:
    """The same key on another session is another request of another log."""
    session.create("t")

    assert 201 == session.append("x", Idempotency_Key="k").status
    assert 201 == session.append("x", sid="t", Idempotency_Key="k").status


def test_c9_a_batch_of_old_and_new_ids_stores_only_the_new(session: Api) -> None:
    """i1 is replayed with its seq, i2 is new: 201; the whole batch again is 200."""
    old, new = {"id": "i1", "message": call("c1")}, {"id": "i2", "message": result("c1")}
    session.append(old)
    mixed, again = session.append(old, new), session.append(old, new)

    assert [(1, True), (2, False)] == [(e["seq"], e["replayed"]) for e in mixed.json["events"]]
    assert (201, 200) == (mixed.status, again.status)
    assert [(1, True), (2, True)] == [(e["seq"], e["replayed"]) for e in again.json["events"]]
    assert 2 == len(session.list().json["data"])


@pytest.mark.parametrize(
    "change", [{"branch": "b"}, {"metadata": {"n": 2}}, {"timestamp": EPOCH.replace("0.000", "1")}]
)
def test_the_same_id_with_other_content_is_a_conflict(session: Api, change: dict[str, Any]) -> None:
    """409 that names the id and points at it; the stored event stays."""
    session.append(user("x", id="a", timestamp=EPOCH))
    reply = session.append("new", user("x", id="a", **change))

    assert (409, "event-id-reused", "a", ["/events/1/id"]) == (
        reply.status,
        reply.json["code"],
        reply.json["id"],
        reply.pointers,
    )
    assert [1] == seqs(session.list())


def test_a_server_made_id_posted_back_replays(session: Api) -> None:
    """A made-up one is 422 at its place."""
    made = session.append("x").json["events"][0]["id"]
    again = session.append(user("x", id=made))
    forged = session.append(user("x", id=made[:-1] + "9"))

    assert (200, [1]) == (again.status, seqs(again))
    assert (422, ["/events/0/id"]) == (forged.status, forged.pointers)


# ------------------------------------------------------------------ field cases B: order


def test_b2_equal_timestamps_keep_the_order_of_the_batch(session: Api) -> None:
    """50 events of one instant, read again and again."""
    session.append(*(user(str(i), timestamp=EPOCH) for i in range(50)))

    for _ in range(20):
        assert [str(i) for i in range(50)] == [e["message"]["content"] for e in session.list().json["data"]]


@pytest.mark.parametrize(
    "stamp", ["2026-01-01T00:00:00.123456789Z", "2026-01-01T00:00:00.100Z", "2026-01-01T00:00:00Z"]
)
def test_b3_a_timestamp_comes_back_exactly(session: Api, stamp: str) -> None:
    """Up to nine digits, trailing zeros included."""
    session.append(user("x", timestamp=stamp))

    assert stamp == session.list().json["data"][0]["timestamp"]


def test_b4_newest_first_reverses_inside_batches_and_pages(session: Api) -> None:
    """e5,e4 then e3,e2 then e1."""
    session.append("e1", "e2", "e3")
    session.append("e4", "e5")

    assert [[5, 4], [3, 2], [1]] == [[e["seq"] for e in page] for page in session.pages(order="desc", limit=2)]


# ------------------------------------------------------------------ listing


@pytest.fixture
def told(session: Api) -> Api:
    """Six events of all kinds."""
    session.call("PATCH", "/v1/sessions/s", {"allow_system_messages": True})
    session.append(
        {"id": "1", "timestamp": "2026-01-01T00:00:01Z", "message": {"role": "system", "content": "Rules"}},
        user("Weather, please", id="2", timestamp="2026-01-01T00:00:02Z"),
        {"id": "3", "timestamp": "2026-01-01T00:00:03Z", "message": call("c")},
        {"id": "4", "timestamp": "2026-01-01T00:00:04Z", "message": result("c")},
        {
            "id": "5",
            "timestamp": "2026-01-01T00:00:05Z",
            "metadata": {"synthetic": True},
            "message": {"role": "assistant", "content": "RAIN and weather"},
        },
        user("side", id="6", timestamp="2026-01-01T00:00:06Z", branch="orch.a"),
    )
    return session


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", "123456"),
        ("types=user", "26"),
        ("types=tool,system", "14"),
        ("from=2026-01-01T00:00:04Z", "456"),
        ("to=2026-01-01T01:00:02%2B01:00", "12"),
        ("exclude_synthetic=true", "12346"),
        ("exclude_synthetic=false", "123456"),
        ("archived=true", ""),
        ("archived=false", "123456"),
        ("branch=orch", "12345"),
        ("branch=orch.a.b", "123456"),
        ("keyword=wEATHER", "25"),
        ("keyword=weather%2C+please", "2"),
        ("keywords=rain,rules", "15"),
        ("keywords=rain%2Cweather&match=all", "5"),
        ("last_n=2", "56"),
        ("last_n=2&order=desc", "65"),
        ("last_n=1000", "123456"),
        ("types=user&last_n=1&keyword=please", "2"),
    ],
)
def test_every_criterion_of_a_listing(told: Api, query: str, expected: str) -> None:
    """Each parameter selects what spec 4 says."""
    assert expected == "".join(event["id"] for event in told.list(query=query).json["data"])


def test_a_cursor_goes_on_where_the_page_ended(told: Api) -> None:
    """The limit may change on the way, and the Link header is the same query with the cursor."""
    first = told.list(query="limit=4&exclude_synthetic=true")
    link = first.headers["link"]
    rest = told.list(query=f"limit=9&exclude_synthetic=true&cursor={first.json['next_cursor']}")

    assert (["1", "2", "3", "4"], ["6"]) == tuple([e["id"] for e in r.json["data"]] for r in (first, rest))
    assert rest.content == told.list(query=link[2 : link.index(">")]).content


@pytest.mark.parametrize("query", ["exclude_synthetic=true", "order=desc", "types=user", "branch=a", "last_n=3"])
def test_a_cursor_belongs_to_its_filter(told: Api, query: str) -> None:
    """Any other criterion refuses it."""
    cursor = told.list(query="limit=1").json["next_cursor"]
    reply = told.list(query=f"cursor={cursor}&{query}")

    assert (422, ["query:cursor"]) == (reply.status, reply.pointers)


@pytest.mark.parametrize(
    ("asked", "default"),
    [("", "order=asc"), ("", "exclude_synthetic=false"), ("keywords=e,o", "match=any")],
)
def test_a_default_written_out_is_the_same_listing(told: Api, asked: str, default: str) -> None:
    """For its cursors, in both directions."""
    short, long = f"{asked}&limit=1".lstrip("&"), f"{asked}&{default}&limit=1".lstrip("&")
    one, other = told.list(query=short).json["next_cursor"], told.list(query=long).json["next_cursor"]

    assert one
    assert one == other
    assert 200 == told.list(query=f"{long}&cursor={one}").status == told.list(query=f"{short}&cursor={other}").status


def test_a_cursor_belongs_to_its_session_and_its_life(told: Api) -> None:
    """Neither another session nor a re-created one takes it."""
    cursor = told.list(query="limit=1").json["next_cursor"]
    told.create("t")
    elsewhere = told.list("t", query=f"cursor={cursor}")
    told.call("DELETE", "/v1/sessions/s")
    told.clock.advance(1)
    told.create()
    reborn = told.list(query=f"cursor={cursor}")

    assert (422, ["query:cursor"]) == (elsewhere.status, elsewhere.pointers) == (reborn.status, reborn.pointers)


def test_last_n_is_exact_over_pages_that_are_cut_by_size(session: Api) -> None:
    """Four events of 1.5 MB each: the newest three come in two pages, oldest first."""
    for i in range(4):
        session.append(user(str(i) * 1_500_000, id=str(i)))

    assert [["1", "2"], ["3"]] == [[e["id"] for e in page] for page in session.pages(last_n=3)]
    assert [["3", "2"], ["1"]] == [[e["id"] for e in page] for page in session.pages(last_n=3, order="desc")]
