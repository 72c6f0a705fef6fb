"""The log: order, seq, version, guards (spec/session 3.1 to 3.5, DESIGN 4)."""

from __future__ import annotations

import pytest

from ...domain import ids
from ...domain.errors import Conflict, InvalidRequest, SessionNotFound
from ...domain.ports import AppendView, Insertion, SessionRepository
from ..builders import START
from .base import Contract, append, archive, current, everything, numbered, said, shape, started


class LogContract(Contract):
    """What an append does to the log, and who may refuse it."""

    def test_seq_is_gap_free_from_1_on_in_the_order_of_batches_and_drafts(self, repository: SessionRepository) -> None:
        started(repository)
        results = [append(repository, batch) for batch in ("u1 a1", "u2", "c3 t3 a3")]
        assert [[e.seq for e in result.events] for result in results] == [[1, 2], [3], [4, 5, 6]]
        assert [(e.seq, e.id) for e in repository.read("s")] == list(enumerate(["u1", "a1", "u2", "c3", "t3", "a3"], 1))

    def test_the_version_counts_events_and_passes(self, repository: SessionRepository) -> None:
        started(repository)
        seen = [repository.version("s")]
        for batch in ("u1", "a1 u2"):
            result = append(repository, batch)
            seen.append(repository.version("s"))
            assert result.version == current(repository).version
        archive(repository, "u1")
        seen.append(repository.version("s"))
        assert seen == [0, 1, 3, 4]

    def test_an_append_to_an_unknown_session_names_it(self, repository: SessionRepository) -> None:
        with pytest.raises(SessionNotFound, match="ghost"):
            append(repository, "u1", "ghost")

    def test_an_event_without_an_id_gets_one_that_names_its_place(self, repository: SessionRepository) -> None:
        inc = started(repository).version.inc
        result = append(repository, [said("a"), said("b", "mine"), said("c")])
        assert [e.id for e in result.events] == [ids.logged(inc, 1), "mine", ids.logged(inc, 3)]
        assert [e.id for e in repository.read("s")] == [e.id for e in result.events]

    def test_an_event_is_found_by_its_id_only(self, repository: SessionRepository) -> None:
        session = started(repository)
        append(repository, [said("a"), said("b", "mine")])
        archive(repository, "mine")
        session = current(repository)
        inc = session.version.inc
        assert everything(
            event for i in (ids.logged(inc, 1), "mine") if (event := repository.find_event(session, i)) is not None
        ) == everything(repository.read("s"))
        for absent in (ids.logged(inc, 2), ids.logged(inc, 3), ids.logged(inc + 1, 1), ids.inserted(inc, "1", 0), "x"):
            assert repository.find_event(session, absent) is None, absent

    def test_order_is_seq_whatever_the_timestamps_say(self, repository: SessionRepository) -> None:
        started(repository)
        append(repository, numbered(1, 2), now=START.plus_seconds(9))
        append(repository, numbered(3, 3), now=START)
        assert shape(repository.read("s")) == ["e1", "e2", "e3"]

    def test_an_event_without_a_timestamp_takes_the_time_of_the_append(self, repository: SessionRepository) -> None:
        started(repository)
        now = START.plus_seconds(77)
        append(repository, [said()], now=now)
        assert [e.timestamp for e in repository.read("s")] == [now]

    def test_a_batch_of_many_events_stays_whole_and_in_order(self, repository: SessionRepository) -> None:
        started(repository)
        result = append(repository, numbered(1, 100))
        assert [e.seq for e in result.events] == list(range(1, 101))
        assert shape(repository.read("s")) == [f"e{i}" for i in range(1, 101)]

    # ------------------------------------------------------------------ the guard

    def test_the_guard_sees_the_present_state(self, repository: SessionRepository) -> None:
        created = started(repository)
        append(repository, "u1 a1")
        archive(repository, "u1")
        replayed: list[AppendView] = []
        append(repository, "a1", guard=replayed.append)
        written: list[AppendView] = []
        batch = [said("new"), *numbered(1, 1)]
        append(repository, batch, guard=written.append)
        old, new = replayed[-1], written[-1]
        assert old.session.record == created.record
        assert (old.session.version.last_seq, old.session.version.generation) == (2, 1)
        assert everything(old.replays.values()) == everything(repository.read("s")[1:2])
        assert (new.drafts, dict(new.replays), new.answered) == (tuple(batch), {}, False)

    def test_a_guard_that_refuses_leaves_everything_as_it_was(self, repository: SessionRepository) -> None:
        started(repository)
        append(repository, "u1")

        def refuse(view: AppendView) -> None:
            raise Conflict("not now")

        for batch in ("u2 a2", "u1"):
            with pytest.raises(Conflict, match="not now"):
                append(repository, batch, guard=refuse)
        assert shape(repository.read("s")) == ["u1"]
        assert repository.version("s") == 1
        assert append(repository, "u2").events[0].seq == 2

    # ------------------------------------------------------------------ ids of the server

    def test_a_server_made_id_posted_back_is_a_replay(self, repository: SessionRepository) -> None:
        started(repository)
        made = append(repository, [said("a"), said("b")]).events[1]
        again = append(repository, [said("other", made.id)])
        assert [(e.id, e.seq, e.replayed) for e in again.events] == [(made.id, 2, True)]
        assert [e.message.text for e in repository.read("s")] == ["a", "b"]

    def test_a_server_made_id_of_an_inserted_event_posted_back_is_a_replay(self, repository: SessionRepository) -> None:
        started(repository)
        append(repository, "u1 a1")
        archive(repository, "u1", [Insertion(2, (said("summary"),))])
        made = repository.read("s")[1].id
        again = append(repository, [said("summary", made)])
        assert [(e.id, e.seq, e.replayed) for e in again.events] == [(made, None, True)]
        assert current(repository).version.last_seq == 2

    def test_a_made_up_server_id_is_refused_and_nothing_is_written(self, repository: SessionRepository) -> None:
        inc = started(repository).version.inc
        append(repository, [said("a", "mine")])
        for made_up in (ids.logged(inc, 1), ids.logged(inc, 2), ids.logged(inc, 3), ids.inserted(inc, "1", 0)):
            with pytest.raises(InvalidRequest):
                append(repository, [said("b"), said("c", made_up)])
        assert repository.version("s") == 1

    def test_an_id_that_merely_begins_like_a_server_made_one_is_ordinary(self, repository: SessionRepository) -> None:
        started(repository)
        append(repository, "~u:sum ~a:sum")
        assert shape(repository.read("s")) == ["~u:sum", "~a:sum"]
        assert append(repository, "~u:sum").all_replayed
