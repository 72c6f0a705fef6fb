"""What a stranger could learn or do sideways: by cursors, versions, keys, refs, odd paths and odd methods.

Through the deployed gateway and function, like the matrix in test_permissions.py.
"""

import re
from typing import Any

import pytest

from tests.support.auth_tokens import OTHER_TENANT, Headers, Tokens, bearer
from tests.support.permissions import ASKED, EVENT, NEWEST_TURN, SAID, Answer, Wire, filled
from tests.support.permissions_victim import SECRET, Owner, Victim

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.xdist_group("enforced-stack")]

OWNER, THIEF = "carol", "dave"  # of names that no other test has
VICTIM, UNKNOWN = "target", "nobody"  # of one length, so that even content-length is the same
BASE = f"/v1/sessions/{VICTIM}"


@pytest.fixture(scope="module")
def owner(wire: Wire, tokens: Tokens) -> Owner:
    """Whose session it is."""
    return Owner(wire, tokens, user=OWNER)


@pytest.fixture(scope="module")
def victim(owner: Owner) -> Victim:
    """The session that everybody tries to get at, beside others of the same owner."""
    victim = Victim.of(owner, VICTIM)
    for text in "abc":
        owner.expect(201, "POST", f"{BASE}/events", {"events": [{"message": {"role": "user", "content": text}}]})
    owner.expect(201, "POST", f"{BASE}/compactions", NEWEST_TURN)
    owner.make("beside")
    return victim


@pytest.fixture(scope="module")
def before(victim: Victim) -> Any:
    """The victim as its owner saw it before anything was tried."""
    return victim.export(), victim.listed()


@pytest.fixture(scope="module")
def strangers(wire: Wire, tokens: Tokens, before: Any) -> dict[str, Owner]:
    """Another user, and the same user name in another tenant; each has a session of their own."""
    found = {
        "another user": Owner(wire, tokens, user=THIEF),
        "another tenant": Owner(wire, tokens, user=OWNER, tenant=OTHER_TENANT),
    }
    for name, stranger in found.items():
        for sid in (_mine(name), f"{_mine(name)}-2"):
            stranger.make(sid)
            for text in "abc":
                said = {"events": [{"message": {"role": "user", "content": text}}]}
                stranger.expect(201, "POST", f"/v1/sessions/{sid}/events", said)
    return found


@pytest.fixture(params=["another user", "another tenant"])
def stranger(request: pytest.FixtureRequest, strangers: dict[str, Owner]) -> Owner:
    """Each of them in turn."""
    return strangers[request.param]


@pytest.fixture
def mine(request: pytest.FixtureRequest, stranger: Owner) -> str:
    """The id of the stranger's own session."""
    return _mine("another user" if stranger.user == THIEF else "another tenant")


def _mine(name: str) -> str:
    return f"mine-{name.replace(' ', '-')}"


def is_a_bad_cursor(answer: Answer) -> None:
    """422, and the cursor is what is wrong."""
    assert 422 == answer.status
    assert ["query:cursor"] == [error["pointer"] for error in answer.json["errors"]]


# ---------------------------------------------------------------------- cursors


@pytest.fixture(scope="module")
def cursor(owner: Owner, victim: Victim) -> str:
    """A place in the victim's events."""
    return str(owner.expect(200, "GET", f"{BASE}/events?limit=1").json["next_cursor"])


@pytest.fixture(scope="module")
def list_cursor(owner: Owner, victim: Victim) -> str:
    """A place in the owner's list of sessions."""
    return str(owner.expect(200, "GET", "/v1/sessions?limit=1").json["next_cursor"])


def test_a_cursor_of_another_user_or_tenant_is_none(stranger: Owner, mine: str, cursor: str) -> None:
    """On a session of the stranger's own, the same query."""
    is_a_bad_cursor(stranger.call("GET", f"/v1/sessions/{mine}/events?limit=1&cursor={cursor}"))


