"""Appends: what each costs, what a lost race leads to, and ids that are never forgotten."""

import pytest

from tests.support.scripted.process import CONFLICT, LOST, THROTTLED, Process, Race, Script, Stale, World
from turnlog.domain import ids
from turnlog.domain.errors import (
    EventIdReused,
    IdempotencyKeyReused,
    InvalidRequest,
    PreconditionFailed,
    SessionNotFound,
    StoreUnavailable,
)
from turnlog.domain.event import EventDraft
from turnlog.domain.message import Message
from turnlog.domain.ports import AppendRequest, AppendResult, CompactionPlan, IdempotencyKey
from turnlog.service import SessionService
from turnlog.stores.dynamodb import append as module
from turnlog.stores.dynamodb import keys
from turnlog.testing.builders import START, a_session

KEY = IdempotencyKey(b"k" * 16, b"r" * 16)


@pytest.fixture
def world() -> World:
    """A table with one session."""
    world = World()
    Process(world).repository.create(a_session(), now=START)
    return world


def said(text: str, id: str | None = None) -> EventDraft:
    return EventDraft(Message.user(text), id=id)


def numbered(first: int, last: int) -> list[EventDraft]:
    return [said(str(i), f"e{i}") for i in range(first, last + 1)]


def append(process: Process, *drafts: EventDraft, key: IdempotencyKey | None = None) -> AppendResult:
    return process.repository.append(AppendRequest("s", drafts, START, key))


def calls(world: World, script: Script, *drafts: EventDraft, key: IdempotencyKey | None = None) -> list[str]:
    """The calls of an append under a script."""
    process = Process(world, script)
    append(process, *drafts, key=key)
    return process.calls


def race(world: World, *drafts: EventDraft) -> Race:
    return Race(lambda: append(Process(world), *drafts))


def texts(world: World) -> list[str | None]:
    return [e.message.text for e in Process(world).repository.read("s")]


# ------------------------------------------------------------------ costs (DESIGN 9)


def test_an_append_is_a_look_and_a_put(world: World) -> None:
    assert calls(world, {}, said("a"), said("b")) == ["query", "put"]
    assert calls(world, {}, *numbered(1, 30)) == ["query", "put"]
    assert calls(world, {}, said("c"), key=KEY) == ["query", "put"]


def test_a_lost_race_costs_one_request_more(world: World) -> None:
    assert calls(world, {1: [race(world, said("first"))]}, said("second", "e")) == ["query", "put", "put"]
    assert texts(world) == ["first", "second"]


def test_ids_behind_blocks_cost_one_request_more_for_each_process(world: World) -> None:
    append(Process(world), *numbered(1, 40))
    append(Process(world), *numbered(41, 80))
    process = Process(world)
    append(process, said("x", "x"))
    assert process.calls == ["query", "query", "put"]
    append(process, said("y", "y"))
    assert process.calls[3:] == ["query", "put"], "blocks never change, so they are read once"


def test_a_large_body_lies_in_the_blob_store_before_the_item_that_names_it(world: World) -> None:
    noise = "".join(chr(0x4E00 + i * 7919 % 20_000) for i in range(module.BLOB_ABOVE))
    assert calls(world, {}, said(noise)) == ["query", "put_blob", "put"]
    assert texts(world) == [noise]


# ------------------------------------------------------------------ outcomes


@pytest.mark.parametrize("fault", [LOST, THROTTLED, CONFLICT], ids=lambda fault: fault.value)
def test_an_unknown_outcome_is_asked_for_again_under_the_same_name(world: World, fault: object) -> None:
    """The store does this by itself: a caller without ids or key could not."""
    assert calls(world, {1: [fault], 2: [fault]}, said("x"), said("x")) == ["query", "put", "put", "put"]  # type: ignore[list-item]
    assert texts(world) == ["x", "x"]


