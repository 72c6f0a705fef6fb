"""What comes back equals what went in, through the handler (DESIGN 3 and 10)."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.session_api import Api
from turnlog.domain import exactjson

NUMBERS = '{"t":0.1,"big":1e400,"n":12345678901234567890,"neg0":-0.0,"f":1.0,"i":1,"nan":"NaN","e":1E5,"z":0.10,"m":-0}'
EMPTY = '{"s":"","l":[],"m":{},"x":null,"keys":{"":1,"b":2,"a":3}}'


def assert_comes_back(api: Api, message: str, metadata: str = "{}") -> None:
    """Append raw JSON; its list and its own resource end in the very same text."""
    body = f'{{"events":[{{"id":"e","metadata":{metadata},"message":{message}}}]}}'
    # With its length, as clients send it: without one a U+FFFD could be what the gateway has put in place of something.
    length = str(len(body.encode()))
    assert 201 == api.call("POST", "/v1/sessions/s/events", raw=body, Content_Length=length).status
    end = f'"metadata":{metadata},"message":{message}}}'

    assert api.call("GET", "/v1/sessions/s/events/e").text.endswith(f'"archived":false,{end}')
    assert api.list().text.endswith(f'"archived":false,{end}],"next_cursor":null,"has_more":false}}')


@pytest.mark.parametrize("text", [NUMBERS, EMPTY], ids=["e3-numbers", "e8-empty-values"])
def test_e3_e8_numbers_and_empty_values_keep_their_text(session: Api, text: str) -> None:
    """In metadata, in unknown keys of a message, and in provider data."""
    block = f'{{"type":"provider","provider":"p","data":{text}}}'
    message = f'{{"role":"user","content":[{block}],"extra":{text}}}'

    assert_comes_back(session, message, text)


@pytest.mark.parametrize("text", [NUMBERS, EMPTY], ids=["e3-numbers", "e8-empty-values"])
def test_session_metadata_keeps_its_text(api: Api, text: str) -> None:
    """On create, get, list and PATCH."""
    for reply in (
        api.call("POST", "/v1/sessions", raw=f'{{"id":"s","metadata":{text}}}'),
        api.call("GET", "/v1/sessions/s"),
        api.call("GET", "/v1/sessions"),
        api.call("PATCH", "/v1/sessions/s", raw=f'{{"metadata":{text}}}'),
    ):
        assert f'"metadata":{text},' in reply.text


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity"])
def test_e3_non_finite_numbers_are_400(session: Api, token: str) -> None:
    """Wherever they stand."""
    body = f'{{"events":[{{"message":{{"role":"user","content":"x","n":{token}}}}}]}}'

    assert 400 == session.call("POST", "/v1/sessions/s/events", raw=body).status


def test_e4_a_lone_surrogate_is_400_and_blocks_nothing(session: Api) -> None:
    """With a pointer; a pair, a NUL and every control character are stored and come back."""
    bad = session.call(
        "POST", "/v1/sessions/s/events", raw='{"events":[{"message":{"role":"user","content":"a\\ud83d b"}}]}'
    )
    session.append("a\0b", "\U0001f600 \u2028", "".join(map(chr, range(32))) + '\x7f"\\/')

    assert (400, ["/events/0/message/content"]) == (bad.status, bad.pointers)
    assert ["a\0b", "\U0001f600 \u2028", "".join(map(chr, range(32))) + '\x7f"\\/'] == [
        event["message"]["content"] for event in session.list().json["data"]
    ]


def test_a16_an_assistant_message_of_calls_alone_keeps_them(session: Api) -> None:
    """No text block appears, and the arguments stay a string."""
    block = '{"type":"tool_call","id":"c1","name":"t","arguments":"{}"}'
    message = f'{{"role":"assistant","content":[{block}],"tool_calls":[{{"id":"c1","args":"{{}}"}}]}}'

    assert_comes_back(session, message)


def test_keys_come_back_in_their_order_and_text_content_stays_text(session: Api) -> None:
    """Nothing is sorted, nothing is turned into blocks."""
    message = '{"z":1,"content":"hi","role":"user","a":{"y":1,"b":2}}'

    assert_comes_back(session, message)


TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=100, deadline=None)
@given(extra=st.dictionaries(TEXT, JSON, max_size=4), text=TEXT)
def test_any_json_object_comes_back_as_its_text(extra: dict[str, object], text: str) -> None:
    """As metadata, and as keys of a message that nobody knows."""
    api = Api()
    api.create()
    metadata = exactjson.dumps(extra)
    message = exactjson.dumps({**extra, "role": "user", "content": text})

    assert_comes_back(api, message, metadata)


@given(value=JSON, indent=st.booleans(), ascii=st.booleans())
def test_exact_json_is_never_longer_than_what_was_sent(value: object, indent: bool, ascii: bool) -> None:
    """So that whatever came in with a request fits into an answer (``limits.BODY_BYTES``)."""
    sent = json.dumps(value, ensure_ascii=ascii, indent=2 if indent else None)

    assert len(exactjson.dumps(exactjson.loads(sent)).encode()) <= len(sent.encode())
