"""Nobody sees another's sessions, on any route, and the token alone says who is calling."""

import json
import re
from typing import Any

import pytest

from tests.support.session_api import DOCUMENT, Api, Reply, http_event, path_of

CALLERS = {"another user": ("bob", "acme"), "another tenant": ("alice", "globex"), "both": ("bob", "globex")}
OPERATIONS = [
    (method.upper(), template)
    for template, operations in DOCUMENT["paths"].items()
    for method in operations
    if "{sid}" in template
]


def example_of(method: str, template: str) -> list[Any]:
    """The documented bodies of an operation, or none."""
    body = DOCUMENT["paths"][template][method.lower()].get("requestBody")
    return [None] if body is None else [e["value"] for e in body["content"]["application/json"]["examples"].values()]


def blanked(reply: Reply) -> bytes:
    """The body without what names the request."""
    return re.sub(rb'"(instance|request_id)":"[^"]*"', rb'"\1":""', reply.content)


def filled(session: Api) -> dict[str, str]:
    """Give the session an event "e", an upload, a policy and a compaction; what stands in its paths."""
    policy = {"trigger": {"type": "never"}, "strategy": {"type": "turn_window", "max_turns": 1}}
    session.call("PATCH", "/v1/sessions/s", {"compaction": policy})
    session.append({"id": "e", "message": {"role": "user", "content": "secret"}}, "later")
    return {"eid": "e", "ref": session.upload(b"secret"), "cid": session.compact().json["id"]}


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize(("method", "template"), OPERATIONS)
def test_g8_a_foreign_session_looks_exactly_like_an_unknown_one(
    session: Api, caller: str, method: str, template: str
) -> None:
    """Status, headers and body are equal; the owner is served."""
    ids = filled(session)
    stranger = session.as_user(*CALLERS[caller])
    for body in example_of(method, template):
        foreign = stranger.call(method, path_of(template, sid="s", **ids), body)
        unknown = stranger.call(
            method, path_of(template, **{**ids, "sid": "nobody-has-this-one", "eid": "neither"}), body
        )

        assert 404 == foreign.status == unknown.status
        assert blanked(foreign) == blanked(unknown)
        assert foreign.headers == unknown.headers
        assert session.call(method, path_of(template, sid="s", **ids), body).status in (200, 201, 204)
        session.create()


@pytest.mark.parametrize(("method", "template"), OPERATIONS)
def test_headers_that_ask_about_a_foreign_session_tell_nothing(session: Api, method: str, template: str) -> None:
    """If-Match is not compared and no key is looked up before the owner is."""
    headers = {"If_Match": '"1.1.1"', "Idempotency_Key": "k"}
    ids = filled(session)
    for body in example_of(method, template):
        path = path_of(template, sid="s", **ids)

        assert 404 == session.as_user("bob").call(method, path, body, **headers).status


def test_b9_two_tenants_have_the_same_session_id_each_to_itself(session: Api) -> None:
    """Appends and deletes of one leave the other alone."""
    other = session.as_user("alice", tenant="globex")
    other.create()
    session.append("mine")
    other.append("theirs", "too")

    assert (["mine"], ["theirs", "too"]) == tuple(
        [event["message"]["content"] for event in who.list().json["data"]] for who in (session, other)
    )
    assert 204 == other.call("DELETE", "/v1/sessions/s").status
    assert 200 == session.list().status


@pytest.mark.parametrize("tenant", ["a#b", "a/b", "..", "é", "T#x", " padded ", "x" * 300])
def test_a_claim_is_any_string_and_is_passed_on_as_it_is(api: Api, tenant: str) -> None:
    """The store keeps them apart, whatever they hold."""
    odd = api.as_user(tenant, tenant=tenant)

    assert 201 == odd.create().status
    assert tenant == odd.call("GET", "/v1/sessions/s").json["user_id"]
    assert 404 == api.call("GET", "/v1/sessions/s").status


BAD_CLAIMS: list[Any] = [
    None,
    {},
    {"sub": "alice"},
    {"custom:tenant": "acme"},
    {"custom:tenant": "", "sub": "alice"},
    {"custom:tenant": "acme", "sub": "  \n"},
    {"custom:tenant": "acme", "sub": 7},
    {"custom:tenant": "acme", "sub": None},
    {"custom:tenant": ["acme"], "sub": "alice"},
    {"custom:tenant": {"acme": 1}, "sub": "alice"},
    {"custom:tenant": True, "sub": "alice"},
    {"custom:tenant": "acme", "sub": "\ud800"},
    {"custom:tenant": "acme", "sub": "null"},
    *({"custom:tenant": "acme", "sub": f"ali{c}ce"} for c in "\0\n\x1f\x7f\x9f"),
    {"custom:tenant": "ac\tme", "sub": "alice"},
    {"custom:tenant": "[acme]", "sub": "alice"},
    {"custom:tenant": "acme", "sub": '{"name": "alice"}'},
    {"tenant": "acme", "sub": "alice"},
]


@pytest.mark.parametrize("claims", BAD_CLAIMS, ids=json.dumps)
@pytest.mark.parametrize(
    "path", ["/v1/sessions", "/v1/sessions/s", "/v1/sessions/s/events", "/v1/sessions/../events/.."]
)
def test_a_missing_blank_or_odd_claim_is_403_before_anything_else(session: Api, claims: Any, path: str) -> None:
    """Identity headers do not help."""
    headers = {"x-turnlog-tenant": "acme", "x-turnlog-user": "alice", "x-user-id": "alice"}
    reply = session.invoke(http_event("GET", path, claims=claims, headers=headers))

    assert (403, "forbidden") == (reply.status, reply.json["code"])


@pytest.mark.parametrize("authorizer", [{"lambda": {"custom:tenant": "acme", "sub": "alice"}}, {"jwt": None}, "x", []])
def test_only_the_verified_token_counts(session: Api, authorizer: Any) -> None:
    """Claims of another kind of authorizer are not read."""
    event = http_event("GET", "/v1/sessions/s")
    event["requestContext"]["authorizer"] = authorizer

    assert 403 == session.invoke(event).status


def test_g7_ids_are_case_sensitive(session: Api) -> None:
    """S is not s, for sessions and for events."""
    session.append({"id": "e", "message": {"role": "user", "content": "x"}})

    assert 404 == session.call("GET", "/v1/sessions/S").status
    assert 404 == session.call("GET", "/v1/sessions/s/events/E").status
    assert 201 == session.create("S").status


@pytest.mark.parametrize("sid", ["a.b", "a:b", "a-b_c", "...", ".a", "x" * 128, "0", "null", "events"])
def test_every_id_of_the_grammar_works_in_a_path_encoded_or_not(api: Api, sid: str) -> None:
    """Percent-encoding is undone exactly once."""
    api.create(sid)
    encoded = "".join(f"%{ord(character):02X}" for character in sid)

    assert (
        sid
        == api.call("GET", f"/v1/sessions/{sid}").json["id"]
        == api.call("GET", f"/v1/sessions/{encoded}").json["id"]
    )
    assert 422 == api.call("GET", f"/v1/sessions/{encoded.replace('%', '%25')}").status


def test_g5_deleting_what_is_not_there_changes_nothing(session: Api) -> None:
    """404 for an unknown and for a foreign session, and the others stay."""
    assert 404 == session.call("DELETE", "/v1/sessions/missing").status
    assert 404 == session.as_user("bob").call("DELETE", "/v1/sessions/s").status
    assert 200 == session.call("GET", "/v1/sessions/s").status
