"""Lives: what stands in the table after a create, a change and an end, step by step."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.support.scripted.process import CRASH_AFTER, LOST, THROTTLED, Crash, Process, Race, Torn, World
from turnlog.domain.errors import (
    Conflict,
    IdempotencyKeyReused,
    PreconditionFailed,
    SessionExists,
    SessionNotFound,
    StoreUnavailable,
)
from turnlog.domain.event import EventDraft
from turnlog.domain.exactjson import JsonObject
from turnlog.domain.instant import NS
from turnlog.domain.message import Message
from turnlog.domain.ports import AppendRequest, IdempotencyKey
from turnlog.domain.session import SessionChanges
from turnlog.stores.dynamodb import keys
from turnlog.stores.dynamodb.items import Commit, Head
from turnlog.stores.dynamodb.lives import KEEP_DEAD_SECONDS
from turnlog.testing.builders import START, a_session

PK = keys.session_pk("acme", "s")
TOKEN = IdempotencyKey(b"k" * 16, b"r" * 16)


@pytest.fixture
def world() -> World:
    return World()


def head(world: World) -> Head:
    item = world.table.at((PK, keys.HEAD))
    assert item is not None
    return Head.of(item, "s")


def append(world: World, text: str = "x") -> None:
    Process(world).repository.append(AppendRequest("s", (EventDraft(Message.user(text)),), START))


def entry(world: World, user: str = "alice") -> object:
    return (world.table.at((keys.user_pk("acme", user), keys.list_sk("s"))) or {}).get("inc")


def changes(label: str) -> SessionChanges:
    return SessionChanges(metadata=JsonObject.of({"label": label}))


def label(world: World) -> object:
    return head(world).record.metadata["label"]


def crash(world: World, call: int, work: Callable[[Process], object]) -> Process:
    """Work that dies right after one of its calls."""
    process = Process(world, {call: [CRASH_AFTER]})
    with pytest.raises(Crash):
        work(process)
    return process


# ------------------------------------------------------------------ create


def test_a_create_is_a_look_and_one_transaction_with_the_list(world: World) -> None:
    process = Process(world)
    stored = process.repository.create(a_session(), now=START)
    assert process.calls == ["query", "transact"]
    assert stored.version.inc == START.ms == entry(world)
    assert (head(world).prev_inc, head(world).deleted) == (0, False)


def test_the_next_life_is_later_than_the_last_even_when_clocks_are_not(world: World) -> None:
    """The inc is the time, but never less than one more than the life before; that is named too."""
    repository = Process(world).repository
    first = repository.create(a_session(), now=START).version.inc
    repository.delete("s")
    second = repository.create(a_session(), now=START.plus_seconds(-3600)).version.inc
    assert (second, head(world).prev_inc) == (first + 1, first)
    repository.delete("s")
    late = START.plus_seconds(60)
    assert repository.create(a_session(now=late), now=late).version.inc == late.ms


def test_a_life_is_later_than_commits_whose_head_is_gone(world: World) -> None:
    """The TTL removed the head; its commits wait for the purge."""
    repository = Process(world).repository
    first = repository.create(a_session(), now=START).version.inc
    append(world)
    repository.delete("s")
    world.table._store({(PK, keys.HEAD): None})
    assert repository.find("s") is None
    assert repository.create(a_session(), now=START).version.inc == first + 1
    assert repository.read("s") == []


def test_a_create_on_an_expired_session_ends_that_first(world: World) -> None:
    """Mark, closing commit, new head, in this order; a crash between any two is completed."""
    process = Process(world)
    process.repository.create(a_session(ttl_seconds=60), now=START)
    append(world)
    late = START.plus_seconds(60)
    with pytest.raises(SessionExists):
        process.repository.create(a_session(), now=START.plus_seconds(59))
    old = head(world).inc
    process.calls = []
    fresh = process.repository.create(a_session(user_id="bob", now=late), now=late)
    assert process.calls == ["query", "update", "query", "put", "transact"]
    closing = world.table.at((PK, keys.commit_sk(old, 2)))
    assert closing is not None
    assert Commit.of(closing).is_closing
    assert fresh.version.inc > old


def test_a_create_whose_answer_is_lost_finds_its_own_session(world: World) -> None:
    """And not only by the token, which the caller may not have sent."""
    process = Process(world, {1: [LOST]})
    stored = process.repository.create(a_session(), now=START)
    assert stored.version == head(world).stored(0).version
    assert process.calls == ["query", "transact", "query"]
    with pytest.raises(SessionExists):
        Process(world).repository.create(a_session(), now=START)


def test_an_expiry_that_is_put_off_meanwhile_keeps_the_session(world: World) -> None:
    """The mark is guarded: what looked expired is alive again, so the create is refused."""
    Process(world).repository.create(a_session(ttl_seconds=60), now=START)
    late = START.plus_seconds(60)
    longer = SessionChanges(set_expires_at=True, expires_at=None)
    put_off = Race(lambda: Process(world).repository.update("s", longer, now=START))
    with pytest.raises(SessionExists):
        Process(world, {1: [put_off]}).repository.create(a_session(user_id="bob"), now=late)
    assert (head(world).deleted, head(world).record.user_id) == (False, "alice")


def test_a_token_gives_its_own_session_again_and_no_other(world: World) -> None:
    repository = Process(world).repository
    first = repository.create(a_session(), now=START, token=TOKEN)
    assert repository.create(a_session(), now=START, token=TOKEN) == first
    with pytest.raises(IdempotencyKeyReused):
        repository.create(a_session(), now=START, token=IdempotencyKey(TOKEN.key, b"z" * 16))
    with pytest.raises(SessionExists):
        repository.create(a_session(user_id="bob"), now=START, token=TOKEN)
    repository.delete("s")
    with pytest.raises(Conflict):
        repository.create(a_session(), now=START, token=TOKEN)


def test_a_list_entry_of_a_later_life_is_never_replaced_by_an_earlier_one(world: World) -> None:
    """Left behind by a clock ahead of ours; the new life goes beyond it."""
    place = keys.user_pk("acme", "alice"), keys.list_sk("s")
    world.table._store({place: {"pk": place[0], "sk": place[1], "gpk": place[0], "inc": START.ms + 50}})
    stored = Process(world).repository.create(a_session(), now=START)
    assert stored.version.inc == START.ms + 51 == entry(world)


# ------------------------------------------------------------------ change


def test_a_change_whose_answer_is_lost_is_not_made_twice(world: World) -> None:
    Process(world).repository.create(a_session(), now=START)
    process = Process(world, {1: [LOST]})
    stored = process.repository.update("s", changes("a"), now=START, if_rev=0)
    assert (stored.rev, head(world).rev, label(world)) == (1, 1, "a")


def test_a_change_that_lost_a_race_is_made_on_the_newer_record(world: World) -> None:
    Process(world).repository.create(a_session(), now=START)
    other = Race(lambda: Process(world).repository.update("s", SessionChanges(set_expires_at=True), now=START))
    Process(world, {1: [other]}).repository.update("s", changes("a"), now=START)
    assert (label(world), head(world).record.expires_at, head(world).rev) == ("a", None, 2)
    with pytest.raises(PreconditionFailed):
        Process(world, {1: [other]}).repository.update("s", changes("b"), now=START, if_rev=2)
    assert label(world) == "a"


def test_a_change_of_a_session_that_ends_meanwhile_is_not_found(world: World) -> None:
    Process(world).repository.create(a_session(), now=START)
    for work in (lambda: Process(world).repository.delete("s"), lambda: None):
        with pytest.raises(SessionNotFound):
            Process(world, {1: [Race(work)]}).repository.update("s", changes("a"), now=START)
    assert head(world).deleted


def test_an_expired_session_is_not_changed(world: World) -> None:
    Process(world).repository.create(a_session(ttl_seconds=60), now=START)
    with pytest.raises(SessionNotFound):
        Process(world).repository.update("s", changes("a"), now=START.plus_seconds(60))


def test_a_save_moves_the_session_to_its_new_owners_list(world: World) -> None:
    """Whichever call the save dies after, and however often its answer is lost: the next one completes it."""
    for script in ({1: [LOST]}, {1: [CRASH_AFTER]}, {2: [CRASH_AFTER]}, {}):
        world = World()
        inc = Process(world).repository.create(a_session(), now=START).version.inc
        try:
            Process(world, script).repository.save(a_session(user_id="bob"))
        except Crash:
            Process(world).repository.save(a_session(user_id="bob"))
        assert entry(world, "bob") == inc
        repository = Process(world).repository
        assert [s.id for s in repository.list_by_user("bob")] == ["s"]
        assert repository.list_by_user("alice") == []


def test_a_save_keeps_the_list_entry_as_it_is(world: World) -> None:
    """Only a missing one is written: the activity in it is not the save's to reset."""
    Process(world).repository.create(a_session(), now=START)
    place = keys.user_pk("acme", "alice"), keys.list_sk("s")
    world.table._store({place: {**(world.table.at(place) or {}), "activity": "9" * 13}})
    Process(world).repository.save(a_session())
    assert (world.table.at(place) or {})["activity"] == "9" * 13


