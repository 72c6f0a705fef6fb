"""Sessions through the client: every method, against a server that stores."""

from __future__ import annotations

import pytest

from tests.support.fake_api import FakeApi
from turnlog.client import (
    UNSET,
    Client,
    IdempotencyKeyReused,
    Instant,
    InvalidRequest,
    PreconditionFailed,
    SessionExists,
    SessionNotFound,
    user,
)

POLICY = {
    "trigger": {"type": "turn_count", "max_turns": 20},
    "strategy": {"type": "turn_window", "max_turns": 10},
}


def test_a_created_session_is_answered_whole(client: Client) -> None:
    """What was asked for, what the server added, and a tag for If-Match."""
    info = client.session("s1").create(
        ttl_seconds=3600, metadata={"title": "Billing"}, compaction=POLICY, allow_system_messages=True
    )

    assert ("s1", "ann", {"title": "Billing"}, POLICY, True) == (
        info.id,
        info.user_id,
        info.metadata,
        info.compaction,
        info.allow_system_messages,
    )
    assert (0, 0, 0) == (info.version, info.last_seq, info.generation)
    assert isinstance(info.created_at, Instant)
    assert info.expires_at == info.created_at.plus_seconds(3600)
    assert info == client.session("s1").get()


def test_what_is_not_given_is_not_sent(client: Client, api: FakeApi) -> None:
    """The server's defaults stay the server's."""
    client.session("s1").create()

    assert b'{"id":"s1"}' == api.requests[0].content


def test_a_session_without_an_id_gets_one_and_makes_no_request(client: Client, api: FakeApi) -> None:
    """Two are two."""
    assert client.session().id != client.session().id
    assert [] == api.requests


def test_a_taken_id_is_a_conflict_that_names_it(client: Client) -> None:
    """Create never takes a session over."""
    client.session("s1").create()

    with pytest.raises(SessionExists) as caught:
        client.session("s1").create()

    assert "s1" == caught.value.id


def test_a_key_of_ones_own_makes_create_repeatable(client: Client) -> None:
    """From another process too; with another request it is refused."""
    first = client.session("s1").create(ttl_seconds=600, idempotency_key="k1")

    assert first == client.session("s1").create(ttl_seconds=600, idempotency_key="k1")
    with pytest.raises(IdempotencyKeyReused):
        client.session("s1").create(ttl_seconds=601, idempotency_key="k1")


def test_an_unknown_session_is_named_in_the_error(client: Client) -> None:
    """Whatever the server says about it."""
    with pytest.raises(SessionNotFound) as caught:
        client.session("nobody").get()

    assert "nobody" == caught.value.session_id


def test_update_changes_what_is_given_and_none_clears(client: Client, api: FakeApi) -> None:
    """UNSET leaves a field alone."""
    session = client.session("s1")
    session.create(metadata={"a": 1}, compaction=POLICY, allow_system_messages=False)

    info = session.update(ttl_seconds=None, compaction=None, allow_system_messages=None)

    assert b'{"ttl_seconds":null,"compaction":null,"allow_system_messages":null}' == api.requests[-1].content
    assert ({"a": 1}, None, None, None) == (
        info.metadata,
        info.expires_at,
        info.compaction,
        info.allow_system_messages,
    )


def test_update_replaces_metadata_whole(client: Client) -> None:
    """A map is not merged."""
    session = client.session("s1")
    session.create(metadata={"a": 1, "b": 2})

    assert {"c": 3} == session.update(metadata={"c": 3}, ttl_seconds=UNSET).metadata
    assert {} == session.update(metadata={}).metadata


def test_none_clears_metadata(client: Client, api: FakeApi) -> None:
    """Like every other field of an update."""
    session = client.session("s1")
    session.create(metadata={"a": 1})

    assert {} == session.update(metadata=None).metadata
    assert b'{"metadata":null}' == api.requests[-1].content


def test_an_update_under_an_old_tag_is_refused_with_the_current_one(client: Client) -> None:
    """Two writers: the second learns what it missed."""
    session = client.session("s1")
    old = session.create()
    new = session.update(metadata={"by": "first"}, if_match=old.etag)

    with pytest.raises(PreconditionFailed) as caught:
        session.update(metadata={"by": "second"}, if_match=old.etag)

    assert (new.etag, 0) == (caught.value.version, caught.value.number)
    assert {"by": "first"} == session.get().metadata


def test_a_deleted_session_is_gone(client: Client) -> None:
    """Deleting it again says so."""
    session = client.session("s1")
    session.create()
    assert session.delete() is None

    with pytest.raises(SessionNotFound):
        session.get()
    with pytest.raises(SessionNotFound):
        session.delete()


def test_delete_keeps_to_its_tag(client: Client) -> None:
    """A session that has moved on is not deleted."""
    session = client.session("s1")
    old = session.create()
    session.append(user("wait"))

    with pytest.raises(PreconditionFailed):
        session.delete(if_match=old.etag)

    session.delete(if_match=session.get().etag)


def test_sessions_are_listed_newest_first_over_all_pages(client: Client, api: FakeApi) -> None:
    """Five sessions, two a request, three requests."""
    for i in range(5):
        client.session(f"s{i}").create(metadata={"i": i})
    api.requests.clear()

    listed = list(client.sessions(page_size=2))

    assert ["s4", "s3", "s2", "s1", "s0"] == [row.id for row in listed]
    assert [{"i": 4}, listed[0].created_at] == [listed[0].metadata, listed[0].last_activity]
    assert 3 == len(api.requests)


def test_sessions_can_be_listed_in_the_other_order(client: Client) -> None:
    """Oldest first."""
    for i in range(3):
        client.session(f"s{i}").create()

    assert ["s0", "s1", "s2"] == [row.id for row in client.sessions(order="asc", order_by="created")]


@pytest.mark.parametrize("id", ["", ".", "..", "a/b", "a?b", "a#b", "a b", "é", "~x", "x" * 129, "a%2Fb", "a\n"])
def test_an_id_that_would_name_another_resource_never_leaves(client: Client, api: FakeApi, id: str) -> None:
    """``/v1/sessions/..`` is not below ``/v1/sessions``."""
    with pytest.raises(InvalidRequest) as caught:
        client.session(id)

    assert ["path:sid"] == [e.pointer for e in caught.value.errors]
    assert [] == api.requests


@pytest.mark.parametrize("id", ["a.b:c_d-e", "...", "x" * 128])
def test_an_odd_id_of_the_alphabet_works(client: Client, id: str) -> None:
    """Everything that the API takes."""
    client.session(id).create()

    assert id == client.session(id).get().id
