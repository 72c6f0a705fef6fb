"""Passes that land beside appends, their undo and their history (DESIGN 4, "Pass")."""

from __future__ import annotations

import pytest

from ...domain.due import WindowSize
from ...domain.errors import InvalidRequest, NotNewestPass, PassNotFound, SessionNotFound
from ...domain.event import SYNTHETIC, EventDraft
from ...domain.exactjson import JsonObject
from ...domain.message import Message
from ...domain.passes import PassDetail, new_pass_id
from ...domain.ports import (
    CompactionPlan,
    Insertion,
    PassOutcome,
    PassRequest,
    SessionRepository,
    Window,
)
from ...domain.session import Version
from ..builders import START, tell
from .base import Contract, append, current, numbered, said, shape, started

DETAIL = PassDetail(
    asked_by="request",
    user="alice",
    trigger=JsonObject.of({"type": "turn_count", "max_turns": 2}),
    strategy=JsonObject.of({"type": "turn_window", "max_turns": 1}),
    model="some",
    tokens_before=100,
    tokens_saved=40,
    counter="estimate/1",
    kept_reason="newest_turn",
    abandoned_calls=("c1", "c2"),
    over_budget=True,
)
SUMMARY = JsonObject.of({SYNTHETIC: True})


def plan(archive: str, *summaries: str, before: int | None = None) -> CompactionPlan:
    """Archive these ids and insert these texts."""
    told = tuple(EventDraft(Message.assistant(text), metadata=SUMMARY) for text in summaries)
    return CompactionPlan(frozenset(archive.split()), (Insertion(before, told),) if told else (), DETAIL)


def run(
    repository: SessionRepository,
    made: CompactionPlan | None,
    *,
    only_at: Version | None = None,
    pass_id: str | None = None,
) -> PassOutcome:
    """A pass with a plan that does not depend on the window."""
    return repository.compact(PassRequest("s", lambda _: made, START, only_at, pass_id))


def undo(repository: SessionRepository, pass_id: str) -> PassOutcome:
    """Undo a pass."""
    return repository.undo("s", pass_id, now=START, detail=PassDetail(asked_by="request", user="alice"))


def landed(outcome: PassOutcome) -> str:
    """The id of a pass that has to have landed."""
    assert outcome.status == "landed"
    assert outcome.record is not None
    return outcome.record.id


def seen(repository: SessionRepository) -> tuple[list[str], WindowSize, object]:
    """All that an undo restores: the window, its size, what is archived."""
    window = repository.window("s")
    assert window is not None
    return [event.id for event in window.events], window.size, window.archive