# ------------------------------------------------------------------ end


def test_a_delete_marks_the_head_closes_the_log_and_clears_the_list(world: World) -> None:
    Process(world).repository.create(a_session(), now=START)
    append(world)
    process = Process(world)
    assert process.repository.delete("s")
    assert process.calls == ["query", "update", "query", "put", "delete"]
    dead = world.table.at((PK, keys.HEAD)) or {}
    assert dead["deleted"] is True
    assert dead["expires"] == world.now().ns // NS + KEEP_DEAD_SECONDS
    assert entry(world) is None
    assert not process.repository.delete("s")


@pytest.mark.parametrize("call", range(1, 5))
def test_a_repeated_delete_completes_what_a_crash_left(world: World, call: int) -> None:
    """After the mark every reader says 404; the repeated DELETE says so too, but finishes first."""
    Process(world).repository.create(a_session(), now=START)
    append(world)
    crash(world, call, lambda process: process.repository.delete("s"))
    assert Process(world).repository.find("s") is None
    assert not Process(world).repository.delete("s")
    closing = world.table.at((PK, keys.commit_sk(head(world).inc, 2)))
    assert closing is not None
    assert Commit.of(closing).is_closing
    assert entry(world) is None


def test_the_closing_commit_walks_on_behind_writers_that_are_still_on_their_way(world: World) -> None:
    """They read the head before the mark; each takes a slot, and the end comes after them."""
    Process(world).repository.create(a_session(), now=START)
    late_writer = Process(world)
    view = late_writer.repository._viewer.look("s", consistent=True)

    def put() -> None:
        request = AppendRequest("s", (EventDraft(Message.user("late")),), START)
        judged = late_writer.repository._appender._judge(request, view)
        commit = late_writer.repository._appender._commit(request, view, judged, b"late-cid")
        world.table._store({commit.key: commit.item()})

    process = Process(world, {3: [Race(put)]})
    assert process.repository.delete("s")
    log = [Commit.of(world.table.at(key) or {}) for key in world.table.keys(PK, keys.LOG_FROM, "F")]
    assert [(c.first, c.is_closing) for c in log] == [(1, False), (2, True)]
    with pytest.raises(SessionNotFound):
        append(world)


