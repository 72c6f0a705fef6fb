"""Sessions, versions and ETags (spec/session 1, DESIGN 2)."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.domain.errors import InvalidRequest
from turnlog.domain.exactjson import JsonObject
from turnlog.domain.instant import Instant
from turnlog.domain.session import DEFAULT_TTL_SECONDS, ETag, Session, SessionChanges, StoredSession, Version
from turnlog.testing.builders import START

numbers = st.integers(0, 10**19 - 1)
versions = st.builds(Version, numbers, numbers, numbers)
small = st.builds(Version, st.integers(0, 2), st.integers(0, 2), st.integers(0, 2))


def test_a_built_session_has_the_defaults_of_the_spec() -> None:
    session = Session.build(id=None, user_id="alice", now=START)
    assert len(session.id) == 36
    assert session.created_at == START
    assert session.expires_at == START.plus_seconds(DEFAULT_TTL_SECONDS)
    assert (session.metadata, session.compaction, session.allow_system_messages) == ({}, None, None)
    assert Session.build(id=" \t", user_id="alice", now=START).id != session.id


def test_an_id_with_text_is_taken_as_it_is_and_any_lifetime_too() -> None:
    session = Session.build(id=" s 1 ", user_id=" u ", now=START, ttl_seconds=-5, metadata={"a": 1})
    assert (session.id, session.user_id, session.metadata) == (" s 1 ", " u ", {"a": 1})
    assert session.expires_at == START.plus_seconds(-5)


@pytest.mark.parametrize("user_id", [None, "", " \n"])
def test_a_session_has_an_owner(user_id: str | None) -> None:
    with pytest.raises(InvalidRequest, match="user_id"):
        Session.build(id="s", user_id=user_id, now=START)


def test_a_session_is_gone_from_the_instant_of_its_expiry_on() -> None:
    session = Session.build(id="s", user_id="u", now=START, ttl_seconds=10)
    expiry = START.plus_seconds(10)
    assert not session.expired(Instant.of_ns(expiry.ns - 1))
    assert session.expired(expiry)
    assert not replace(session, expires_at=None).expired(START.plus_seconds(10**9))


def test_changes_lay_over_the_record_what_they_name() -> None:
    policy = JsonObject.of({"strategy": 1})
    session = Session("s", "u", START, START, JsonObject.of({"a": 1}), policy, True)
    assert session.changed(SessionChanges()) == session
    assert session.changed(SessionChanges(metadata=JsonObject.of({}))) == replace(session, metadata=JsonObject.of({}))
    assert session.changed(SessionChanges(expires_at=START.plus_seconds(1))) == session
    assert session.changed(SessionChanges(set_expires_at=True)) == replace(session, expires_at=None)
    assert session.changed(SessionChanges(set_compaction=True)) == replace(session, compaction=None)
    cleared = session.changed(SessionChanges(set_allow_system_messages=True))
    assert cleared == replace(session, allow_system_messages=None)


@given(versions, st.none() | numbers)
def test_an_etag_comes_back_from_its_text(version: Version, rev: int | None) -> None:
    assert ETag.parse(version.etag(rev)) == ETag(version, rev)
    assert ETag.parse(f"  {version.etag(rev)} ") == ETag(version, rev)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "*",
        '"1.2"',
        "1.2.3",
        'W/"1.2.3"',
        '"1.2.3.4.5"',
        '"-1.2.3"',
        '"1.2.3" "1.2.3"',
        '"1.2.x"',
        '"١.2.3"',
        '"1.2.3\n"',
        '"' + "1" * 20 + '.2.3"',
    ],
)
def test_a_text_that_is_none_of_our_etags_is_none(text: str) -> None:
    assert ETag.parse(text) is None


@given(versions)
def test_the_number_of_a_version_counts_events_and_passes(version: Version) -> None:
    assert version.number == version.last_seq + version.generation


@given(small, small)
def test_a_version_is_reached_by_a_later_life_or_by_one_that_shows_as_much(wanted: Version, seen: Version) -> None:
    shows_as_much = seen.last_seq >= wanted.last_seq and seen.generation >= wanted.generation
    reached = seen.inc > wanted.inc or (seen.inc == wanted.inc and shows_as_much)
    assert wanted.reached_by(seen) == reached


def test_a_stored_session_has_its_records_id() -> None:
    assert StoredSession(Session("s", "u", START, None), Version(1, 0, 0)).id == "s"