def test_a_cursor_of_another_session_is_none(owner: Owner, cursor: str) -> None:
    """Though it is the same user's."""
    is_a_bad_cursor(owner.call("GET", f"/v1/sessions/beside/events?limit=1&cursor={cursor}"))


@pytest.mark.parametrize("query", ["types=user", "order=desc", "exclude_synthetic=true", "last_n=2", "keyword=a"])
def test_a_cursor_of_another_filter_is_none(owner: Owner, cursor: str, query: str) -> None:
    """Of the same session."""
    is_a_bad_cursor(owner.call("GET", f"{BASE}/events?{query}&cursor={cursor}"))


def test_a_cursor_does_not_open_its_session(stranger: Owner, cursor: str) -> None:
    """With the owner's own cursor the victim looks like a session that nobody has."""
    foreign, unknown = (
        stranger.call("GET", f"/v1/sessions/{sid}/events?limit=1&cursor={cursor}") for sid in (VICTIM, UNKNOWN)
    )
    is_a_bad_cursor(foreign)
    assert unknown.comparable == foreign.comparable


def test_a_cursor_of_another_list_is_none(stranger: Owner, list_cursor: str) -> None:
    """Of another user's or tenant's sessions."""
    is_a_bad_cursor(stranger.call("GET", f"/v1/sessions?limit=1&cursor={list_cursor}"))


@pytest.mark.parametrize("query", ["order=asc", "order_by=activity"])
def test_a_cursor_of_another_order_is_none(owner: Owner, list_cursor: str, query: str) -> None:
    """Of the same list."""
    is_a_bad_cursor(owner.call("GET", f"/v1/sessions?{query}&cursor={list_cursor}"))


@pytest.fixture(scope="module")
def pass_cursor(owner: Owner, victim: Victim) -> str:
    """A place in the victim's compactions."""
    return str(owner.expect(200, "GET", f"{BASE}/compactions?limit=1").json["next_cursor"])


def test_a_cursor_of_another_history_is_none(owner: Owner, stranger: Owner, mine: str, pass_cursor: str) -> None:
    """On a session of the stranger's own, and on another of the owner's; the victim looks like one that nobody has."""
    is_a_bad_cursor(stranger.call("GET", f"/v1/sessions/{mine}/compactions?cursor={pass_cursor}"))
    is_a_bad_cursor(owner.call("GET", f"/v1/sessions/beside/compactions?cursor={pass_cursor}"))
    foreign, unknown = (
        stranger.call("GET", f"/v1/sessions/{sid}/compactions?cursor={pass_cursor}") for sid in (VICTIM, UNKNOWN)
    )
    is_a_bad_cursor(foreign)
    assert unknown.comparable == foreign.comparable


def test_cursors_of_one_kind_of_list_are_none_of_another(
    owner: Owner, cursor: str, list_cursor: str, pass_cursor: str
) -> None:
    """Whichever way."""
    for given, lists in (
        (cursor, ("/v1/sessions", f"{BASE}/compactions")),
        (list_cursor, (f"{BASE}/events", f"{BASE}/compactions")),
        (pass_cursor, ("/v1/sessions", f"{BASE}/events")),
    ):
        for path in lists:
            is_a_bad_cursor(owner.call("GET", f"{path}?cursor={given}"))


# ---------------------------------------------------------------------- versions and keys

ON_A_SESSION: dict[str, tuple[str, str, Any]] = {
    "read": ("GET", "", None),
    "change": ("PATCH", "", {"metadata": {}}),
    "delete": ("DELETE", "", None),
    "append": ("POST", "/events", SAID),
    "find or create": ("POST", "/events", {**SAID, "create_if_missing": False}),
    "list": ("GET", "/events", None),
    "get an event": ("GET", f"/events/{EVENT}", None),
    "upload": ("POST", "/uploads", ASKED),
    "compact": ("POST", "/compactions", NEWEST_TURN),
    "dry run": ("POST", "/compactions", {**NEWEST_TURN, "dry_run": True}),
    "list compactions": ("GET", "/compactions", None),
    "get a compaction": ("GET", "/compactions/{cid}", None),
    "undo": ("POST", "/compactions/{cid}/undo", None),
}


