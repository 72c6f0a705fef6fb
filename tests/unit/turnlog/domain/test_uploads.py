"""Refs, what may be uploaded, and the refs that a message names."""

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.domain.errors import InvalidRequest
from turnlog.domain.message import Message
from turnlog.domain.session import StoredSession, Version
from turnlog.domain.uploads import MAX_BYTES, EventLink, MediaRef, UploadRef, UploadRequest, check_refs, life_of
from turnlog.testing.builders import a_session

SHA256 = hashlib.sha256(b"x").hexdigest()
INC = 1_769_860_800_000


def life(session_id: str = "s", inc: int = INC) -> StoredSession:
    """A session that began then."""
    return StoredSession(a_session(session_id), Version(inc, 0, 0))


@given(inc=st.integers(0, 10**15), session_id=st.text(min_size=1, max_size=5), content=st.binary(max_size=20))
def test_a_ref_is_read_back_and_belongs_to_its_life_alone(inc: int, session_id: str, content: bytes) -> None:
    """Not to the next life of the session, and not to a session that began in the same millisecond."""
    ref = UploadRef.of(life(session_id, inc), hashlib.sha256(content).hexdigest())

    assert UploadRef.parse(str(ref)) == ref
    assert ref.is_of(life(session_id, inc))
    assert not ref.is_of(life(session_id, inc + 1))
    assert not ref.is_of(life(session_id + "x", inc))


OURS = str(UploadRef.of(life(), SHA256))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        SHA256,
        f"-{SHA256}",
        f"1-{SHA256[1:]}",
        f"1-{SHA256}0",
        f"1-{SHA256.upper()}",
        f"A-{SHA256}",
        f"{'1' * 14}-{SHA256}",
        f"1-{SHA256}\n",
        f" 1-{SHA256}",
        f"1-{'٣' * 64}",
        f"../1-{SHA256}",
        f"1_{SHA256}",
    ],
)
def test_what_is_no_ref(text: str) -> None:
    assert UploadRef.parse(text) is None


def test_a_life_has_one_spelling() -> None:
    """A leading zero is well-formed and nobody's."""
    padded = UploadRef(f"0{life_of(life())}", SHA256)

    assert not padded.is_of(life())


@pytest.mark.parametrize(
    ("changed", "pointer"),
    [
        ({"size": 0}, "/bytes"),
        ({"size": -1}, "/bytes"),
        ({"size": MAX_BYTES + 1}, "/bytes"),
        ({"media_type": ""}, "/media_type"),
        ({"media_type": "text"}, "/media_type"),
        ({"media_type": "text/plain;charset"}, "/media_type"),
        ({"media_type": "text/plain\n"}, "/media_type"),
        ({"media_type": "application/x-www-form-urlencoded"}, "/media_type"),
        ({"sha256": SHA256.upper()}, "/sha256"),
        ({"sha256": "0"}, "/sha256"),
    ],
)
def test_a_request_that_cannot_be_is_not_made(changed: dict[str, Any], pointer: str) -> None:
    """The library refuses what HTTP refuses."""
    with pytest.raises(InvalidRequest) as refused:
        UploadRequest(**{"media_type": "image/png", "size": 1, "sha256": SHA256, **changed})

    assert [pointer] == [error.pointer for error in refused.value.errors]


def test_a_link_tells_length_and_hash_of_the_bytes() -> None:
    """Not of the characters."""
    assert EventLink("u", 3, hashlib.sha256("漢".encode()).hexdigest()) == EventLink.to("u", "漢".encode())


TOOL = {
    "role": "tool",
    "content": [
        {"type": "tool_result", "call_id": "a", "content": "text"},
        {
            "type": "tool_result",
            "call_id": "b",
            "content": [
                {"type": "provider", "provider": "p", "data": {"type": "media", "ref": "no"}},
                {"type": "media", "media_type": "a/b", "ref": "r"},
                {"type": "media", "media_type": "a/b", "data": "", "ref": None},
            ],
        },
    ],
}
USER = {
    "role": "user",
    "content": [
        {"type": "text", "text": "x", "ref": "no"},
        {"type": "media", "media_type": "a/b", "ref": "r1", "name": "n"},
        {"type": "media", "media_type": "a/b", "url": "u"},
        {"type": "media", "media_type": "a/b", "ref": ""},
    ],
}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"role": "user", "content": "plain"}, ()),
        ({"role": "user", "content": []}, ()),
        (USER, (MediaRef("/content/1/ref", "r1"), MediaRef("/content/3/ref", ""))),
        (TOOL, (MediaRef("/content/1/content/1/ref", "r"),)),
    ],
    ids=["text", "empty", "user", "tool"],
)
def test_a_messages_refs_are_found_with_their_pointers(message: dict[str, Any], expected: tuple[MediaRef, ...]) -> None:
    """Whether the message was just made or read back from its text."""
    made = Message.of(message)

    assert expected == made.media_refs
    assert expected == Message(made.json).media_refs


@pytest.mark.parametrize(
    ("ref", "lives"),
    [(f"1-{SHA256}", True), ("x", True), (OURS, False), (f"0-{SHA256}", False), (f"0-{SHA256}", True)],
)
def test_a_ref_of_another_life_is_refused_where_it_stands(ref: str, lives: bool) -> None:
    """Whatever it is, in a session that does not live."""
    fine = (MediaRef("/content/0/ref", OURS),) if lives else ()
    with pytest.raises(InvalidRequest) as refused:
        check_refs((*fine, MediaRef("/content/1/ref", ref)), life() if lives else None, "/events/0/message")

    assert ["/events/0/message/content/1/ref"] == [error.pointer for error in refused.value.errors]


def test_a_ref_of_this_life_passes() -> None:
    check_refs((MediaRef("/content/0/ref", OURS),), life(), "/events/0/message")
