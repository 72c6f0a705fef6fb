"""The session routes: create, get, list, change, delete."""

import pytest

from tests.support.session_api import Api

RECORD = {
    "id": "s",
    "user_id": "alice",
    "created_at": "2026-01-01T00:00:00.000Z",
    "expires_at": "2026-01-01T00:01:00.000Z",
    "metadata": {"channel": "chat"},
    "compaction": None,
    "allow_system_messages": None,
}
POLICY = {
    "trigger": {"type": "any_of", "triggers": [{"type": "turn_count", "max_turns": 20}]},
    "strategy": {"type": "sliding_window", "max_events": 20},
}


def test_create_answers_the_session_its_location_and_its_etag(api: Api) -> None:
    """201 with the whole resource; the location is relative to the URL of the request."""
    reply = api.create(ttl_seconds=60, metadata={"channel": "chat"})

    assert {**RECORD, "version": 0, "last_seq": 0, "generation": 0} == reply.json
    assert 201 == reply.status
    assert "sessions/s" == reply.headers["location"]
    assert reply.headers["etag"] == api.call("GET", "/v1/sessions/s").headers["etag"]


def test_create_without_an_id_makes_one(api: Api) -> None:
    """Two anonymous sessions have different ids, which can be used in a path."""
    first, second = (api.create(None).json["id"] for _ in range(2))

    assert first != second
    assert 200 == api.call("GET", f"/v1/sessions/{first}").status


def test_create_stores_policy_and_flag_as_they_were_sent(api: Api) -> None:
    """The policy comes back key for key."""
    stored = api.create(compaction=POLICY, allow_system_messages=True).json

    assert (POLICY, True) == (stored["compaction"], stored["allow_system_messages"])


def test_a_taken_id_is_a_conflict_that_names_it(session: Api) -> None:
    """409 for the owner and for a stranger of the tenant alike; another tenant has its own ids."""
    for caller in (session, session.as_user("bob")):
        reply = caller.create()

        assert (409, "session-exists", "s") == (reply.status, reply.json["code"], reply.json["id"])
    assert 201 == session.as_user("alice", tenant="globex").create().status


def test_if_none_match_turns_a_taken_id_into_a_failed_precondition(session: Api) -> None:
    """412 with the ETag of one's own session, and without one for somebody else's."""
    body = {"id": "s"}
    mine = session.call("POST", "/v1/sessions", body, If_None_Match="*")
    theirs = session.as_user("bob").call("POST", "/v1/sessions", body, If_None_Match="*")

    assert (412, session.call("GET", "/v1/sessions/s").headers["etag"]) == (mine.status, mine.json["version"])
    assert (412, None) == (theirs.status, theirs.json["version"])
    assert 201 == session.call("POST", "/v1/sessions", {"id": "new"}, If_None_Match="*").status


def test_a_create_with_an_idempotency_key_replays(api: Api) -> None:
    """The same request finds the first session, with and without an id; another request is 422."""
    for body in ({}, {"id": "named"}):
        key = f"key-{len(body)}"
        first, again = (api.call("POST", "/v1/sessions", body, Idempotency_Key=key) for _ in range(2))
        other = api.call("POST", "/v1/sessions", {**body, "metadata": {"x": 1}}, Idempotency_Key=key)

        assert (201, first.content) == (again.status, again.content)
        assert (422, "idempotency-key-reused") == (other.status, other.json["code"])
        assert ["header:Idempotency-Key"] == other.pointers


def test_an_idempotency_key_belongs_to_one_user(api: Api) -> None:
    """Another user's equal key and request is a conflict, never a look at the session."""
    assert 201 == api.call("POST", "/v1/sessions", {"id": "s"}, Idempotency_Key="k").status

    assert 409 == api.as_user("bob").call("POST", "/v1/sessions", {"id": "s"}, Idempotency_Key="k").status


def test_get_answers_the_counters(session: Api) -> None:
    """Version is last_seq plus generation, and the ETag carries the record's revision, too."""
    session.append("one", "two")
    reply = session.call("GET", "/v1/sessions/s")

    assert (2, 2, 0) == tuple(reply.json[name] for name in ("version", "last_seq", "generation"))
    assert reply.headers["etag"].endswith('.2.0.0"')


def test_list_pages_through_the_callers_live_sessions(api: Api) -> None:
    """Newest first, none twice, none of another user's, none that has expired."""
    for i in range(5):
        api.clock.advance(1)
        api.create(f"s{i}", ttl_seconds=60 if i == 2 else 3600)
    api.as_user("bob").create("foreign")
    api.clock.advance(100)
    pages, query = [], {"limit": 3}
    while True:
        reply = api.call("GET", "/v1/sessions", query=query)
        pages.append([row["id"] for row in reply.json["data"]])
        if not reply.json["has_more"]:
            break
        assert f"cursor={reply.json['next_cursor']}" in reply.headers["link"]
        query = {"limit": 3, "cursor": reply.json["next_cursor"]}

    assert [["s4", "s3", "s1"], ["s0"]] == pages
    assert "link" not in reply.headers