CONDITIONS = (
    *(("If-Match", value) for value in ("{session}", "{events}", '"1.1.1.1"', "*")),
    *(("If-None-Match", value) for value in ("{session}", "{events}", "*")),
    ("If-Modified-Since", "Fri, 01 Jan 2100 00:00:00 GMT"),
    ("Idempotency-Key", "a-key-of-carols"),
    ("Range", "bytes=0-10"),
)
"""Headers that make an answer depend on what is there; filled in are the victim's present ETags."""


@pytest.fixture(scope="module")
def tags(owner: Owner, victim: Victim) -> dict[str, str]:
    """The victim's present ETags."""
    return {
        "session": owner.expect(200, "GET", BASE).headers["etag"],
        "events": owner.expect(200, "GET", f"{BASE}/events").headers["etag"],
    }


@pytest.mark.parametrize("what", ON_A_SESSION)
def test_a_condition_on_a_foreign_session_tells_nothing(
    stranger: Owner, victim: Victim, tags: dict[str, str], what: str
) -> None:
    """Whether it holds or not, the answer is that of an unknown session: 404, or 422 for what can never hold here."""
    method, below, body = ON_A_SESSION[what]
    below = filled(below, cid=victim.things.cid)
    for name, value in CONDITIONS:
        header = {name.replace("-", "_"): filled(value, **tags)}
        foreign, unknown = (
            stranger.call(method, f"/v1/sessions/{sid}{below}", body, **header) for sid in (VICTIM, UNKNOWN)
        )
        assert unknown.comparable == foreign.comparable, (name, value)
        assert foreign.status in (404, 422), (name, value)


def test_an_idempotency_key_is_its_users_own(owner: Owner, stranger: Owner) -> None:
    """The same key makes the stranger's own session, of other content; a retry of either gives the same again."""
    key = {"Idempotency_Key": "a-key-of-carols"}
    theirs, mine = {"metadata": {"note": SECRET}}, {"metadata": {"note": "mine"}}
    answers = [
        (
            owner.expect(201, "POST", "/v1/sessions", theirs, **key),
            stranger.expect(201, "POST", "/v1/sessions", mine, **key),
        )
        for _ in range(2)
    ]
    assert answers[0][0].comparable == answers[1][0].comparable
    assert answers[0][1].comparable == answers[1][1].comparable
    assert ["mine", SECRET] == [answers[1][i].json["metadata"]["note"] for i in (1, 0)]


def test_a_key_that_created_an_id_gives_nobody_else_the_session(owner: Owner, strangers: dict[str, Owner]) -> None:
    """The same request by another user is an id that is taken; in another tenant it is free."""
    key, body = {"Idempotency_Key": "another-key"}, {"id": "keyed", "metadata": {"note": SECRET}}
    owner.expect(201, "POST", "/v1/sessions", body, **key)
    refused = strangers["another user"].expect(409, "POST", "/v1/sessions", body, **key)

    assert SECRET.encode() not in refused.body
    strangers["another tenant"].expect(201, "POST", "/v1/sessions", body, **key)


def test_a_taken_id_says_nothing_but_that(owner: Owner, strangers: dict[str, Owner]) -> None:
    """The owner and another user get the same 409, whatever the victim holds; no version, no owner, no time."""
    answers = [who.expect(409, "POST", "/v1/sessions", {"id": VICTIM}) for who in (owner, strangers["another user"])]

    assert answers[0].comparable == answers[1].comparable
    assert {"type", "title", "status", "detail", "instance", "code", "request_id", "retryable", "errors", "id"} == set(
        answers[1].json
    )
    assert OWNER.encode() not in answers[1].body