def test_who_cannot_win_in_time_is_told_to_come_again(world: World) -> None:
    """Losing every race for ten seconds, with nothing written."""

    def others() -> None:
        world.sleep(0.2)
        append(Process(world), said("other"))

    process, began = Process(world, {n: [Race(others)] for n in range(1, 200)}), world.seconds
    with pytest.raises(StoreUnavailable) as busy:
        append(process, said("mine"))
    assert busy.value.retry_after >= 1
    assert 10 <= world.seconds - began < 12
    assert set(texts(world)) == {"other"}


def test_a_replay_is_answered_only_from_a_consistent_look(world: World) -> None:
    append(Process(world), said("a", "e"))
    process = Process(world, {0: [Stale((1,))]})
    result = append(process, said("a", "e"))
    assert [(e.seq, e.replayed) for e in result.events] == [(1, True)]
    assert texts(world) == ["a"]


def test_a_replay_from_an_ended_life_is_not_answered(world: World) -> None:
    """The stale look shows the session and the event; both are gone."""
    append(Process(world), said("a", "e"))
    lag = world.table.now
    Process(world).repository.delete("s")
    stale = Process(world, {0: [Stale((world.table.now - lag,))]})
    with pytest.raises(SessionNotFound):
        append(stale, said("a", "e"))


def test_a_refusal_is_given_only_after_a_consistent_look(world: World) -> None:
    """A stale view has neither the session nor, later, its newest event."""
    process = Process(world, {0: [Stale((99,))]})
    assert append(process, said("a")).version.last_seq == 1
    service = SessionService(Process(world, {0: [Stale((1,))]}).repository, clock=world)
    tag = append(Process(world), said("b")).version.etag()
    assert service.append("alice", "s", (said("c"),), if_match=(tag,)).version.last_seq == 3


def test_a_tail_that_is_older_than_its_blocks_loses_its_slot(world: World) -> None:
    """Blocks are read consistently, the tail is not: then the fold is beyond the commit's own events."""
    for first in (1, 41, 81):
        append(Process(world), *numbered(first, first + 39))
    stale = Process(world, {0: [Stale((1,))]})
    assert append(stale, said("new", "new")).version.last_seq == 121
    assert "put" in stale.calls


def test_a_writer_of_an_ended_life_meets_its_end(world: World) -> None:
    """It believes in the life that a stale read showed; its slot there is taken by the closing commit."""
    append(Process(world), said("old"))
    lag = world.table.now
    assert Process(world).repository.delete("s")
    Process(world).repository.create(a_session(), now=START)
    stale = Process(world, {0: [Stale((world.table.now - lag,))]})
    result = append(stale, said("new"))
    assert (texts(world), result.version.last_seq) == (["new"], 1)
    assert Process(world).repository.delete("s")
    with pytest.raises(SessionNotFound):
        append(Process(world, {0: [Stale((2,))]}), said("later"))


def test_a_winner_that_knew_of_a_later_pass_makes_the_loser_look_again(world: World) -> None:
    """The loser's head is older than the tail that it is handed; its own commit must not say so."""
    append(Process(world), said("a", "a"))

    def others() -> None:
        assert Process(world).repository.apply_compaction("s", CompactionPlan(frozenset({"a"})), 1, now=START)
        append(Process(world), said("b"))

    process = Process(world, {1: [Race(others)]})
    assert append(process, said("c")).version.generation == 1
    assert process.calls == ["query", "put", "query", "put"]


def test_a_guard_is_asked_again_after_a_lost_race(world: World) -> None:
    service = SessionService(Process(world, {1: [race(world, said("quick"))]}).repository, clock=world)
    found = Process(world).repository.find("s")
    assert found is not None
    with pytest.raises(PreconditionFailed) as changed:
        service.append("alice", "s", (said("slow"),), if_match=(found.version.etag(),))
    current = Process(world).repository.find("s")
    assert current is not None
    assert (changed.value.version, changed.value.number) == (current.version.etag(), 1)
    assert texts(world) == ["quick"]


