"""Records of sessions: create, save, find, list, update, delete, expiry (spec/session 1)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ...domain.errors import (
    Conflict,
    IdempotencyKeyReused,
    InvalidRequest,
    PreconditionFailed,
    SessionExists,
    SessionNotFound,
)
from ...domain.exactjson import JsonObject
from ...domain.instant import Instant
from ...domain.ports import ListOrder, Order, SessionRepository
from ...domain.session import SessionChanges
from ..builders import START, a_session
from .base import Contract, a_key, append, archive, current, said, shape, started

EXPIRY = START.plus_seconds(100)
A_MS_BEFORE_EXPIRY = Instant.of_ms(EXPIRY.ms - 1)


class SessionContract(Contract):
    """The record, its life and its place in the user's list."""

    def test_an_unknown_session_is_empty_and_never_an_error(self, repository: SessionRepository) -> None:
        assert repository.find("s") is None
        assert repository.find("s", consistent=False) is None
        assert repository.read("s") == []
        assert repository.version("s") == 0
        assert repository.window("s") is None
        assert repository.list_by_user("alice") == []
        assert repository.delete("s") is False

    def test_a_created_session_is_found_as_it_was_given(self, repository: SessionRepository) -> None:
        record = replace(
            a_session("s", now=Instant.parse("2026-01-01T00:00:00.120Z")),
            metadata=JsonObject.parse('{"n":1.0,"big":12345678901234567890,"z":{"e":"","l":[],"x":null}}'),
            compaction=JsonObject.parse('{"strategy":{"type":"turn_window","max_turns":4}}'),
            allow_system_messages=True,
        )
        created = repository.create(record, now=record.created_at)
        assert created == current(repository)
        assert created.record == record
        assert created.record.created_at.text == "2026-01-01T00:00:00.120Z"
        assert created.record.metadata.raw == record.metadata.raw
        assert created.rev == 0
        assert (created.version.last_seq, created.version.generation, created.version.number) == (0, 0, 0)

    def test_a_session_that_never_expires_comes_back_so(self, repository: SessionRepository) -> None:
        started(repository, ttl_seconds=None)
        assert current(repository).record.expires_at is None

    def test_create_takes_no_live_session_over(self, repository: SessionRepository) -> None:
        first = started(repository)
        append(repository, "u1")
        with pytest.raises(SessionExists):
            started(repository, user_id="mallory")
        assert current(repository).record == first.record
        assert shape(repository.read("s")) == ["u1"]
        assert repository.list_by_user("mallory") == []

    def test_an_expired_session_is_replaced_from_the_instant_of_its_expiry_on(
        self, repository: SessionRepository
    ) -> None:
        started(repository, ttl_seconds=100)
        with pytest.raises(SessionExists):
            repository.create(a_session("s"), now=A_MS_BEFORE_EXPIRY)
        repository.create(a_session("s", user_id="bob"), now=EXPIRY)
        assert current(repository).record.user_id == "bob"

    def test_the_same_token_again_gives_the_session_that_the_lost_answer_made(
        self, repository: SessionRepository
    ) -> None:
        created = repository.create(a_session("s"), now=START, token=a_key("k"))
        assert repository.create(a_session("s"), now=START.plus_seconds(5), token=a_key("k")) == created

    def test_a_late_retry_does_not_bring_a_deleted_session_back(self, repository: SessionRepository) -> None:
        repository.create(a_session("s"), now=START, token=a_key("k"))
        repository.delete("s")
        with pytest.raises(Conflict):
            repository.create(a_session("s"), now=START, token=a_key("k"))
        assert repository.find("s") is None
        repository.create(a_session("s"), now=START, token=a_key("another key"))
        assert current(repository).version.last_seq == 0

    def test_a_full_last_page_of_the_list_says_that_it_is_the_last(self, repository: SessionRepository) -> None:
        for i in range(4):
            started(repository, f"s{i}")
        page = repository.page_by_user(
            current(repository, "s0").record.user_id, now=START, limit=4, order="asc", order_by="created", token=None
        )
        assert len(page.entries) == 4
        assert page.next_token is None

    def test_a_session_whose_id_sorts_last_is_listed(self, repository: SessionRepository) -> None:
        started(repository, "~~~")
        assert [s.id for s in repository.list_by_user(current(repository, "~~~").record.user_id)] == ["~~~"]

    def test_a_token_with_another_request_is_refused(self, repository: SessionRepository) -> None:
        repository.create(a_session("s"), now=START, token=a_key("k"))
        with pytest.raises(IdempotencyKeyReused):
            repository.create(a_session("s"), now=START, token=a_key("k", "another request"))

    def test_another_token_or_none_is_a_conflict(self, repository: SessionRepository) -> None:
        repository.create(a_session("s"), now=START, token=a_key("k"))
        with pytest.raises(SessionExists):
            repository.create(a_session("s"), now=START, token=a_key("another key"))
        with pytest.raises(SessionExists):
            repository.create(a_session("s"), now=START)

    def test_a_token_shows_nobody_the_session_of_another_user(self, repository: SessionRepository) -> None:
        repository.create(a_session("s"), now=START, token=a_key("k"))
        with pytest.raises(SessionExists):
            repository.create(a_session("s", user_id="mallory"), now=START, token=a_key("k"))

    def test_the_next_life_is_newer_even_if_the_clock_is_not(self, repository: SessionRepository) -> None:
        incs = []
        for now in (START, START, START.plus_seconds(-60)):
            incs.append(repository.create(a_session("s"), now=now).version.inc)
            assert repository.delete("s")
        assert incs == sorted(set(incs))

    def test_a_new_life_shows_nothing_of_the_old_one(self, repository: SessionRepository) -> None:
        old = started(repository)
        server_made = append(repository, [said("old"), said("old", "e1")], key=a_key("k")).events[0].id
        archive(repository, "e1")
        assert repository.delete("s")
        new = started(repository)
        assert (new.version.last_seq, new.version.generation) == (0, 0)
        assert new.version.inc > old.version.inc
        assert repository.read("s") == []
        assert list(repository.walk(new)) == []
        window = repository.window("s")
        assert window is not None
        assert window.events == ()
        assert window.archive.ranges == ()
        assert repository.find_event(new, server_made) is None
        assert repository.find_event(new, "e1") is None
        assert [s.id for s in repository.list_by_user("alice")] == ["s"]

        again = append(repository, [said("new", "e1")], key=a_key("k", "another request"))
        assert [(e.seq, e.replayed) for e in again.events] == [(1, False)]
        assert [e.message.text for e in repository.read("s")] == ["new"]

    def test_a_reader_of_the_old_life_sees_nothing_of_the_new_one(self, repository: SessionRepository) -> None:
        old = started(repository)
        append(repository, "u1")
        assert repository.delete("s")
        with pytest.raises(SessionNotFound):
            list(repository.walk(old))
        started(repository)
        append(repository, "u1 u2")
        assert repository.find_event(old, "u2") is None
        with pytest.raises(SessionNotFound):
            list(repository.walk(old))

    def test_save_inserts_and_updates_the_record_alone(self, repository: SessionRepository) -> None:
        repository.save(a_session("s"))
        append(repository, "u1")
        archive(repository, "u1")
        changed = a_session("s", user_id="bob", now=START.plus_seconds(9), metadata={"tier": 2})
        saved = repository.save(changed)
        assert saved == current(repository)
        assert saved.record == replace(changed, created_at=START)
        assert repository.version("s") == 2
        assert shape(repository.read("s")) == ["-u1"]

    def test_save_after_a_delete_begins_a_new_life(self, repository: SessionRepository) -> None:
        old = repository.save(a_session("s"))
        append(repository, "u1")
        assert repository.delete("s")
        new = repository.save(a_session("s"))
        assert new.version.inc > old.version.inc
        assert repository.read("s") == []

    def test_a_saved_change_of_owner_moves_the_session_to_the_other_list(self, repository: SessionRepository) -> None:
        repository.save(a_session("s"))
        repository.save(a_session("s", user_id="bob"))
        assert repository.list_by_user("alice") == []
        assert [s.id for s in repository.list_by_user("bob")] == ["s"]

    def test_a_list_holds_exactly_that_users_sessions_expired_ones_included(
        self, repository: SessionRepository
    ) -> None:
        for session_id, user in (("1", "u"), ("2", "U"), ("3", "u"), ("4", "u "), ("5", "u")):
            started(repository, session_id, user_id=user, ttl_seconds=0 if session_id == "3" else 60)
        repository.delete("5")
        assert sorted(s.id for s in repository.list_by_user("u")) == ["1", "3"]

    # ------------------------------------------------------------------ update

    def test_an_update_changes_what_it_names_and_counts_as_a_revision(self, repository: SessionRepository) -> None:
        created = started(repository, metadata={"a": 1})
        append(repository, "u1")
        policy = JsonObject.parse('{"trigger":{"type":"turn_count","max_turns":20}}')
        updated = repository.update("s", SessionChanges(set_compaction=True, compaction=policy), now=START)
        assert updated == current(repository)
        assert updated.record == replace(created.record, compaction=policy)
        assert (updated.rev, repository.version("s")) == (1, 1)

        changes = SessionChanges(
            metadata=JsonObject.parse('{"b":2.50}'),
            set_expires_at=True,
            set_compaction=True,
            set_allow_system_messages=True,
            allow_system_messages=False,
        )
        updated = repository.update("s", changes, now=START)
        assert updated.record.metadata.raw == '{"b":2.50}'
        assert updated.record.expires_at is None
        assert updated.record.compaction is None
        assert updated.record.allow_system_messages is False
        assert updated.rev == 2

    def test_an_update_of_another_revision_is_refused_and_says_the_current_one(
        self, repository: SessionRepository
    ) -> None:
        started(repository)
        changes = SessionChanges(metadata=JsonObject.of({"a": 1}))
        repository.update("s", changes, now=START, if_rev=0)
        with pytest.raises(PreconditionFailed) as refused:
            repository.update("s", SessionChanges(metadata=JsonObject.of({"a": 2})), now=START, if_rev=0)
        assert refused.value.version == current(repository).version.etag(1)
        assert refused.value.number == 0
        assert current(repository).record.metadata == {"a": 1}

    def test_an_update_of_a_session_that_is_not_live_is_refused(self, repository: SessionRepository) -> None:
        extend = SessionChanges(set_expires_at=True)
        with pytest.raises(SessionNotFound):
            repository.update("s", extend, now=START)
        started(repository, ttl_seconds=100)
        with pytest.raises(SessionNotFound):
            repository.update("s", extend, now=EXPIRY)
        repository.update("s", extend, now=A_MS_BEFORE_EXPIRY)
        repository.delete("s")
        with pytest.raises(SessionNotFound):
            repository.update("s", extend, now=START)

    # ------------------------------------------------------------------ pages of the list

    @pytest.mark.parametrize("order", ["asc", "desc"])
    def test_the_list_is_paged_by_creation_then_id(self, repository: SessionRepository, order: Order) -> None:
        for session_id, age in (("c", 0), ("b", 1), ("a", 2), ("y", 3), ("x", 3), ("z", 3), ("d", 9)):
            started(repository, session_id, now=START.plus_seconds(age))
        started(repository, "of another user", user_id="bob")
        expected = ["c", "b", "a", "x", "y", "z", "d"]
        found = _page_through(repository, order=order, limit=3)
        assert found == (expected if order == "asc" else expected[::-1])

    def test_the_list_leaves_out_the_dead(self, repository: SessionRepository) -> None:
        for i in range(6):
            started(repository, str(i), now=START.plus_seconds(i), ttl_seconds=1000 - i)
        started(repository, "expired", ttl_seconds=100)
        started(repository, "deleted")
        repository.delete("deleted")
        assert _page_through(repository, limit=2, now=EXPIRY) == ["0", "1", "2", "3", "4", "5"]

    def test_a_list_by_activity_is_complete_too(self, repository: SessionRepository) -> None:
        for i in range(5):
            started(repository, str(i), now=START.plus_seconds(i))
        assert sorted(_page_through(repository, order_by="activity", limit=2)) == ["0", "1", "2", "3", "4"]

    def test_an_entry_of_the_list_is_the_record(self, repository: SessionRepository) -> None:
        record = started(repository, metadata={"title": "Tides"}).record
        page = repository.page_by_user("alice", now=START, limit=5, order="asc", order_by="created", token=None)
        assert [entry.session for entry in page.entries] == [record]
        assert page.next_token is None

    @pytest.mark.parametrize("token", ["", "x", "é", "AAAA", "W10=", "eyJhIjoxfQ=="])
    def test_a_token_that_the_store_never_gave_is_refused(self, repository: SessionRepository, token: str) -> None:
        with pytest.raises(InvalidRequest):
            repository.page_by_user("alice", now=START, limit=5, order="asc", order_by="created", token=token)

    # ------------------------------------------------------------------ end of life

    def test_delete_takes_record_and_log_and_says_whether_there_was_one(self, repository: SessionRepository) -> None:
        before = started(repository)
        append(repository, "u1 a1")
        archive(repository, "u1")
        assert repository.delete("s") is True
        assert repository.delete("s") is False
        assert repository.find("s") is None
        assert repository.read("s") == []
        assert repository.version("s") == 0
        assert repository.window("s") is None
        assert repository.list_by_user("alice") == []
        assert repository.find_event(before, "u1") is None
        with pytest.raises(SessionNotFound):
            append(repository, "u2")

    def test_an_expired_session_works_until_somebody_removes_it(self, repository: SessionRepository) -> None:
        started(repository, ttl_seconds=0)
        append(repository, "u1", now=START.plus_seconds(3600))
        assert shape(repository.read("s")) == ["u1"]
        assert current(repository).version.last_seq == 1

    def test_delete_expired_takes_what_expired_strictly_before(self, repository: SessionRepository) -> None:
        for session_id, ttl in (("past", 99), ("exact", 100), ("future", 101), ("forever", None)):
            started(repository, session_id, ttl_seconds=ttl)
        append(repository, "u1", "past")
        assert repository.delete_expired(EXPIRY) == 1
        assert repository.find("past") is None
        assert repository.read("past") == []
        assert sorted(s.id for s in repository.list_by_user("alice")) == ["exact", "forever", "future"]
        assert repository.delete_expired(EXPIRY) == 0


def _page_through(
    repository: SessionRepository,
    *,
    limit: int,
    order: Order = "asc",
    order_by: ListOrder = "created",
    now: Instant = START,
) -> list[str]:
    found: list[str] = []
    token: str | None = None
    for _ in range(50):
        page = repository.page_by_user("alice", now=now, limit=limit, order=order, order_by=order_by, token=token)
        assert len(page.entries) <= limit
        found += [entry.session.id for entry in page.entries]
        token = page.next_token
        if token is None:
            return found
    raise AssertionError("the list does not end")