def test_if_none_match_tells_the_version_to_the_owner_only(owner: Owner, strangers: dict[str, Owner]) -> None:
    """412 for both; null for another user."""
    mine, theirs = (
        who.expect(412, "POST", "/v1/sessions", {"id": VICTIM}, If_None_Match="*")
        for who in (owner, strangers["another user"])
    )
    assert owner.expect(200, "GET", BASE).headers["etag"] == mine.json["version"]
    assert theirs.json["version"] is None
    assert "etag" not in theirs.headers


def test_find_or_create_on_a_foreign_id_is_404(strangers: dict[str, Owner]) -> None:
    """It neither appends nor says that the id is taken by somebody else's session with events."""
    answer = strangers["another user"].call("POST", f"{BASE}/events", {**SAID, "create_if_missing": True})
    assert (404, "session-not-found") == (answer.status, answer.json["code"])


# ---------------------------------------------------------------------- uploads


@pytest.fixture(scope="module")
def foreign_refs(owner: Owner, victim: Victim, strangers: dict[str, Owner]) -> dict[str, str]:
    """Refs that are well-formed, lead to something, and are not of the session "refs"'s present life."""
    owner.make("lived-before")
    old = owner.upload("lived-before")
    owner.expect(204, "DELETE", "/v1/sessions/lived-before")
    owner.expect(201, "POST", "/v1/sessions", {"id": "lived-before"})
    return {
        "another session": victim.things.ref,
        "another user": strangers["another user"].upload(_mine("another user")),
        "another tenant": strangers["another tenant"].upload(_mine("another tenant")),
        "an earlier life": old,
    }


@pytest.mark.parametrize("whose", ["another session", "another user", "another tenant", "an earlier life"])
@pytest.mark.parametrize("nested", [False, True], ids=["top level", "inside a tool result"])
def test_an_append_names_no_upload_of_another(
    owner: Owner, foreign_refs: dict[str, str], whose: str, nested: bool
) -> None:
    """422 that points at the ref; nothing is appended."""
    block: dict[str, Any] = {"type": "media", "media_type": "image/png", "ref": foreign_refs[whose]}
    pointer = "/events/0/message/content/0/ref"
    role = "user"
    if nested:
        block, role = {"type": "tool_result", "call_id": "c", "status": "ok", "content": [block]}, "tool"
        pointer = "/events/0/message/content/0/content/0/ref"
    refused = owner.call(
        "POST", "/v1/sessions/lived-before/events", {"events": [{"message": {"role": role, "content": [block]}}]}
    )

    assert 422 == refused.status, refused.body
    assert [pointer] == [error["pointer"] for error in refused.json["errors"]]
    assert [] == owner.expect(200, "GET", "/v1/sessions/lived-before/events").json["data"]


@pytest.mark.parametrize("whose", ["another session", "another user", "another tenant", "an earlier life"])
def test_no_upload_of_another_is_found_through_a_session_of_ones_own(
    owner: Owner, foreign_refs: dict[str, str], whose: str
) -> None:
    """It looks as one that was never put; the same bytes under the session's own life too."""
    never = re.sub("-.*", "-" + "0" * 64, foreign_refs[whose])
    foreign, unknown = (
        owner.call("GET", f"/v1/sessions/lived-before/uploads/{ref}") for ref in (foreign_refs[whose], never)
    )
    assert (404, "upload-not-found") == (foreign.status, foreign.json["code"])
    assert unknown.comparable[0::2] == foreign.comparable[0::2]


def test_the_owners_ref_opens_nothing_to_a_stranger(stranger: Owner, mine: str, victim: Victim) -> None:
    """On the victim the session is unknown, on the stranger's own session the upload is."""
    assert "session-not-found" == stranger.expect(404, "GET", f"{BASE}/uploads/{victim.things.ref}").json["code"]
    assert (
        "upload-not-found"
        == stranger.expect(404, "GET", f"/v1/sessions/{mine}/uploads/{victim.things.ref}").json["code"]
    )


# ---------------------------------------------------------------------- compactions


