"""Uploads over HTTP, and the refs that events name them by."""

import hashlib
from typing import Any

import pytest

from tests.support.session_api import Api
from turnlog.domain.uploads import MAX_BYTES, URL_SECONDS

UPLOADS = "/v1/sessions/s/uploads"
PNG = b"\x89PNG\r\n\x1a\nfake"
SHA256 = hashlib.sha256(PNG).hexdigest()
ASKED: dict[str, Any] = {"media_type": "image/png", "bytes": len(PNG), "sha256": SHA256}


def media(ref: object) -> dict[str, Any]:
    """A user's message that shows an upload."""
    return {"role": "user", "content": [{"type": "media", "media_type": "image/png", "ref": ref}]}


def test_an_upload_is_asked_for_put_named_in_an_event_and_read_back(session: Api) -> None:
    """The whole way; the function sees the content nowhere on it."""
    grant = session.call("POST", UPLOADS, ASKED)
    assert 201 == grant.status
    assert 200 == session.bucket.serve("PUT", grant.json["url"], grant.json["headers"], PNG).status
    ref = grant.json["ref"]
    assert 201 == session.append({"id": "e", "message": media(ref)}).status
    assert media(ref) == session.list().json["data"][0]["message"]

    found = session.call("GET", f"{UPLOADS}/{ref}")
    assert {"ref": ref, **ASKED} == {k: v for k, v in found.json.items() if k not in ("url", "expires_at")}
    assert PNG == session.bucket.serve("GET", found.json["url"]).content


def test_a_grant_says_what_to_send_and_until_when(session: Api) -> None:
    """Five minutes by the server's clock; every header is a string."""
    grant = session.call("POST", UPLOADS, ASKED).json

    assert {"content-length", "content-type", "x-amz-checksum-sha256"} == grant["headers"].keys()
    assert (str(len(PNG)), "image/png") == (grant["headers"]["content-length"], grant["headers"]["content-type"])
    assert session.clock.now().plus_seconds(URL_SECONDS).text == grant["expires_at"]
    session.clock.advance(seconds=URL_SECONDS)
    assert 403 == session.bucket.serve("PUT", grant["url"], grant["headers"], PNG).status


def test_asking_twice_gives_the_same_ref_and_stores_nothing(session: Api) -> None:
    """The ref follows from the session's life and the content, whatever its type is said to be."""
    first = session.call("POST", UPLOADS, ASKED)
    second = session.call("POST", UPLOADS, {**ASKED, "media_type": "image/x-png"})

    assert first.json["ref"] == second.json["ref"]
    assert set() == session.bucket.keys()
    assert (404, "upload-not-found") == (
        (missing := session.call("GET", f"{UPLOADS}/{first.json['ref']}")).status,
        missing.json["code"],
    )


@pytest.mark.parametrize(
    ("field", "value", "detail"),
    [
        ("sha256", SHA256.upper(), "must be lower case"),
        ("sha256", SHA256[:-1], "must be a SHA-256: 64 lower-case hex digits"),
        ("sha256", SHA256 + "\n", "must be a SHA-256: 64 lower-case hex digits"),
        ("sha256", "٣" * 64, "must be a SHA-256: 64 lower-case hex digits"),
        ("sha256", 7, "must be a string"),
        ("bytes", 0, "must be at least 1"),
        ("bytes", MAX_BYTES + 1, f"must be at most {MAX_BYTES}"),
        ("bytes", "5", "must be a whole number"),
        ("bytes", True, "must be a whole number"),
        (
            "media_type",
            "png",
            "must be a media type such as image/png or text/plain; charset=utf-8, and no form encoding",
        ),
        ("media_type", "image/png\r\nx: y", None),
        ("media_type", "image/png ", None),
        ("media_type", "image/é", None),
        ("media_type", "application/x-www-form-urlencoded; charset=utf-8", None),
        ("media_type", "Application/X-WWW-form-urlencoded", None),
        ("media_type", "a/" + "b" * 300, "must have at most 255 characters"),
        ("media_type", None, "must be a string"),
        ("name", "x", "is not a known field"),
    ],
)
def test_a_wrong_field_is_pointed_at(session: Api, field: str, value: Any, detail: str | None) -> None:
    """And told what is wrong with it."""
    reply = session.call("POST", UPLOADS, {**ASKED, field: value})

    assert (422, [f"/{field}"]) == (reply.status, reply.pointers)
    assert detail in (None, reply.json["errors"][0]["detail"])


@pytest.mark.parametrize("missing", ["media_type", "bytes", "sha256"])
def test_every_field_is_required(session: Api, missing: str) -> None:
    """There is no sensible default for any."""
    reply = session.call("POST", UPLOADS, {k: v for k, v in ASKED.items() if k != missing})

    assert (422, [f"/{missing}"]) == (reply.status, reply.pointers)


