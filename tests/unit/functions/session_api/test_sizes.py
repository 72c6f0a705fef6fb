"""Large bodies, large events and large pages."""

import base64
import hashlib
import json
from typing import Any

import pytest

from session_api import limits
from session_api.payload import escaped_bytes, proxy_body
from tests.support.session_api import Api, Reply, http_event

CLAIMS = {"custom:tenant": "acme", "sub": "alice"}
EVENTS = "/v1/sessions/s/events"


def sized(reply: Reply) -> int:
    """The bytes of the proxy answer as the oldest runtime writes it: JSON in ASCII."""
    return len(json.dumps(reply.proxy, ensure_ascii=True))


def body_of(size: int, character: str = "x") -> str:
    """An append of one event whose body has exactly so many bytes."""
    frame = '{"events":[{"id":"big","message":{"role":"user","content":"%s"}}]}'
    unit = len(character.encode())
    count, rest = divmod(size - len(frame) + 2, unit)
    return frame % (character * count + "x" * rest)


def said_in(session: Api, event: Any) -> Any:
    """The message of an event, from behind its link if it has one."""
    if "link" not in event:
        return event["message"]
    assert "message" not in event
    link = event["link"]
    content = session.bucket.serve("GET", link["url"]).content
    assert (link["bytes"], link["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())
    return json.loads(content)


@pytest.mark.parametrize("size", [400_000, 3_000_000, limits.BODY_BYTES])
@pytest.mark.parametrize("character", ["x", "é", "漢", "\U0001f600", "\\u0000", '\\"'])
def test_a_large_event_is_taken_and_comes_back(session: Api, size: int, character: str) -> None:
    """Up to the limits, in any script and with any escapes: no answer is over the cap of a page."""
    body = body_of(size if character != '\\"' else min(size, 3_000_000), character)
    assert 201 == session.call("POST", EVENTS, raw=body).status

    for reply in (session.list(), session.list("s", {"last_n": 1}), session.call("GET", f"{EVENTS}/big")):
        assert sized(reply) <= limits.PAGE_BYTES
        event = reply.json["data"][0] if "data" in reply.json else reply.json
        assert ("link" in event) == (size == limits.BODY_BYTES and character != '\\"')
        assert json.loads(body)["events"][0]["message"] == said_in(session, event)


@pytest.mark.parametrize("character", ["x", "漢", "\\u0000", "\\u001f"])
def test_what_just_fits_is_a_message_and_one_byte_more_is_a_link(session: Api, character: str) -> None:
    """The line is the cap of a page, in a page and by id alike; both sides of it stay below the cap."""
    assert 201 == session.append({"id": "big", "message": {"role": "user", "content": ""}}).status
    frame = len(json.dumps(session.call("GET", f"{EVENTS}/big").json, ensure_ascii=False, separators=(",", ":")))
    most = limits.PAGE_BODY_BYTES // 4 * 3 - 1 - frame

    for name, room in (("fit", most), ("out", most + 1)):
        count, rest = divmod(room, len(character.encode()))
        said = character * count + "x" * rest
        raw = f'{{"events":[{{"id":"{name}","message":{{"role":"user","content":"{said}"}}}}]}}'
        assert 201 == session.call("POST", EVENTS, raw=raw).status
        for reply in (session.list("s", {"last_n": 1}), session.call("GET", f"{EVENTS}/{name}")):
            event = reply.json["data"][0] if "data" in reply.json else reply.json
            assert sized(reply) <= limits.PAGE_BYTES
            assert ("link" if name == "out" else "message") in event
            assert json.loads(raw)["events"][0]["message"] == said_in(session, event)


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_an_event_behind_a_link_stands_alone_on_its_page(session: Api, order: str) -> None:
    """One answer writes one copy at most, however many large events the log holds."""
    session.append("before")
    for name in ("one", "two"):
        raw = body_of(limits.BODY_BYTES).replace("big", name)
        assert 201 == session.call("POST", EVENTS, raw=raw).status
    session.append("after")

    pages = session.pages(order=order)
    expected = [["before"], ["one"], ["two"], ["after"]]
    told = [[event["id"] if "link" in event else event["message"]["content"] for event in page] for page in pages]
    assert (expected if order == "asc" else expected[::-1]) == told


def test_only_what_a_page_shows_is_copied(session: Api) -> None:
    """Neither an append nor the measuring of an event for an earlier page writes a copy."""
    session.append("before")
    assert 201 == session.call("POST", EVENTS, raw=body_of(limits.BODY_BYTES)).status
    assert 1 == len(session.list().json["data"])
    assert set() == session.bucket.keys()

    for _ in range(2):
        assert "link" in session.list("s", {"last_n": 1}).json["data"][0]
    assert 1 == len(session.bucket.keys())


def test_a_large_event_full_of_quotes_is_refused_as_lambda_would(session: Api) -> None:
    """Each quote is two bytes in the body and four in the event; a smaller one is taken."""
    refused = session.call("POST", EVENTS, raw=body_of(limits.BODY_BYTES, '\\"'))
    taken = session.call("POST", EVENTS, raw=body_of(3_000_000, '\\"'))

    assert (413, "payload-too-large") == (refused.status, refused.json["code"])
    assert limits.LAMBDA_PAYLOAD_BYTES - limits.ENVELOPE_BYTES == refused.json["limit_bytes"]
    assert "/v1/sessions/s/uploads" == refused.json["uploads"]
    assert 201 == taken.status
    assert sized(session.list()) <= limits.LAMBDA_PAYLOAD_BYTES


def test_a_body_over_the_limit_is_413_with_the_limit(session: Api) -> None:
    """By one byte, as text and in base64."""
    raw = body_of(limits.BODY_BYTES + 1)
    encoded = base64.b64encode(raw.encode()).decode()
    for reply in (
        session.call("POST", EVENTS, raw=raw),
        session.invoke(http_event("POST", EVENTS, body=encoded, is_base64=True, claims=CLAIMS)),
    ):
        assert (413, limits.BODY_BYTES) == (reply.status, reply.json["limit_bytes"])
        assert "/v1/sessions/s/uploads" == reply.json["uploads"]
    assert [] == session.list().json["data"]


def test_base64_bodies_up_to_the_limit_are_taken(session: Api) -> None:
    """Base64 makes 4 of 3, which still fits."""
    encoded = base64.b64encode(body_of(limits.BODY_BYTES).encode()).decode()

    assert 201 == session.invoke(http_event("POST", EVENTS, body=encoded, is_base64=True, claims=CLAIMS)).status


def batch(start: int, count: int, text: str) -> list[dict[str, Any]]:
    """Events of one text."""
    return [{"id": str(i), "message": {"role": "user", "content": text}} for i in range(start, start + count)]


@pytest.mark.parametrize(
    "text",
    ["x" * 60_000, "漢" * 20_000, '"' * 30_000, "\0" * 10_000, "\U0001f600" * 15_000],
    ids=["a", "b", "c", "d", "e"],
)
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_e7_every_event_of_a_long_history_is_reached_by_pages_under_the_cap(
    session: Api, text: str, order: str
) -> None:
    """200 events of about 60 KB; each page is under the cap once it is wrapped."""
    for start in range(0, 200, 20):
        assert 201 == session.append(*batch(start, 20, text)).status
    seen, query = [], {"limit": 100, "order": order}
    while True:
        reply = session.list("s", query)
        assert sized(reply) <= limits.PAGE_BYTES
        seen += [event["id"] for event in reply.json["data"]]
        if not reply.json["has_more"]:
            break
        query["cursor"] = reply.json["next_cursor"]

    expected = [str(i) for i in range(200)]
    assert (expected if order == "asc" else expected[::-1]) == seen


def test_a_page_of_sessions_stays_under_the_cap(api: Api) -> None:
    """100 sessions with as much metadata as they may have."""
    for i in range(100):
        assert 201 == api.create(f"s{i}", metadata={"x": "é" * 8_180}).status
    reply = api.call("GET", "/v1/sessions", query={"limit": 100})

    assert 100 == len(reply.json["data"])
    assert sized(reply) <= limits.PAGE_BYTES


def test_small_answers_stay_readable_text() -> None:
    """Base64 is for what would not fit as text, and only where it is smaller."""
    limit = limits.PAGE_BYTES - limits.ENVELOPE_BYTES

    assert isinstance(proxy_body("漢" * 100_000), str)
    assert isinstance(proxy_body("漢" * (limit // 6 - 1)), str)
    assert isinstance(proxy_body("漢" * (limit // 6 + 1)), bytes)
    assert isinstance(proxy_body("x" * (limit - 2)), str)
    assert isinstance(proxy_body("x" * (limit + 1_000_000)), str)


@pytest.mark.parametrize("text", ["", "x", '"', "\0", "é", "漢", "\U0001f600"])
def test_escaped_bytes_is_what_json_makes_of_it(text: str) -> None:
    """Quotes included."""
    assert len(json.dumps(text * 7).encode()) == escaped_bytes(text * 7)