def test_the_owners_compaction_is_none_of_a_strangers(stranger: Owner, mine: str, victim: Victim) -> None:
    """On the victim the session is unknown, on the stranger's own session the compaction is; neither is undone."""
    for method, rest in (("GET", ""), ("POST", "/undo")):
        below = f"compactions/{victim.things.cid}{rest}"
        assert "session-not-found" == stranger.expect(404, method, f"{BASE}/{below}").json["code"]
        foreign, unknown = (
            stranger.expect(404, method, f"/v1/sessions/{mine}/compactions/{cid}{rest}")
            for cid in (victim.things.cid, "1.000000000000")
        )
        assert "compaction-not-found" == foreign.json["code"]
        assert unknown.comparable == foreign.comparable


# ---------------------------------------------------------------------- paths and methods

_ENCODED = "".join(f"%{ord(character):02X}" for character in VICTIM)
PATHS = (
    BASE,
    f"{BASE}/",
    f"{BASE}//",
    f"//v1/sessions/{VICTIM}",
    f"/v1//sessions/{VICTIM}",
    f"/v1/sessions//{VICTIM}",
    f"{BASE}//events",
    f"{BASE}/events/",
    f"{BASE}/events//{EVENT}",
    f"/V1/sessions/{VICTIM}",
    f"/v1/Sessions/{VICTIM}",
    f"/v1/sessions/{VICTIM.upper()}",
    f"{BASE}/EVENTS",
    f"/v1/sessions/{_ENCODED}",
    f"/v1/sessions/{_ENCODED.replace('%', '%25')}",
    f"/v1/sessions%2F{VICTIM}",
    f"/v1%2Fsessions%2F{VICTIM}",
    f"{BASE}%2Fevents",
    f"{BASE}%2fevents%2f{EVENT}",
    f"{BASE}%252Fevents",
    f"{BASE}/events%2F{EVENT}",
    f"{BASE}%2Fcompactions",
    f"{BASE}/compactions%2F1",
    f"{BASE}%5Cevents",
    f"{BASE}%00",
    f"{BASE}%0A",
    f"{BASE}%20",
    f"{BASE};a=b",
    f"{BASE};/events",
    f"{BASE}%3F/events",
    f"{BASE}%23",
    f"{BASE}?sid={VICTIM}",
    f"/v1/sessions/x?sid={VICTIM}",
    f"/v1/sessions/mine-another-user/../{VICTIM}",
    f"/v1/sessions/mine-another-user%2F..%2F{VICTIM}",
    f"/v1/sessions/mine-another-user%2F..%2F{VICTIM}/events",
    f"/v1/sessions/mine-another-user/events/..%2F..%2F{VICTIM}",
    f"/v1/sessions/mine-another-user/events/%2e%2e%2f%2e%2e%2f{VICTIM}%2fevents",
    f"/v1/sessions/%2e%2e/sessions/{VICTIM}",
    f"/v1/sessions/./{VICTIM}",
    f"/v1/health/../sessions/{VICTIM}",
    f"/v1/health%2F..%2Fsessions%2F{VICTIM}",
    f"/v1/openapi.json/../sessions/{VICTIM}",
    f"/v1/health;/../sessions/{VICTIM}",
    f"/iam/v1/sessions/{VICTIM}",
    f"/iam%2Fv1/sessions/{VICTIM}",
    f"/$default/v1/sessions/{VICTIM}",
    f"/sessions/{VICTIM}",
    f"/v2/sessions/{VICTIM}",
)
"""Ways to spell the victim, or to come to it from somewhere else."""

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get")