def test_list_rows_have_the_last_activity_in_place_of_counters(session: Api) -> None:
    """A row is the record and last_activity, nothing else."""
    session.clock.advance(5)
    session.append("hi")
    (row,) = session.call("GET", "/v1/sessions", query={"order_by": "activity"}).json["data"]

    assert {*RECORD, "last_activity"} == set(row)
    assert "2026-01-01T00:00:05.000Z" == row["last_activity"]


@pytest.mark.parametrize("other", [{"order": "asc"}, {"order_by": "activity"}])
def test_a_list_cursor_does_not_fit_another_order(api: Api, other: dict[str, str]) -> None:
    """It points at the cursor, not at the order."""
    for i in range(3):
        api.create(f"s{i}")
    cursor = api.call("GET", "/v1/sessions", query={"limit": 1}).json["next_cursor"]
    reply = api.call("GET", "/v1/sessions", query={"cursor": cursor, **other})

    assert (422, ["query:cursor"]) == (reply.status, reply.pointers)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"metadata": {"b": 2}}, {"metadata": {"b": 2}}),
        ({"metadata": None}, {"metadata": {}}),
        ({"ttl_seconds": 3600}, {"expires_at": "2026-01-01T01:00:10.000Z"}),
        ({"ttl_seconds": None}, {"expires_at": None}),
        ({"compaction": POLICY}, {"compaction": POLICY}),
        ({"compaction": None}, {"compaction": None}),
        ({"allow_system_messages": False}, {"allow_system_messages": False}),
        ({"allow_system_messages": None}, {"allow_system_messages": None}),
    ],
)
def test_patch_changes_what_it_names_and_nothing_else(
    api: Api, change: dict[str, object], expected: dict[str, object]
) -> None:
    """null clears; a lifetime counts from now."""
    before = api.create(metadata={"a": 1}, compaction=POLICY, allow_system_messages=True).json
    api.clock.advance(10)
    reply = api.call("PATCH", "/v1/sessions/s", change)

    assert {**before, **expected} == reply.json
    assert reply.headers["etag"].endswith('.0.0.1"')


def test_patch_and_delete_go_on_only_at_a_matching_version(session: Api) -> None:
    """A stale tag is 412 with the current one, in the body and as ETag; any of a list may match."""
    stale = session.call("GET", "/v1/sessions/s").headers["etag"]
    session.call("PATCH", "/v1/sessions/s", {"metadata": {"n": 1}})
    current = session.call("GET", "/v1/sessions/s").headers["etag"]

    for method, body in (("PATCH", {"metadata": {}}), ("DELETE", None)):
        refused = session.call(method, "/v1/sessions/s", body, If_Match=stale)
        assert (412, current, current) == (refused.status, refused.json["version"], refused.headers["etag"])
        assert 412 == session.call(method, "/v1/sessions/s", body, If_Match=f"W/{current}").status
    assert 200 == session.call("PATCH", "/v1/sessions/s", {"metadata": {}}, If_Match=f"{stale}, {current}").status
    assert 204 == session.call("DELETE", "/v1/sessions/s", If_Match="*").status


def test_delete_is_204_once_and_404_from_then_on(session: Api) -> None:
    """The id is free again, and the new life starts empty."""
    session.append("old")
    first, second = (session.call("DELETE", "/v1/sessions/s") for _ in range(2))

    assert (204, b"") == (first.status, first.content)
    assert not {"content-type", "Content-Type"} & set(first.headers)
    assert 404 == second.status == session.list().status == session.append("x").status
    assert 201 == session.create().status
    assert [] == session.list().json["data"]


def test_an_expired_session_is_gone_at_its_instant(api: Api) -> None:
    """One millisecond before expires_at it is there, at expires_at it is not."""
    api.create(ttl_seconds=60)
    api.clock.advance(59, ms=999)
    assert 200 == api.call("GET", "/v1/sessions/s").status
    api.clock.advance(ms=1)

    assert 404 == api.call("GET", "/v1/sessions/s").status == api.append("x").status
    assert 201 == api.create().status


@pytest.mark.parametrize("whole", ["20.0", "2e1", "200E-1", "20.000000000000000000000"])
def test_a_whole_number_may_be_written_with_a_fraction_or_an_exponent(api: Api, whole: str) -> None:
    """It is an integer to JSON Schema, and is stored as one."""
    policy = (
        f'{{"trigger":{{"type":"turn_count","max_turns":{whole}}},'
        f'"strategy":{{"type":"sliding_window","max_events":{whole}}}}}'
    )

    reply = api.call("POST", "/v1/sessions", raw=f'{{"ttl_seconds":6E1,"compaction":{policy}}}')

    assert (201, 20, 20) == (
        reply.status,
        reply.json["compaction"]["trigger"]["max_turns"],
        reply.json["compaction"]["strategy"]["max_events"],
    )
