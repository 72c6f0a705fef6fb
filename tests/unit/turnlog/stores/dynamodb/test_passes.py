"""Passes: two writes, one winner, and nothing of a loser is ever seen."""

import pytest

from tests.support.scripted.process import CONFLICT, CRASH_AFTER, LOST, Crash, Process, Race, World
from turnlog.domain.errors import CorruptLog, InvalidRequest, PayloadTooLarge, SessionNotFound, StoreUnavailable
from turnlog.domain.event import EventDraft
from turnlog.domain.message import Message
from turnlog.domain.passes import generation_of, new_pass_id
from turnlog.domain.ports import CompactionPlan, Insertion
from turnlog.stores.dynamodb import keys, passer
from turnlog.stores.dynamodb.items import Head
from turnlog.stores.dynamodb.passes import pass_key
from turnlog.testing.builders import START, a_session, outline, tell

PK = keys.session_pk("acme", "s")


def said(text: str, id: str | None = None) -> EventDraft:
    return EventDraft(Message.user(text), id=id)


def plan(archive: str, *inserts: str, before: int | None = None) -> CompactionPlan:
    insertions = (Insertion(before, tuple(said(i, i) for i in inserts)),) if inserts else ()
    return CompactionPlan(frozenset(archive.split()), insertions)


def compact(process: Process, made: CompactionPlan, version: int) -> bool:
    return process.repository.apply_compaction("s", made, version, now=START)


@pytest.fixture
def world() -> World:
    """Four events."""
    world = World()
    repository = Process(world).repository
    repository.create(a_session(), now=START)
    for event in ("u1", "a1", "u2", "a2"):
        tell(repository, event)
    return world


def log(world: World) -> list[str]:
    return outline(Process(world).repository)


def head(world: World) -> Head:
    return Head.of(world.table.at((PK, keys.HEAD)) or {}, "s")


def test_a_pass_is_two_reads_and_two_writes(world: World) -> None:
    process = Process(world)
    assert compact(process, plan("u1 a1"), 4)
    assert process.calls == ["get", "query", "put", "transact"]
    assert log(world) == ["-u1", "-a1", "u2", "a2"]


def test_two_passes_at_one_version_have_one_winner(world: World) -> None:
    """The loser's item is seen by nobody, and is gone again."""
    rival = Race(lambda: compact(Process(world), plan("u1 a1", "theirs", before=3), 4))
    assert not compact(Process(world, {3: [rival]}), plan("u1", "ours", before=2), 4)
    assert log(world) == ["-u1", "-a1", "theirs", "u2", "a2"]
    assert len([key for key in world.table.keys(PK, "!C", "!D") if world.table.at(key) is not None]) == 1
    assert not compact(Process(world), plan("u2"), 4)


@pytest.mark.parametrize("call", range(2, 4))
def test_a_pass_that_lost_a_race_to_an_append_changes_nothing(world: World, call: int) -> None:
    """The strict form: the next slot must be free when the head is written."""
    append = Race(lambda: tell(Process(world).repository, "u3"))
    assert not compact(Process(world, {call: [append]}), plan("u1 a1"), 4)
    assert log(world) == ["u1", "a1", "u2", "a2", "u3"]
    assert Process(world).repository.version("s") == 5


def test_a_pass_that_is_in_the_way_of_another_transaction_is_tried_again(world: World) -> None:
    process = Process(world, {3: [CONFLICT], 4: [CONFLICT]})
    assert compact(process, plan("u1"), 4)
    assert process.calls[3:] == ["transact"] * 3
    with pytest.raises(StoreUnavailable):
        compact(Process(world, {n: [CONFLICT] for n in range(3, 40)}), plan("a1"), 5)
    assert log(world) == ["-u1", "a1", "u2", "a2"]


def test_a_pass_whose_answer_is_lost_has_succeeded(world: World) -> None:
    assert compact(Process(world, {3: [LOST]}), plan("u1"), 4)
    assert log(world) == ["-u1", "a1", "u2", "a2"]