@pytest.mark.parametrize(
    "media_type", ["image/png", "text/plain; charset=utf-8", 'a/b;c="d e"', "application/vnd.x+json"]
)
@pytest.mark.parametrize("size", [1, MAX_BYTES])
def test_usual_types_and_sizes_up_to_the_limit_are_taken(session: Api, media_type: str, size: int) -> None:
    """The limit itself included."""
    assert 201 == session.call("POST", UPLOADS, {**ASKED, "media_type": media_type, "bytes": size}).status


@pytest.mark.parametrize("ref", ["x", f"1-{SHA256.upper()}", f"-{SHA256}", f"{'1' * 14}-{SHA256}", f"1-{SHA256}%0A"])
def test_what_is_no_ref_is_422(session: Api, ref: str) -> None:
    """With a pointer to the path."""
    reply = session.call("GET", f"{UPLOADS}/{ref}")

    assert (422, ["path:ref"]) == (reply.status, reply.pointers)


def test_refs_of_other_sessions_and_lives_are_not_found(session: Api) -> None:
    """However well-formed; a session that is gone is told as such."""
    ref = session.upload(PNG)
    life, _, _ = ref.partition("-")
    session.create("other")
    session.clock.advance(seconds=1)
    session.call("DELETE", "/v1/sessions/s")
    gone = session.call("GET", f"{UPLOADS}/{ref}")
    session.create()

    assert "session-not-found" == gone.json["code"]
    for sid, other in (("s", ref), ("other", ref), ("s", f"0{life[1:]}-{SHA256}"), ("s", f"1-{SHA256}")):
        reply = session.call("GET", f"/v1/sessions/{sid}/uploads/{other}")
        assert (404, "upload-not-found") == (reply.status, reply.json["code"])


def test_an_append_refuses_refs_that_are_not_of_this_life(session: Api) -> None:
    """Malformed, of another life, spelled otherwise: nothing is stored; the pointer leads to the ref."""
    ref = session.upload(PNG)
    life, _, sha256 = ref.partition("-")
    other = f"0{life[1:]}"
    for wrong in ("", "x", f"1-{sha256}", f"{other}-{sha256}", f"{life}-{sha256.upper()}", ref + "/..", f"u/{sha256}"):
        reply = session.append("fine", {"message": media(wrong)})
        assert (422, ["/events/1/message/content/0/ref"]) == (reply.status, reply.pointers)
    assert [] == session.list().json["data"]


def test_refs_inside_tool_results_are_looked_at(session: Api) -> None:
    """As deep as media blocks can stand."""
    shot = {"type": "media", "media_type": "image/png", "ref": f"1-{SHA256}"}
    result = {"type": "tool_result", "call_id": "c", "content": [{"type": "text", "text": "see"}, shot]}
    reply = session.append({"message": {"role": "tool", "content": [result]}})

    assert (422, ["/events/0/message/content/0/content/1/ref"]) == (reply.status, reply.pointers)
    shot["ref"] = session.upload(PNG)
    assert 201 == session.append({"message": {"role": "tool", "content": [result]}}).status


def test_an_upload_may_follow_its_event(session: Api) -> None:
    """Nobody asks whether the content has arrived."""
    ref = session.call("POST", UPLOADS, ASKED).json["ref"]

    assert 201 == session.append({"message": media(ref)}).status


def test_what_only_looks_like_a_ref_is_nobodys_business(session: Api) -> None:
    """Unknown keys, provider blocks, null, and URLs, which are never fetched."""
    blocks = [
        {"type": "media", "media_type": "a/b", "url": "http://169.254.169.254/latest", "ref": None},
        {"type": "text", "text": "x", "ref": "y"},
        {"type": "provider", "provider": "p", "data": {"type": "media", "ref": "z"}},
    ]
    assert 201 == session.append({"message": {"role": "user", "content": blocks}}).status


def test_create_if_missing_with_a_ref_creates_nothing(api: Api) -> None:
    """A session that does not live has given no ref; `0` is no life that it could come to have."""
    for life in ("0", "1", "ml29f9c0"):
        body = {"create_if_missing": True, "events": [{"message": media(f"{life}-{SHA256}")}]}
        reply = api.call("POST", "/v1/sessions/new/events", body)
        assert (422, ["/events/0/message/content/0/ref"]) == (reply.status, reply.pointers)
    assert 404 == api.call("GET", "/v1/sessions/new").status


def test_a_replay_is_not_asked_for_its_refs_again(session: Api) -> None:
    """By id and by key: the answer is the first one, and stays so."""
    event = {"id": "e", "message": media(session.upload(PNG))}
    assert 201 == session.append(event, idempotency_key="k").status

    assert 201 == session.append(event, idempotency_key="k").status
    assert 200 == session.append(event).status


def test_a_route_label_says_no_ref(session: Api, written: Any) -> None:
    """Logs and metrics name the template."""
    ref = session.upload(PNG)
    written()
    session.call("GET", f"{UPLOADS}/{ref}")
    lines = written()

    assert "GET /v1/sessions/{sid}/uploads/{ref}" in {line.get("route") for line in lines}
    assert not [line for line in lines if SHA256 in str(line)]
