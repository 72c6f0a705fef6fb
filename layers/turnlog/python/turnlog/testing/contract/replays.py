"""Replays: by event id, and by idempotency key (spec/session 3.4, DESIGN 4)."""

from __future__ import annotations

import pytest

from ...domain.errors import IdempotencyKeyReused
from ...domain.event import SessionEvent
from ...domain.ports import AppendView, SessionRepository
from .base import Contract, a_key, append, archive, current, everything, numbered, said, shape, started

FEW = 140
"""More ids than any store is likely to keep beside its newest write (DESIGN 4 folds at 32 and 64)."""

MANY = 5_000


class ReplayContract(Contract):
    """What has been answered once is answered the same way again, and stored once."""

    def test_the_first_content_of_an_id_wins(self, repository: SessionRepository) -> None:
        started(repository)
        append(repository, [said("first", "e")])
        before = repository.version("s")
        again = append(repository, [said("second", "e")])
        assert [(e.id, e.seq, e.replayed) for e in again.events] == [("e", 1, True)]
        assert again.all_replayed
        assert again.version == current(repository).version
        assert [e.message.text for e in repository.read("s")] == ["first"]
        assert repository.version("s") == before

    def test_a_batch_of_old_and_new_ids_stores_the_new_ones_in_their_order(self, repository: SessionRepository) -> None:
        started(repository)
        append(repository, numbered(1, 3))
        mixed = append(repository, [*numbered(10, 10), *numbered(2, 2), *numbered(11, 11), *numbered(1, 1)])
        assert [(e.id, e.seq, e.replayed) for e in mixed.events] == [
            ("e10", 4, False),
            ("e2", 2, True),
            ("e11", 5, False),
            ("e1", 1, True),
        ]
        assert not mixed.all_replayed
        assert shape(repository.read("s")) == ["e1", "e2", "e3", "e10", "e11"]

    def test_an_id_twice_in_a_batch_is_a_replay_of_the_first(self, repository: SessionRepository) -> None:
        started(repository)
        result = append(repository, [said("a", "e"), said("b"), said("c", "e")])
        assert [(e.seq, e.replayed) for e in result.events] == [(1, False), (2, False), (1, True)]
        assert [e.message.text for e in repository.read("s")] == ["a", "b"]

    def test_the_guard_gets_the_stored_event_of_each_replay_and_of_nothing_else(
        self, repository: SessionRepository
    ) -> None:
        started(repository)
        append(repository, numbered(1, 2))
        views: list[AppendView] = []
        append(repository, [said("new", "n"), said("other", "e2"), said("twin", "n")], guard=views.append)
        assert everything(views[-1].replays.values()) == everything(repository.read("s")[1:2])
        assert list(views[-1].replays) == [1]

    def test_the_id_of_an_archived_event_still_counts(self, repository: SessionRepository) -> None:
        started(repository)
        append(repository, numbered(1, 2))
        archive(repository, "e1")
        again = append(repository, [*numbered(1, 1), *numbered(3, 3)])
        assert [(e.seq, e.replayed) for e in again.events] == [(1, True), (3, False)]
        assert shape(repository.read("s")) == ["-e1", "e2", "e3"]

    def test_ids_appended_one_by_one_are_replays_however_many_came_since(self, repository: SessionRepository) -> None:
        started(repository)
        for event in numbered(1, FEW):
            append(repository, [event])
        for probe in (1, 31, 32, 33, 63, 64, 65, 96, FEW):
            again = append(repository, numbered(probe, probe))
            assert [(e.seq, e.replayed) for e in again.events] == [(probe, True)], probe
        mixed = append(repository, [*numbered(1, 50), *numbered(FEW + 1, FEW + 1), *numbered(51, 90)])
        assert [(e.seq, e.replayed) for e in mixed.events] == [
            *((i, True) for i in range(1, 51)),
            (FEW + 1, False),
            *((i, True) for i in range(51, 91)),
        ]
        assert shape(repository.read("s")) == [f"e{i}" for i in range(1, FEW + 2)]

    @pytest.mark.slow
    def test_an_id_is_a_replay_after_thousands_of_later_events(self, repository: SessionRepository) -> None:
        started(repository)
        append(repository, [said("first", "first")])
        for i in range(0, MANY, 100):
            append(repository, numbered(i + 1, i + 100))
        again = append(repository, [said("first", "first"), *numbered(MANY // 2, MANY // 2), said("new", "new")])
        assert [(e.seq, e.replayed) for e in again.events] == [(1, True), (MANY // 2 + 1, True), (MANY + 2, False)]
        assert [e.seq for e in repository.read("s")] == list(range(1, MANY + 3))

    # ------------------------------------------------------------------ idempotency keys

    def test_a_key_gives_the_first_answer_again_whatever_came_since(self, repository: SessionRepository) -> None:
        started(repository)
        append(repository, numbered(1, 1))
        batch = [said("a"), *numbered(1, 1), *numbered(2, 2)]
        first = append(repository, batch, key=a_key("k"))
        assert [(e.seq, e.replayed) for e in first.events] == [(2, False), (1, True), (3, False)]
        append(repository, [said("later")])
        archive(repository, "e1")
        assert append(repository, batch, key=a_key("k")) == first
        assert [e.seq for e in repository.read("s")] == [1, 2, 3, 4]

    def test_a_key_keeps_a_batch_without_ids_from_being_stored_twice(self, repository: SessionRepository) -> None:
        started(repository)
        first = append(repository, [said("yes"), said("yes")], key=a_key("k"))
        assert append(repository, [said("yes"), said("yes")], key=a_key("k")) == first
        assert append(repository, [said("yes")], key=a_key("k2")).events[0].seq == 3
        assert [e.message.text for e in repository.read("s")] == ["yes", "yes", "yes"]

    def test_a_key_with_another_request_is_refused_and_nothing_is_written(self, repository: SessionRepository) -> None:
        started(repository)
        append(repository, [said("x")], key=a_key("k"))
        with pytest.raises(IdempotencyKeyReused):
            append(repository, [said("y")], key=a_key("k", "another request"))
        assert [e.message.text for e in repository.read("s")] == ["x"]

    def test_the_guard_judges_before_a_known_key_is_answered(self, repository: SessionRepository) -> None:
        started(repository)
        append(repository, [said("x")], key=a_key("k"))
        views: list[AppendView] = []
        append(repository, [said("x")], key=a_key("k"), guard=views.append)
        assert views[-1].answered

        def refuse(view: AppendView) -> None:
            raise PermissionError

        for request in ("request", "another request"):
            with pytest.raises(PermissionError):
                append(repository, [said("x")], key=a_key("k", request), guard=refuse)

    def test_a_key_belongs_to_its_session(self, repository: SessionRepository) -> None:
        started(repository, "one")
        started(repository, "two")
        append(repository, [said("x")], "one", key=a_key("k"))
        append(repository, [said("y")], "two", key=a_key("k", "another request"))
        assert [[e.message.text for e in repository.read(s)] for s in ("one", "two")] == [["x"], ["y"]]

    def test_a_key_is_known_after_many_later_keys_and_ids(self, repository: SessionRepository) -> None:
        started(repository)
        first = append(repository, [said("x"), said("y")], key=a_key("k"))
        for i in range(FEW):
            append(repository, numbered(i, i), key=a_key(f"k{i}"))
        assert append(repository, [said("x"), said("y")], key=a_key("k")) == first
        with pytest.raises(IdempotencyKeyReused):
            append(repository, [said("x")], key=a_key("k", "another request"))
        texts = [event.message.text for event in _whole(repository)]
        assert texts == ["x", "y", *(str(i) for i in range(FEW))]


def _whole(repository: SessionRepository) -> list[SessionEvent]:
    return [event for batch in repository.walk(current(repository)) for event in batch]