def test_a_delete_that_cannot_close_does_not_answer(world: World) -> None:
    """The mark stands, so nobody sees the session; but the caller is told to come again."""
    Process(world).repository.create(a_session(), now=START)
    with pytest.raises(StoreUnavailable):
        Process(world, {n: [THROTTLED] for n in range(3, 900)}).repository.delete("s")
    assert Process(world).repository.find("s") is None


def test_only_what_expired_before_the_instant_is_deleted(world: World) -> None:
    """Strictly before, live heads only, this tenant only; what is extended meanwhile stays."""
    repository, other = Process(world).repository, Process(world, tenant="other").repository
    for name, seconds in (("a", 10), ("b", 20), ("c", 30)):
        repository.create(a_session(name, ttl_seconds=seconds), now=START)
    repository.create(a_session("d", ttl_seconds=None), now=START)
    other.create(a_session("a", ttl_seconds=10), now=START)
    repository.delete("a")
    assert repository.delete_expired(START.plus_seconds(20)) == 0
    assert repository.delete_expired(START.plus_seconds(21)) == 1
    assert [bool(repository.find(name)) for name in "abcd"] == [False, False, True, True]
    assert other.find("a") is not None
    longer = SessionChanges(set_expires_at=True, expires_at=None)
    put_off = Race(lambda: Process(world).repository.update("c", longer, now=START))
    assert Process(world, {2: [put_off]}).repository.delete_expired(START.plus_seconds(60)) == 0
    assert repository.find("c") is not None


def test_a_torn_look_at_a_new_life_is_looked_at_again(world: World) -> None:
    """The head of the old life, and then the newest commit of the new one."""
    repository = Process(world).repository
    repository.create(a_session(), now=START)
    append(world, "old")

    def again() -> None:
        Process(world).repository.delete("s")
        Process(world).repository.create(a_session(user_id="bob"), now=START)
        append(world, "new")

    process = Process(world, {0: [Torn(again, split=1)]})
    found = process.repository.find("s")
    assert found is not None
    assert (found.record.user_id, found.version.last_seq) == ("bob", 1)
    assert process.calls == ["query", "query"]


def test_a_record_is_saved_on_an_expired_session_as_on_any_other(world: World) -> None:
    """At the port expiry is passive (spec 1.6)."""
    repository = Process(world).repository
    first = repository.create(a_session(ttl_seconds=1), now=START)
    append(world)
    saved = repository.save(replace(a_session(), created_at=START.plus_seconds(9)))
    assert saved.version == replace(first.version, last_seq=1)
    assert saved.record.created_at == START
