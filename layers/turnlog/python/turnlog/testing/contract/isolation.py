"""Tenants, sessions and ids kept apart, whatever they are called (field case B9, DESIGN 4)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from ...domain.errors import InvalidRequest
from ...domain.event import SessionEvent
from ...domain.ports import SessionRepository
from ...domain.session import StoredSession
from ..builders import START, a_session
from .base import Contract, Make, append, archive, current, numbered, said, shape, started

ODD = (
    "a",
    "A",
    "a#b",
    "b#c",
    "c",
    "a#S#b",
    "S#b",
    "a%23b",
    "%2e",
    ".",
    "..",
    "a/b",
    "a\\b",
    "T#x",
    "E#1",
    "~",
    "!",
    "\u00e9",
    "e\u0301",
    "a\0",
    "\0",
    "a ",
    " a",
    "👩‍👩‍👧‍👦",
    "x" * 300,
    "x" * 301,
    "é" * 300,
)
"""Ids that a careless key would confuse with one another."""


class IsolationContract(Contract):
    """No two different pairs of tenant and session ever meet."""

    def test_pairs_that_join_to_the_same_text_are_two_sessions(self, make: Make) -> None:
        pairs = [("a#b", "c"), ("a", "b#c"), ("a#S#b", "c"), ("a", "b#S#c"), ("a%23b", "c"), ("a", "b%23c")]
        _tell_apart([(make(tenant), session, f"{tenant}|{session}") for tenant, session in pairs])

    def test_odd_session_ids_are_kept_apart(self, repository: SessionRepository) -> None:
        _tell_apart([(repository, session, session) for session in ODD])

    @pytest.mark.parametrize("blank", ["", " ", "\n\u2003"])
    def test_a_blank_id_is_refused(self, repository: SessionRepository, blank: str) -> None:
        calls: list[Callable[[], object]] = [
            lambda: repository.create(a_session(blank), now=START),
            lambda: repository.create(a_session("s", user_id=blank), now=START),
            lambda: repository.save(a_session(blank)),
            lambda: repository.save(a_session("s", user_id=blank)),
            lambda: repository.find(blank),
            lambda: repository.list_by_user(blank),
            lambda: append(repository, "u1", blank),
            lambda: repository.read(blank),
            lambda: repository.window(blank),
            lambda: repository.version(blank),
            lambda: repository.delete(blank),
        ]
        for call in calls:
            with pytest.raises(InvalidRequest):
                call()

    def test_odd_tenants_are_kept_apart(self, make: Make) -> None:
        _tell_apart([(make(tenant), "s", tenant) for tenant in ODD])

    def test_odd_event_ids_are_kept_apart(self, repository: SessionRepository) -> None:
        started(repository)
        append(repository, [said(name, name) for name in ODD])
        again = append(repository, [said(name, name) for name in reversed(ODD)])
        assert [e.seq for e in again.events] == list(range(len(ODD), 0, -1))
        assert again.all_replayed
        session = current(repository)
        assert [_text(repository.find_event(session, name)) for name in ODD] == list(ODD)

    def test_odd_users_are_kept_apart(self, make: Make) -> None:
        tenants = [make("a"), make("a#b")]
        for (i, repository), user in product(enumerate(tenants), ODD):
            started(repository, f"{i}|{ODD.index(user)}", user_id=user)
        for (i, repository), user in product(enumerate(tenants), ODD):
            assert [s.id for s in repository.list_by_user(user)] == [f"{i}|{ODD.index(user)}"]
            page = repository.page_by_user(
                user, now=current(repository, f"{i}|0").record.created_at, limit=5, order="asc", order_by="created",
                token=None,
            )  # fmt: skip
            assert [e.session.id for e in page.entries] == [f"{i}|{ODD.index(user)}"]

    def test_what_one_tenant_does_the_other_does_not_see(self, make: Make) -> None:
        mine, theirs = make("mine"), make("theirs")
        for repository in (mine, theirs):
            started(repository, ttl_seconds=1)
            append(repository, numbered(1, 2))
        archive(mine, "e1")
        append(mine, numbered(3, 3))
        assert shape(theirs.read("s")) == ["e1", "e2"]
        assert mine.delete("s")
        assert theirs.delete("s") is True
        started(theirs, ttl_seconds=1)
        assert mine.delete_expired(current(theirs).record.created_at.plus_seconds(99)) == 0
        assert theirs.find("s") is not None
        assert mine.list_by_user("alice") == []

    def test_an_id_of_another_session_is_free_in_this_one(self, repository: SessionRepository) -> None:
        one, two = started(repository, "one"), started(repository, "two")
        append(repository, [said("x", "e")], "one")
        assert repository.find_event(two, "e") is None
        assert append(repository, [said("y", "e")], "two").events[0].replayed is False
        assert [_text(repository.find_event(session, "e")) for session in (one, two)] == ["x", "y"]


def _tell_apart(sessions: list[tuple[SessionRepository, str, str]]) -> None:
    """Each session is new although the others exist, and holds only its own event, which is told
    by a text that no other has; deleting some leaves the rest."""
    for repository, session_id, mark in sessions:
        created = started(repository, session_id, metadata={"mark": mark})
        assert created.id == session_id
        append(repository, [said(mark, "e")], session_id)
    for repository, session_id, mark in sessions:
        assert [e.message.text for e in repository.read(session_id)] == [mark]
        assert _mark(repository.find(session_id)) == mark
    for repository, session_id, _ in sessions[::2]:
        assert repository.delete(session_id)
    left = [mark for repository, session_id, mark in sessions if _mark(repository.find(session_id)) == mark]
    assert left == [mark for _, _, mark in sessions[1::2]]


def _mark(session: StoredSession | None) -> object:
    return None if session is None else session.record.metadata["mark"]


def _text(event: SessionEvent | None) -> str | None:
    return None if event is None else event.message.text
