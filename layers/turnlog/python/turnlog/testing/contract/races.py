"""Races (issue 2, "It must hold" 3): only for stores that may be called from several threads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

from ...domain.errors import SessionExists
from ...domain.ports import AppendResult, CompactionPlan, Insertion, SessionRepository
from ...service import SessionService
from ..builders import START, a_session
from ..clock import ManualClock
from .base import Contract, a_key, append, current, numbered, said, shape, started

T = TypeVar("T")


class ConcurrentContract(Contract):
    """Many callers at once: nothing lost, doubled or out of order, and no error to anyone."""

    def test_twenty_writers_at_once_make_one_session(self, repository: SessionRepository) -> None:
        service = SessionService(repository, clock=ManualClock())

        def write(i: int) -> AppendResult:
            return service.append("alice", "s", (said(str(i)),), create_if_missing=True)

        results = at_once(20, write)
        assert {e.seq for r in results for e in r.events} == set(range(1, 21))
        assert len({r.version.inc for r in results}) == 1
        texts = {e.seq: e.message.text for e in repository.read("s")}
        assert [texts[r.events[0].seq] for r in results] == [str(i) for i in range(20)]

    def test_eight_writers_of_fifty_appends_leave_a_log_without_gaps(self, repository: SessionRepository) -> None:
        started(repository)

        def write(i: int) -> list[AppendResult]:
            return [append(repository, numbered(n, n, f"w{i}-")) for n in range(50)]

        answers = at_once(8, write)
        log = repository.read("s")
        assert [e.seq for e in log] == list(range(1, 401))
        by_id = {e.id: e.seq or 0 for e in log}
        for i, results in enumerate(answers):
            seqs = [by_id[f"w{i}-{n}"] for n in range(50)]
            assert [r.events[0].seq for r in results] == seqs == sorted(seqs)
        again = append(repository, [draft for i in range(8) for draft in numbered(0, 9, f"w{i}-")])
        assert again.all_replayed

    def test_one_id_from_many_writers_is_stored_once(self, repository: SessionRepository) -> None:
        started(repository)
        results = at_once(8, lambda i: append(repository, [said(str(i), "e")]))
        assert Counter((r.events[0].seq, r.events[0].replayed) for r in results) == {(1, False): 1, (1, True): 7}
        winner = next(i for i, r in enumerate(results) if not r.events[0].replayed)
        assert [e.message.text for e in repository.read("s")] == [str(winner)]

    def test_one_idempotency_key_from_many_writers_is_written_once(self, repository: SessionRepository) -> None:
        started(repository)
        results = at_once(8, lambda i: append(repository, [said("a"), said("b")], key=a_key("k")))
        assert len({r.events for r in results}) == 1
        assert [e.message.text for e in repository.read("s")] == ["a", "b"]

    def test_one_of_many_creates_wins(self, repository: SessionRepository) -> None:
        def create(i: int) -> bool:
            try:
                repository.create(a_session("s", user_id=f"user-{i}"), now=START)
            except SessionExists:
                return False
            return True

        won = at_once(8, create)
        assert won.count(True) == 1
        assert current(repository).record.user_id == f"user-{won.index(True)}"

    def test_one_of_many_passes_at_one_version_wins(self, repository: SessionRepository) -> None:
        started(repository)
        append(repository, numbered(1, 4))

        def compact(i: int) -> bool:
            plan = CompactionPlan(frozenset({"e1"}), (Insertion(2, (said(str(i), f"sum-{i}"),)),))
            return repository.apply_compaction("s", plan, 4, now=START)

        won = at_once(4, compact)
        assert won.count(True) == 1
        assert shape(repository.read("s")) == ["-e1", f"sum-{won.index(True)}", "e2", "e3", "e4"]

    def test_a_pass_and_appends_at_once_lose_nothing(self, repository: SessionRepository) -> None:
        started(repository)
        append(repository, numbered(1, 4))

        def act(i: int) -> bool:
            if i:
                append(repository, numbered(i * 100, i * 100))
                return False
            return any(
                repository.apply_compaction(
                    "s", CompactionPlan(frozenset({"e1", "e2"})), repository.version("s"), now=START
                )
                for _ in range(50)
            )

        assert at_once(6, act)[0]
        assert shape(repository.read("s"))[:4] == ["-e1", "-e2", "e3", "e4"]
        assert [e.seq for e in repository.read("s")] == list(range(1, 10))
        assert repository.version("s") == 10

    def test_a_reader_among_writers_never_sees_a_gap(self, repository: SessionRepository) -> None:
        started(repository)

        def act(i: int) -> list[list[int | None]]:
            if i < 3:
                for _ in range(20):
                    append(repository, [said("x"), said("y")])
                return []
            seen = []
            for _ in range(20):
                window = repository.window("s")
                assert window is not None
                seen.append([e.seq for e in window.events])
            return seen

        for seqs in (seqs for seen in at_once(5, act) for seqs in seen):
            assert seqs == list(range(1, len(seqs) + 1))
            assert len(seqs) % 2 == 0


def at_once(threads: int, work: Callable[[int], T]) -> list[T]:
    """Run ``work(0)`` … ``work(threads - 1)`` from as many threads, let go together."""
    barrier = Barrier(threads)

    def run(i: int) -> T:
        barrier.wait()
        return work(i)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, range(threads)))