def test_a_key_is_looked_for_again_after_a_lost_race(world: World) -> None:
    """The winner was our own request, sent twice."""
    twin = Race(lambda: append(Process(world), said("x"), key=KEY))
    process = Process(world, {1: [twin]})
    assert append(process, said("x"), key=KEY).version.last_seq == 1
    assert texts(world) == ["x"]


# ------------------------------------------------------------------ ids


@pytest.mark.slow
def test_after_thousands_of_later_events_an_id_still_means_the_first(world: World) -> None:
    """Alone, in a batch of old and new, and with other content; from a process that knows nothing."""
    writer = Process(world)
    append(writer, said("first", "first"))
    for i in range(0, 5_000, 50):
        append(writer, *numbered(i + 1, i + 50))
    service = SessionService(Process(world).repository, clock=world)
    again = service.append("alice", "s", (said("first", "first"),))
    assert [(e.seq, e.replayed) for e in again.events] == [(1, True)]
    mixed = service.append("alice", "s", (*numbered(4_990, 4_990), said("new", "new"), said("first", "first")))
    assert [(e.seq, e.replayed) for e in mixed.events] == [(4_991, True), (5_002, False), (1, True)]
    with pytest.raises(EventIdReused) as reused:
        service.append("alice", "s", (said("newer"), said("other", "first")))
    assert (reused.value.id, reused.value.errors[0].pointer) == ("first", "/events/1/id")
    assert len(texts(world)) == 5_002


def test_other_content_under_an_id_is_refused_wherever_the_id_lies(world: World) -> None:
    """On the newest commit, on an older one, in a block."""
    for first in (1, 21, 41, 61):
        append(Process(world), *numbered(first, first + 19))
    service = SessionService(Process(world).repository, clock=world)
    for known in (1, 33, 64, 65, 80):
        with pytest.raises(EventIdReused):
            service.append("alice", "s", (said("other", f"e{known}"),))
        replay = service.append("alice", "s", (said(str(known), f"e{known}"),))
        assert [(e.seq, e.replayed) for e in replay.events] == [(known, True)]


def test_ids_of_one_hash_are_told_apart(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every id suggests every other; the events decide."""
    for place in ("append", "known", "idblocks"):
        monkeypatch.setattr(f"turnlog.stores.dynamodb.{place}.hash_id", lambda event_id: b"same!")
    append(Process(world), *numbered(1, 6))
    result = append(Process(world), *numbered(5, 7), said("n", "n"))
    assert [(e.seq, e.replayed) for e in result.events] == [(5, True), (6, True), (7, False), (8, False)]


def test_a_key_with_another_request_is_refused_from_a_block_too(world: World) -> None:
    append(Process(world), said("x"), key=KEY)
    for first in (1, 41):
        append(Process(world), *numbered(first, first + 39))
    assert append(Process(world), said("x"), key=KEY).version.last_seq == 1
    with pytest.raises(IdempotencyKeyReused):
        append(Process(world), said("y"), key=IdempotencyKey(KEY.key, b"z" * 16))


def test_a_server_id_replays_its_event_and_is_never_taken_for_a_new_one(world: World) -> None:
    version = append(Process(world), said("a")).version
    replay = append(Process(world), said("a", ids.logged(version.inc, 1)))
    assert [(e.seq, e.replayed) for e in replay.events] == [(1, True)]
    with pytest.raises(InvalidRequest):
        append(Process(world), said("a", ids.logged(version.inc, 2)))


def test_a_log_that_is_full_is_refused_with_a_reason(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the last number a key would no longer sort."""
    monkeypatch.setattr(keys, "MAX_SEQ", 3)
    append(Process(world), said("a"), said("b"))
    with pytest.raises(InvalidRequest, match="at most 3"):
        append(Process(world), said("c"), said("d"))


def test_an_empty_batch_is_refused(world: World) -> None:
    with pytest.raises(InvalidRequest):
        append(Process(world))
