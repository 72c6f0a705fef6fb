"""Cursors come back as they were, and nothing else is one."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_api import cursors
from turnlog.domain.errors import InvalidRequest
from turnlog.domain.ports import Place
from turnlog.service import EventCursor

SCOPE = cursors.scope_of("events", "acme", "alice", "s", ["order=desc"])
WHOLE = st.integers(0, 10**15)
PLACES = st.builds(Place, seq=WHOLE, generation=WHOLE, index=st.integers(-1, 10**6))


def forged(text: str) -> str:
    """A cursor's spelling of any text."""
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


@given(inc=WHOLE, after=PLACES, until=st.none() | PLACES, need=st.none() | st.integers(0, 1000))
def test_an_event_cursor_comes_back_as_it_was(inc: int, after: Place, until: Place | None, need: int | None) -> None:
    """Whatever it holds."""
    cursor = EventCursor(inc, after, until, need)
    last_n = None if until is None and need is None else 1000

    assert cursor == cursors.decode_events(cursors.encode_events(cursor, SCOPE), SCOPE, last_n=last_n)


@given(token=st.text(st.characters(exclude_categories=["Cs"]), max_size=300))
def test_a_stores_token_comes_back_as_it_was(token: str) -> None:
    """It may hold any text, our separator included."""
    assert token == cursors.decode_sessions(cursors.encode_sessions(token, SCOPE), SCOPE)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "*",
        "a",
        "abcd",
        forged("1|e"),
        forged(f"2|e|{SCOPE}|1|||"),
        forged(f"1|s|{SCOPE}|1|||"),
        forged(f"1|e|{SCOPE}|"),
        forged(f"1|e|{SCOPE}|1||"),
        forged(f"1|e|{SCOPE}|-1|||"),
        forged(f"1|e|{SCOPE}|01|||"),
        forged(f"1|e|{SCOPE}|1|1.2||"),
        forged(f"1|e|{SCOPE}|1|1.2.-2||"),
        forged(f"1|e|{SCOPE}|1|1.2.x||"),
        forged(f"1|e|{SCOPE}|1|1.2.3||11"),
        forged(f"1|e|{SCOPE}|1|1.2.3||"),
        forged(f"1|e|{SCOPE}|1|||4"),
        forged(f"1|e|{SCOPE}|1|||٣"),
        forged(f"1|e|{SCOPE}|1|||\n"),
        forged(f"1|e|{SCOPE}|1|||") + "=",
        forged(f"1|e|{SCOPE}|1|||") + "A",
        forged("1|e|0123456789abcdef|1|||"),
        forged(f"1|e|{SCOPE}|{'9' * 2000}|||"),
        base64.urlsafe_b64encode(b"\xff\xfe|e|x|y").decode().rstrip("="),
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    """At the query parameter."""
    with pytest.raises(InvalidRequest) as refused:
        cursors.decode_events(text, SCOPE, last_n=10)

    assert ["query:cursor"] == [error.pointer for error in refused.value.errors]


@pytest.mark.parametrize("rest", ["1|2.1.0|5.1.0|", "1|2.1.0||3", "1|2.1.0|5.1.0|3"])
def test_only_a_newest_n_listing_has_an_end(rest: str) -> None:
    """A cursor with one does not fit a plain listing."""
    text = forged(f"1|e|{SCOPE}|{rest}")

    assert 1 == cursors.decode_events(text, SCOPE, last_n=3).inc
    with pytest.raises(InvalidRequest):
        cursors.decode_events(text, SCOPE, last_n=None)


def test_a_plain_cursor_without_its_place_is_refused() -> None:
    """It would lead to the beginning."""
    assert 1 == cursors.decode_events(forged(f"1|e|{SCOPE}|1|2.1.0||"), SCOPE, last_n=None).inc
    with pytest.raises(InvalidRequest):
        cursors.decode_events(forged(f"1|e|{SCOPE}|1|||"), SCOPE, last_n=None)


def test_a_cursor_that_is_too_long_is_told_its_limit() -> None:
    """In characters."""
    with pytest.raises(InvalidRequest, match="at most 2048 characters"):
        cursors.decode_sessions("a" * 2049, SCOPE)


def test_another_spelling_of_the_same_bytes_is_refused() -> None:
    """The last character of base64 may hold bits that nobody reads."""
    text = next(t for inc in (1, 10) if len(t := cursors.encode_events(EventCursor(inc, Place(1, 0, 0)), SCOPE)) % 4)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    other = text[:-1] + alphabet[alphabet.index(text[-1]) + 1]

    with pytest.raises(InvalidRequest):
        cursors.decode_events(other, SCOPE, last_n=None)


def test_the_parts_of_a_scope_cannot_run_into_one_another() -> None:
    """a,bc is not ab,c."""
    scopes = {
        cursors.scope_of(*parts) for parts in (("a", "bc"), ("ab", "c"), ("abc",), ("a", ["bc"]), ("a", "b", "c"))
    }

    assert 5 == len(scopes)