@pytest.mark.parametrize("path", PATHS)
def test_no_spelling_of_a_path_leads_a_stranger_to_the_victim(
    path: str, wire: Wire, tokens: Tokens, strangers: dict[str, Owner]
) -> None:
    """With a stranger's token and without any, by any method: nothing is served and nothing is told."""
    callers: list[tuple[Headers, tuple[str, ...]]] = [
        (bearer(tokens.good(user=THIEF)), METHODS),
        (bearer(tokens.good(user=OWNER, tenant=OTHER_TENANT)), ("GET", "DELETE")),
        ([], ("GET", "DELETE")),
    ]
    bodies: dict[str, Any] = {"POST": SAID, "PATCH": {"metadata": {"changed": True}}}
    for headers, methods in callers:
        for method in methods:
            answer = wire.send(method, path, headers, bodies.get(method))
            assert answer.status in (400, 401, 403, 404, 405, 422), f"{method} {path} gave {answer.status}"
            assert SECRET.encode() not in answer.body


WRITES_IN_DISGUISE: dict[str, tuple[str, str, Headers]] = {
    "method override": ("GET", BASE, [("X-HTTP-Method-Override", "DELETE")]),
    "method override, another spelling": ("GET", BASE, [("X-Method-Override", "DELETE"), ("X-HTTP-Method", "DELETE")]),
    "method override on POST": ("POST", BASE, [("X-HTTP-Method-Override", "DELETE")]),
    "method in the query": ("GET", f"{BASE}?_method=DELETE", []),
    "method in lower case": ("delete", BASE, []),
    "a delete below a path that reads": ("DELETE", f"{BASE}/events", []),
    "a delete of an event": ("DELETE", f"{BASE}/events/{EVENT}", []),
    "a slash in the id": ("DELETE", f"{BASE}%2Fevents", []),
    "an append to an encoded path": ("POST", f"{BASE}%2Fevents", []),
    "an append to an event": ("POST", f"{BASE}/events/{EVENT}", []),
    "an append to an upload": ("POST", f"{BASE}/uploads/x", []),
    "a forwarded URI": ("GET", BASE, [("X-Original-URL", f"{BASE}/events"), ("X-Rewrite-URL", f"{BASE}/events")]),
    "a compaction to an encoded path": ("POST", f"{BASE}%2Fcompactions", []),
    "an undo as a read": ("GET", f"{BASE}/compactions/{{cid}}/undo", [("X-HTTP-Method-Override", "POST")]),
    "an undo to an encoded path": ("POST", f"{BASE}/compactions/{{cid}}%2Fundo", []),
    "PUT": ("PUT", BASE, []),
}


@pytest.mark.parametrize("what", WRITES_IN_DISGUISE)
def test_a_token_to_read_writes_in_no_disguise(what: str, wire: Wire, owner: Owner, victim: Victim) -> None:
    """The owner's own token, without sessions:write: what is served is a read, and nothing has changed."""
    method, path, headers = WRITES_IN_DISGUISE[what]
    path = filled(path, cid=victim.things.cid)
    seen = victim.export()
    reader = bearer(owner.tokens.good(user=OWNER, scope="sessions:read"))
    answer = wire.send(method, path, [*reader, *headers], SAID if method == "POST" else None)

    assert answer.status in (200, 401, 403, 404, 405, 422)
    assert answer.status != 200 or method == "GET"
    assert seen == victim.export()


def test_a_token_to_write_reads_in_no_disguise(wire: Wire, owner: Owner, victim: Victim) -> None:
    """The owner's own token, without sessions:read, on every route that reads, in each of its spellings."""
    writer = bearer(owner.tokens.good(user=OWNER, scope="sessions:write"))
    paths = (BASE, *(f"{BASE}{below}" for below in ("/events", "%2Fevents", f"/events%2F{EVENT}", "/compactions")))
    for path in (*paths, "/v1/sessions"):
        for method in ("GET", "HEAD", "get"):
            answer = wire.send(method, path, [*writer, ("X-HTTP-Method-Override", "GET")])
            assert answer.status in (401, 403, 404, 405), f"{method} {path} gave {answer.status}"
            assert SECRET.encode() not in answer.body


# ---------------------------------------------------------------------- afterwards


def test_after_all_of_it_the_victim_is_as_it_was(victim: Victim, before: Any) -> None:
    """Byte for byte."""
    assert before == (victim.export(), victim.listed())