class PassContract(Contract):
    """A pass lands, whatever is appended meanwhile; only another pass is in its way."""

    @pytest.fixture
    def six(self, repository: SessionRepository) -> SessionRepository:
        """A repository whose session "s" holds e1 to e6."""
        started(repository)
        append(repository, numbered(1, 6))
        return repository

    def test_it_lands_beside_an_append_that_came_after_the_look(self, six: SessionRepository) -> None:
        def decide(window: Window) -> CompactionPlan:
            append(six, numbered(7, 8))
            return plan("e1 e2", "told", before=3)

        outcome = six.compact(PassRequest("s", decide, START))
        assert landed(outcome)
        assert outcome.version.generation == 1
        assert [e.id for e in six.read("s") if e.position is None and not e.archived] == [f"e{i}" for i in range(3, 9)]
        assert six.version("s") == 9

    def test_at_one_version_only_it_loses_to_that_append(self, six: SessionRepository) -> None:
        def decide(window: Window) -> CompactionPlan:
            append(six, numbered(7, 7))
            return plan("e1")

        version = current(six).version
        assert six.compact(PassRequest("s", decide, START, version)).status == "coalesced"
        assert shape(six.read("s")) == [f"e{i}" for i in range(1, 8)]
        assert run(six, plan("e1"), only_at=version).status == "coalesced"
        assert landed(run(six, plan("e1"), only_at=current(six).version))

    def test_another_pass_after_the_look_was_first(self, six: SessionRepository) -> None:
        def decide(window: Window) -> CompactionPlan:
            assert landed(run(six, plan("e2")))
            return plan("e1")

        outcome = six.compact(PassRequest("s", decide, START))
        assert (outcome.status, outcome.record) == ("coalesced", None)
        assert shape(six.read("s"))[:3] == ["e1", "-e2", "e3"]

    def test_without_a_plan_nothing_happens(self, six: SessionRepository) -> None:
        outcome = run(six, None)
        assert (outcome.status, outcome.version, outcome.record) == ("nothing", current(six).version, None)
        assert six.version("s") == 6

    def test_an_id_given_makes_it_safe_to_repeat(self, six: SessionRepository) -> None:
        pass_id = new_pass_id(1, b"abcdef")
        first, second = (run(six, plan("e1 e2", "told", before=3), pass_id=pass_id) for _ in range(2))
        assert landed(first) == landed(second) == pass_id
        assert first.record == second.record
        assert current(six).version.generation == 1
        assert landed(run(six, plan("e3")))
        assert landed(run(six, plan("e1"), pass_id=pass_id)) == pass_id, "also below another pass"
        assert run(six, plan("e4"), pass_id=new_pass_id(1, b"others")).status == "coalesced"

    def test_an_expired_session_is_not_compacted(self, repository: SessionRepository) -> None:
        started(repository, ttl_seconds=60)
        append(repository, numbered(1, 2))
        late = START.plus_seconds(61)
        with pytest.raises(SessionNotFound):
            repository.compact(PassRequest("s", lambda _: plan("e1"), late))
        with pytest.raises(SessionNotFound):
            repository.compact(PassRequest("ghost", lambda _: plan("e1"), START))

    @pytest.mark.parametrize("again", [False, True], ids=["and stays so", "and begins again"])
    def test_a_session_that_ends_meanwhile_is_not_compacted(self, six: SessionRepository, again: bool) -> None:
        def decide(window: Window) -> CompactionPlan:
            six.delete("s")
            if again:
                started(six)
                append(six, numbered(1, 6))
            return plan("e1")

        with pytest.raises(SessionNotFound):
            six.compact(PassRequest("s", decide, START))
        assert shape(six.read("s")) == ([f"e{i}" for i in range(1, 7)] if again else [])

    # ------------------------------------------------------------------ history

    def test_a_record_says_all_that_the_plan_said(self, six: SessionRepository) -> None:
        outcome = run(six, plan("e1 e2 e4", "told", before=5))
        record = outcome.record
        assert record is not None
        assert (record.generation, record.at, record.undoes, record.detail) == (1, START, None, DETAIL)
        assert (record.archived, record.restored) == (((1, 2), (4, 4)), ())
        inserted = [event.id for event in six.read("s") if event.position is not None]
        assert list(record.inserted) == inserted
        assert six.find_pass(current(six), record.id) == record

    def test_the_history_is_paged_newest_first(self, six: SessionRepository) -> None:
        made = [landed(run(six, plan(f"e{i}"))) for i in range(1, 6)]
        session = current(six)
        page = six.passes(session, limit=2)
        assert [record.id for record in page.passes] == made[:2:-1]
        assert page.next_id == made[2]
        rest = six.passes(session, first=page.next_id, limit=10)
        assert [record.id for record in rest.passes] == made[2::-1]
        assert rest.next_id is None
        assert six.passes(session, limit=5).next_id is None

    def test_what_is_no_pass_of_the_history(self, six: SessionRepository) -> None:
        session = current(six)
        assert six.passes(session).passes == ()
        assert six.find_pass(session, "1.00") is None
        with pytest.raises(InvalidRequest):
            six.passes(session, first="1.00")
        made = landed(run(six, plan("e1")))
        six.delete("s")
        started(six)
        with pytest.raises(SessionNotFound):
            six.passes(session)
        with pytest.raises(SessionNotFound):
            six.find_pass(session, made)
        assert six.passes(current(six)).passes == (), "the new life has a history of its own"
        assert six.find_pass(current(six), made) is None

    # ------------------------------------------------------------------ undo

    def test_an_undo_restores_exactly_and_keeps_what_came_since(self, repository: SessionRepository) -> None:
        """The newest of a chain of passes with summaries and stragglers is taken back, done again, and so on:
        only the newest pass can be undone, and an undo is a pass."""
        started(repository)
        tell(repository, "s1 a0 u1 a1 u2 c2 t2 u3 a3")
        states = [seen(repository)]
        made = []
        for archive, before in (("a0 u1", 4), ("a1 u2", 6), ("c2 t2", 8)):
            inserts = [e.id for e in repository.read("s") if e.position is not None and not e.archived]
            made.append(landed(run(repository, plan(" ".join([archive, *inserts]), "told", before=before))))
            states.append(seen(repository))
        newest = made[2]
        for state in (states[2], states[3], states[2], states[3], states[2]):
            newest = landed(undo(repository, newest))
            assert seen(repository) == state
        append(repository, numbered(7, 8))
        landed(undo(repository, newest))
        assert seen(repository)[0] == [*states[3][0], "e7", "e8"]
        assert current(repository).version.generation == 9

    def test_an_undo_says_what_it_brought_back(self, six: SessionRepository) -> None:
        made = landed(run(six, plan("e1 e2 e4", "told", before=5)))
        append(six, numbered(7, 7))
        outcome = undo(six, made)
        record = outcome.record
        assert record is not None
        assert (record.undoes, record.restored, record.archived) == (made, ((1, 2), (4, 4)), ())
        assert shape(e for e in six.read("s") if e.position is None) == [f"e{i}" for i in range(1, 8)]
        assert undo(six, made).record == record, "repeating it gives the same undo"
        assert current(six).version.generation == 2

    def test_only_the_newest_pass_can_be_undone(self, six: SessionRepository) -> None:
        first, second = landed(run(six, plan("e1"))), landed(run(six, plan("e2")))
        with pytest.raises(NotNewestPass):
            undo(six, first)
        with pytest.raises(PassNotFound):
            undo(six, "7.00")
        with pytest.raises(SessionNotFound):
            six.undo("ghost", second, now=START, detail=PassDetail())
        with pytest.raises(SessionNotFound):
            six.undo("s", second, now=START.plus_seconds(10**9), detail=PassDetail())

    def test_an_undo_holds_the_trigger_back(self, six: SessionRepository) -> None:
        undo(six, landed(run(six, plan("e1 e2"))))
        attempt = current(six).attempt
        assert attempt is not None
        assert (attempt.status, attempt.size.turns) == ("held", 6)

    def test_replays_of_what_a_pass_inserted_are_found_after_its_undo(self, six: SessionRepository) -> None:
        told = (Insertion(3, (said("sum", "given"),)),)
        made = landed(six.compact(PassRequest("s", lambda _: CompactionPlan(frozenset({"e1"}), told), START)))
        landed(undo(six, made))
        assert append(six, [said("sum", "given")]).events[0].replayed
