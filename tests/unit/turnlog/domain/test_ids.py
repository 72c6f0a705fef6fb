"""Ids that the server makes name one place, and nothing else does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.domain import ids
from turnlog.domain.ids import InsertedId, LoggedId

incs = st.integers(0, 36**13 - 1)


@given(incs, st.integers(1, 10**12 - 1))
def test_the_id_of_a_logged_event_names_its_place(inc: int, seq: int) -> None:
    assert ids.parse(ids.logged(inc, seq)) == LoggedId(inc, seq)


@given(incs, st.from_regex(r"[0-9a-z.]{1,64}", fullmatch=True), st.integers(0, 10**6 - 1))
def test_the_id_of_an_inserted_event_names_its_place(inc: int, pass_id: str, index: int) -> None:
    assert ids.parse(ids.inserted(inc, pass_id, index)) == InsertedId(inc, pass_id, index)


@given(st.from_regex(r"~[0-9a-z]{0,15}-p?[0-9a-z.]{0,15}(-[0-9]{0,7})?", fullmatch=True))
def test_a_place_has_one_id(text: str) -> None:
    match ids.parse(text):
        case LoggedId(inc, seq):
            assert ids.logged(inc, seq) == text
        case InsertedId(inc, pass_id, index):
            assert ids.inserted(inc, pass_id, index) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "~",
        "e1",
        "~u:sum",
        "~a-0",
        "~a-01",
        "~0a-1",
        "~A-1",
        "~a-1 ",
        " ~a-1",
        "~a-1\n",
        "~a--1",
        "~a-p-0",
        "~a-p1-01",
        "~a-px",
    ],
)
def test_anything_else_names_no_place(text: str) -> None:
    assert ids.parse(text) is None


@pytest.mark.parametrize(("number", "text"), [(0, "0"), (35, "z"), (36, "10"), (1_767_225_600_000, "mjuohs00")])
def test_base_36_is_the_lower_case_one(number: int, text: str) -> None:
    assert ids.base36(number) == text
    assert int(text, 36) == number


def test_a_negative_number_has_no_base_36() -> None:
    with pytest.raises(ValueError, match="-1"):
        ids.base36(-1)


def test_what_begins_with_a_tilde_is_the_servers() -> None:
    assert ids.is_server_made("~anything")
    assert not ids.is_server_made("a~")