def test_a_pass_whose_answer_is_lost_counts_under_the_next_one_too(world: World) -> None:
    """The head names the other pass by the time that ours asks; the chain below it names ours."""
    other = Race(lambda: compact(Process(world), plan("a1", "theirs", before=3), 5))
    assert compact(Process(world, {4: [LOST], 5: [other]}), plan("u1", "ours", before=2), 4)
    assert log(world) == ["-u1", "ours", "-a1", "theirs", "u2", "a2"]


def test_a_pass_that_was_refused_is_not_found_in_the_chain(world: World) -> None:
    """Another won the same generation, and a third stands on top of it."""

    def others() -> None:
        assert compact(Process(world), plan("u1"), 4)
        assert compact(Process(world), plan("a1"), 5)

    assert not compact(Process(world, {3: [Race(others)]}), plan("u2"), 4)
    assert log(world) == ["-u1", "-a1", "u2", "a2"]


@pytest.mark.parametrize("call", [3, 4])
def test_a_pass_that_crashes_counts_only_once_the_head_names_it(world: World, call: int) -> None:
    with pytest.raises(Crash):
        compact(Process(world, {call: [CRASH_AFTER]}), plan("u1", "sum", before=2), 4)
    expected = ["u1", "a1", "u2", "a2"] if call == 3 else ["-u1", "sum", "a1", "u2", "a2"]
    assert log(world) == expected
    version = Process(world).repository.version("s")
    assert compact(Process(world), plan("a1", "sum-2", before=3), version)


def test_a_session_that_ends_during_a_pass_is_not_found(world: World) -> None:
    """Before the pass item and after it; a next life on the id changes nothing of that."""

    def end() -> None:
        Process(world).repository.delete("s")

    with pytest.raises(SessionNotFound):
        compact(Process(world, {3: [Race(end)]}), plan("u1"), 4)
    Process(world).repository.create(a_session(), now=START)
    tell(Process(world).repository, "u1 a1 u2 a2")

    def again() -> None:
        end()
        Process(world).repository.create(a_session(), now=START)
        tell(Process(world).repository, "u1 a1 u2 a2")

    with pytest.raises(SessionNotFound):
        compact(Process(world, {3: [Race(again)]}), plan("u1"), 4)
    with pytest.raises(SessionNotFound):
        compact(Process(world, {2: [Race(again)]}), plan("u1", "given", before=2), 4)
    assert log(world) == ["u1", "a1", "u2", "a2"]


def test_an_id_of_an_insert_has_to_be_new_to_the_log(world: World) -> None:
    tell(Process(world).repository, [f"u{i}" for i in range(10, 90)])  # so that ids lie in blocks
    tell(Process(world).repository, "u90")
    version = Process(world).repository.version("s")
    for taken in ("u1", "u10", "u90"):
        with pytest.raises(InvalidRequest, match=taken):
            compact(Process(world), plan("a1", taken, before=3), version)
    with pytest.raises(InvalidRequest):
        compact(Process(world), plan("", "twice", "twice", before=3), version)


def test_a_pass_too_large_for_an_item_is_refused(world: World) -> None:
    huge = CompactionPlan(frozenset(), (Insertion(None, (said("x" * passer.MAX_INSERT_BYTES),)),))
    with pytest.raises(PayloadTooLarge):
        compact(Process(world), huge, 4)
    assert head(world).generation == 0


def test_a_listed_insert_that_is_gone_is_never_a_silent_gap(world: World) -> None:
    assert compact(Process(world), plan("u1", "sum", before=2), 4)
    world.table._store({pass_key(head(world), head(world).last_pass): None})
    for read in (
        lambda: Process(world).repository.window("s"),
        lambda: Process(world).repository.read("s"),
    ):
        with pytest.raises(CorruptLog):
            read()


def test_a_pass_id_tells_its_generation() -> None:
    made = new_pass_id(12, b"\xab\xcd")
    assert (made, generation_of(made)) == ("12.abcd", 12)
