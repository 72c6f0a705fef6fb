"""Passes: archive in place, insert, compare and swap (spec/session 3.6 N10, DESIGN 4)."""

from __future__ import annotations

import pytest

from ...domain import ids
from ...domain.errors import InvalidRequest, SessionNotFound, TooFragmented
from ...domain.event import EventDraft
from ...domain.exactjson import JsonObject
from ...domain.instant import Instant
from ...domain.message import Message
from ...domain.ports import CompactionPlan, Insertion, SessionRepository
from ..builders import START
from .base import Contract, append, archive, current, everything, numbered, said, shape, started


class CompactionContract(Contract):
    """A pass moves boundaries and never rewrites history."""

    @pytest.fixture
    def six(self, repository: SessionRepository) -> SessionRepository:
        """A repository whose session "s" holds e1 to e6."""
        started(repository)
        append(repository, numbered(1, 6))
        return repository

    def test_archiving_flags_in_place_and_moves_nothing(self, six: SessionRepository) -> None:
        before = six.read("s")
        archive(six, "e2 e3 e5")
        assert shape(six.read("s")) == ["e1", "-e2", "-e3", "e4", "-e5", "e6"]
        assert everything(e.as_archived(False) for e in six.read("s")) == everything(before)

    def test_a_pass_counts_one_in_generation_and_version(self, six: SessionRepository) -> None:
        archive(six, "e1 e2")
        version = current(six).version
        assert (version.last_seq, version.generation, version.number) == (6, 1, 7)
        assert six.version("s") == 7

    def test_an_empty_plan_counts_too(self, repository: SessionRepository) -> None:
        started(repository)
        archive(repository, "")
        assert repository.version("s") == 1
        assert repository.read("s") == []

    @pytest.mark.parametrize("expected", [0, 5, 7, 1000])
    def test_another_version_in_either_direction_changes_nothing(self, six: SessionRepository, expected: int) -> None:
        plan = CompactionPlan(frozenset({"e1"}), (Insertion(3, (said("s"),)),))
        assert six.apply_compaction("s", plan, expected, now=START) is False
        assert shape(six.read("s")) == ["e1", "e2", "e3", "e4", "e5", "e6"]
        assert six.version("s") == 6

    def test_an_append_since_the_read_makes_the_pass_lose(self, six: SessionRepository) -> None:
        version = six.version("s")
        append(six, "u9")
        assert six.apply_compaction("s", CompactionPlan(frozenset({"e1"})), version, now=START) is False
        archive(six, "e1")

    def test_a_pass_over_an_unknown_session_names_it(self, repository: SessionRepository) -> None:
        with pytest.raises(SessionNotFound, match="ghost"):
            repository.apply_compaction("ghost", CompactionPlan(), 0, now=START)

    def test_an_unknown_id_is_named_and_nothing_changes(self, six: SessionRepository) -> None:
        plan = CompactionPlan(frozenset({"e1", "e77"}), (Insertion(2, (said("s"),)),))
        with pytest.raises(InvalidRequest, match="e77"):
            six.apply_compaction("s", plan, 6, now=START)
        assert shape(six.read("s")) == ["e1", "e2", "e3", "e4", "e5", "e6"]
        assert six.version("s") == 6

    @pytest.mark.parametrize("anchor", [0, -1, 7, 1000])
    def test_an_unknown_anchor_is_refused_and_nothing_changes(self, six: SessionRepository, anchor: int) -> None:
        with pytest.raises(InvalidRequest):
            six.apply_compaction(
                "s", CompactionPlan(frozenset({"e1"}), (Insertion(anchor, (said("s"),)),)), 6, now=START
            )
        assert shape(six.read("s")) == ["e1", "e2", "e3", "e4", "e5", "e6"]
        assert six.version("s") == 6

    def test_an_id_that_the_log_holds_is_not_inserted_again(self, six: SessionRepository) -> None:
        with pytest.raises(InvalidRequest, match="e2"):
            six.apply_compaction("s", CompactionPlan(insert=(Insertion(1, (said("s", "e2"),)),)), 6, now=START)
        assert six.version("s") == 6

    def test_archived_events_named_again_stay_archived(self, six: SessionRepository) -> None:
        archive(six, "e1 e2")
        archive(six, "e2 e3")
        assert shape(six.read("s")) == ["-e1", "-e2", "-e3", "e4", "e5", "e6"]
        assert six.version("s") == 8

    # ------------------------------------------------------------------ inserted events

    def test_an_insert_stands_right_before_its_anchor_as_it_was_given(self, six: SessionRepository) -> None:
        when = Instant.parse("2026-02-03T04:05:06.700Z")
        summary = EventDraft(
            Message.assistant("so far"), timestamp=when, branch="b", metadata=JsonObject.of({"synthetic": True})
        )
        now = START.plus_seconds(500)
        plan = CompactionPlan(frozenset({"e1", "e2"}), (Insertion(3, (said("what?"), summary)),))
        assert six.apply_compaction("s", plan, 6, now=now)

        log = six.read("s")
        assert [e.seq for e in log] == [1, 2, None, None, 3, 4, 5, 6]
        first, second = log[2:4]
        assert first.timestamp == now
        assert (second.timestamp.text, second.branch, second.synthetic) == (when.text, "b", True)
        assert (second.message, second.archived, second.session_id) == (summary.message, False, "s")
        assert first.position is not None
        assert second.position is not None
        assert [(p.before_seq, p.index, p.generation) for p in (first.position, second.position)] == [
            (3, 0, 1),
            (3, 1, 1),
        ]
        assert first.position.pass_id == second.position.pass_id

    def test_an_inserted_event_without_an_id_gets_one_that_names_its_pass(self, six: SessionRepository) -> None:
        archive(six, "", [Insertion(3, (said("a"), said("b", "mine")))])
        session = current(six)
        made, mine = six.read("s")[2:4]
        assert made.position is not None
        assert made.id == ids.inserted(session.version.inc, made.position.pass_id, 0)
        assert mine.id == "mine"
        assert everything(filter(None, [six.find_event(session, made.id)])) == everything([made])

    def test_an_inserted_event_is_found_and_replayed_by_the_id_it_was_given(self, six: SessionRepository) -> None:
        archive(six, "", [Insertion(3, (said("a", "mine"), said("b", "other")))])
        again = append(six, [said("a", "mine"), *numbered(7, 7)])
        assert [(e.id, e.seq, e.replayed) for e in again.events] == [("mine", None, True), ("e7", 7, False)]
        archive(six, "mine other")
        found = six.find_event(current(six), "other")
        assert found is not None
        assert (found.message.text, found.archived) == ("b", True)
        assert append(six, [said("x", "other")]).all_replayed
        assert shape(six.read("s")) == ["e1", "e2", "-mine", "-other", "e3", "e4", "e5", "e6", "e7"]

    def test_an_insert_at_the_end_stays_before_what_comes_later(self, six: SessionRepository) -> None:
        archive(six, "e6", [Insertion(None, (said("a", "x"), said("b", "y")))])
        append(six, numbered(7, 8))
        assert shape(six.read("s"))[4:] == ["e5", "-e6", "x", "y", "e7", "e8"]
        assert [e.seq for e in six.read("s")][6:] == [None, None, 7, 8]

    def test_an_insert_into_an_empty_log_comes_first(self, repository: SessionRepository) -> None:
        started(repository)
        archive(repository, "", [Insertion(None, (said("a", "x"),))])
        assert shape(repository.read("s")) == ["x"]
        append(repository, numbered(1, 1))
        assert shape(repository.read("s")) == ["x", "e1"]
        window = repository.window("s")
        assert window is not None
        assert shape(window.events) == ["x", "e1"]

    def test_inserts_of_one_pass_stand_in_several_places(self, six: SessionRepository) -> None:
        archive(
            six,
            "e1",
            [
                Insertion(5, (said("c", "x"),)),
                Insertion(2, (said("a", "y"), said("b", "z"))),
                Insertion(5, (said("d", "w"),)),
            ],
        )
        assert shape(six.read("s")) == ["-e1", "y", "z", "e2", "e3", "e4", "x", "w", "e5", "e6"]

    def test_inserts_of_several_passes_at_one_place_stand_in_the_order_of_the_passes(
        self, six: SessionRepository
    ) -> None:
        for name in ("x", "y", "z"):
            archive(six, "", [Insertion(4, (said(name, name),))])
        assert shape(six.read("s")) == ["e1", "e2", "e3", "x", "y", "z", "e4", "e5", "e6"]

    def test_a_later_pass_archives_the_inserts_of_an_earlier_one(self, six: SessionRepository) -> None:
        archive(six, "e1 e2", [Insertion(3, (said("p", "p1"), said("s", "s1")))])
        archive(six, "p1 s1 e3 e4", [Insertion(5, (said("p", "p2"), said("s", "s2")))])
        assert shape(six.read("s")) == ["-e1", "-e2", "-p1", "-s1", "-e3", "-e4", "p2", "s2", "e5", "e6"]
        window = six.window("s")
        assert window is not None
        assert shape(window.events) == ["p2", "s2", "e5", "e6"]
        archive(six, "p1")
        assert shape(six.read("s"))[2:4] == ["-p1", "-s1"]

    def test_the_inserts_of_a_pass_are_archived_together_or_not_at_all(self, six: SessionRepository) -> None:
        archive(six, "e1", [Insertion(3, (said("p", "p1"), said("s", "s1")))])
        version = six.version("s")
        with pytest.raises(InvalidRequest):
            six.apply_compaction("s", CompactionPlan(frozenset({"p1", "e2"})), version, now=START)
        assert shape(six.read("s")) == ["-e1", "e2", "p1", "s1", "e3", "e4", "e5", "e6"]
        assert six.version("s") == version

    def test_a_pass_outlives_many_appends(self, six: SessionRepository) -> None:
        archive(six, "e1 e2 e3", [Insertion(4, (said("s", "sum"),))])
        for first in range(7, 100, 10):
            append(six, numbered(first, first + 9))
        window = six.window("s")
        assert window is not None
        assert shape(window.events) == ["sum", *(f"e{i}" for i in range(4, 107))]

    def test_a_state_of_too_many_pieces_is_refused_and_nothing_changes(self, repository: SessionRepository) -> None:
        started(repository)
        for first in range(1, 1200, 100):
            append(repository, numbered(first, first + 99))
        every_other = frozenset(f"e{i}" for i in range(1, 1201, 2))
        with pytest.raises(TooFragmented):
            repository.apply_compaction("s", CompactionPlan(every_other), 1200, now=START)
        assert repository.version("s") == 1200
        archive(repository, " ".join(f"e{i}" for i in range(1, 1101)))
        window = repository.window("s")
        assert window is not None
        assert [e.seq for e in window.events] == list(range(1101, 1201))
