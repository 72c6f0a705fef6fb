"""Reads: no silent gap, no endless loop, and no more requests than needed."""

from collections.abc import Callable

import pytest

from tests.support.scripted.process import Process, Race, Stale, Torn, World
from turnlog.domain.errors import CorruptLog, SessionNotFound
from turnlog.domain.filter import EventFilter
from turnlog.domain.ports import CompactionPlan, Order
from turnlog.domain.session import StoredSession
from turnlog.stores.dynamodb import DynamoDBSessionRepository, keys
from turnlog.stores.dynamodb.items import Head
from turnlog.testing.builders import START, a_session, outline, tell

PK = keys.session_pk("acme", "s")


@pytest.fixture
def world() -> World:
    """Six events, one a commit."""
    world = World(page_rows=4)
    repository = Process(world).repository
    repository.create(a_session(), now=START)
    for i in range(1, 7):
        tell(repository, f"u{i}")
    return world


def session(world: World) -> StoredSession:
    found = Process(world).repository.find("s")
    assert found is not None
    return found


def walked(process: Process, of: StoredSession, order: Order = "asc", hint: int | None = None) -> list[int | None]:
    return [e.seq for batch in process.repository.walk(of, order=order, hint=hint) for e in batch]


def compact(world: World, archive: str) -> None:
    repository = Process(world).repository
    assert repository.apply_compaction(
        "s", CompactionPlan(frozenset(archive.split())), repository.version("s"), now=START
    )


def without_commit(world: World, seq: int) -> None:
    """What must never happen."""
    world.table._store({(PK, keys.commit_sk(session(world).version.inc, seq)): None})


@pytest.mark.parametrize("hint", [1, 2, None])
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_walk_whose_session_ends_meanwhile_ends_too(world: World, order: Order, hint: int | None) -> None:
    """It meets the closing commit, alone on a page that says that more may follow."""
    end = Race(lambda: Process(world).repository.delete("s"))
    for call in range(1, 8):
        world.table.page_rows = 4
        if Process(world).repository.find("s") is None:
            Process(world).repository.create(a_session(), now=START)
            tell(Process(world).repository, "u1 u2 u3")
        of = session(world)
        process = Process(world, {call: [end]})
        seqs = walked(process, of, order, hint)
        assert sorted(s for s in seqs if s) == list(range(1, of.version.last_seq + 1))
        assert len(process.calls) < 20


def test_a_walk_over_an_ended_life_is_refused(world: World) -> None:
    of = session(world)
    Process(world).repository.delete("s")
    Process(world).repository.create(a_session(), now=START)
    with pytest.raises(SessionNotFound):
        walked(Process(world), of)


def test_a_page_that_misses_a_commit_is_asked_for_again(world: World) -> None:
    """Written while the query ran: the page has the second of two new commits, not the first."""

    def grow() -> None:
        tell(Process(world).repository, "u7")
        tell(Process(world).repository, "u8")

    of = session(world)
    world.table.page_rows = None
    for split in range(1, 9):
        process = Process(world, {1: [Torn(grow, split)]})
        seqs = walked(process, of)
        assert seqs == list(range(1, len(seqs) + 1))


def test_a_hole_that_stays_is_an_error_in_every_read(world: World) -> None:
    of = session(world)
    without_commit(world, 3)
    reads: list[Callable[[DynamoDBSessionRepository], object]] = [
        lambda repository: repository.window("s"),
        lambda repository: repository.read("s"),
        lambda repository: repository.read("s", EventFilter(last_n=5)),
        lambda repository: list(repository.walk(of, order="asc")),
        lambda repository: list(repository.walk(of, order="desc")),
        lambda repository: repository.find_event(of, "u3"),
    ]
    for read in reads:
        with pytest.raises(CorruptLog):
            read(Process(world).repository)
    assert [e.id for e in Process(world).repository.read("s", EventFilter(last_n=3))] == ["u4", "u5", "u6"]


def test_a_log_that_lost_its_newest_commit_under_a_pass_is_an_error(world: World) -> None:
    """The archive state reaches beyond the end of the log."""
    compact(world, "u1 u2 u3 u4 u5 u6")
    for seq in range(6, 0, -1):
        without_commit(world, seq)
    with pytest.raises(CorruptLog):
        Process(world).repository.window("s")


def test_a_window_is_two_requests_and_starts_at_the_first_active_commit(world: World) -> None:
    world.table.page_rows = None
    compact(world, "u1 u2 u3 u4")
    process = Process(world)
    window = process.repository.window("s")
    assert window is not None
    assert ([e.id for e in window.events], process.calls) == (["u5", "u6"], ["get", "query"])
    assert Head.of(world.table.at((PK, keys.HEAD)) or {}, "s").start == 5


def test_a_window_with_stragglers_is_three_requests(world: World) -> None:
    world.table.page_rows = None
    compact(world, "u2 u3 u4")
    process = Process(world)
    window = process.repository.window("s")
    assert window is not None
    assert [e.id for e in window.events] == ["u1", "u5", "u6"]
    assert process.calls == ["get", "query", "batch_get"]


def test_a_window_of_a_version_takes_an_old_read_only_if_it_shows_that_version(world: World) -> None:
    world.table.page_rows = None
    version = session(world).version
    good = Process(world)
    assert good.repository.window("s", min_version=version) is not None
    assert good.calls == ["get", "query"]
    for lags in [(1,), (0, 1), (99,)]:
        stale = Process(world, {0: [Stale(lags)], 1: [Stale(lags)]})
        window = stale.repository.window("s", min_version=version)
        assert window is not None
        assert window.session.version == version
        assert [e.seq for e in window.events] == list(range(1, 7))


def test_a_window_that_a_pass_came_into_is_read_again(world: World) -> None:
    process = Process(world, {1: [Race(lambda: compact(world, "u1"))]})
    window = process.repository.window("s")
    assert window is not None
    assert [e.id for e in window.events] == ["u2", "u3", "u4", "u5", "u6"]
    assert process.calls.count("get") == 2


def test_a_listing_reads_on_from_page_to_page(world: World) -> None:
    for i in range(7, 20):
        tell(Process(world).repository, f"u{i}")
    assert outline(Process(world).repository) == [f"u{i}" for i in range(1, 20)]
