"""What an append knows of passes: tries that changed nothing, and the size of the window (DESIGN 4, "Triggers
without reading")."""

from __future__ import annotations

import pytest

from ...domain.due import NO_SIZE, Attempt, DueView, WindowSize
from ...domain.exactjson import JsonObject
from ...domain.ports import AppendRequest, CompactionPlan, SessionRepository
from ...domain.session import SessionChanges
from ..builders import START, drafts, tell
from .base import Contract, append, current, numbered, started
from .passes import landed, plan, run, seen, undo


class AttemptContract(Contract):
    """The session remembers its newest try, and counts what its window holds."""

    @pytest.fixture
    def six(self, repository: SessionRepository) -> SessionRepository:
        """A repository whose session "s" holds e1 to e6."""
        started(repository)
        append(repository, numbered(1, 6))
        return repository

    # ------------------------------------------------------------------ attempts

    def test_one_attempt_follows_the_other(self, six: SessionRepository) -> None:
        session = current(six)
        running = Attempt(1, "running", START, retry_at=START.plus_seconds(60), pass_id="1.00", size=WindowSize(6, 60))
        failed = Attempt(1, "failed", START, reason="blank", detail="x" * 200, retry_at=START.plus_seconds(90))
        assert six.record_attempt(session, running, now=START)
        six.record_attempt(session, running, now=START)  # the same again: a store may take it for its lost answer
        assert not six.record_attempt(session, failed, now=START), "it was read before the first one"
        assert current(six).attempt == running
        assert six.record_attempt(current(six), failed, now=START)
        assert current(six).attempt == failed
        assert six.record_attempt(current(six), None, now=START)
        assert current(six).attempt is None

    def test_an_attempt_is_of_one_generation_of_one_life(self, six: SessionRepository) -> None:
        session, attempt = current(six), Attempt(1, "futile", START, reason="newest_turn")
        landed(run(six, plan("e1")))
        assert not six.record_attempt(session, attempt, now=START)
        newer = current(six)
        assert not six.record_attempt(newer, attempt, now=START.plus_seconds(10**9)), "the session has expired then"
        six.delete("s")
        started(six)
        assert not six.record_attempt(newer, attempt, now=START)

    def test_a_pass_forgets_attempts_but_its_own(self, six: SessionRepository) -> None:
        assert six.record_attempt(current(six), Attempt(3, "futile", START), now=START)
        landed(run(six, plan("e1")))
        assert current(six).attempt is None
        left = Attempt(1, "futile", START, reason="still_over", size=WindowSize(5, 5))
        landed(run(six, CompactionPlan(frozenset({"e2"}), attempt=left)))
        assert current(six).attempt == left

    def test_a_new_policy_forgets_attempts_and_other_changes_do_not(self, six: SessionRepository) -> None:
        attempt = Attempt(1, "futile", START)
        assert six.record_attempt(current(six), attempt, now=START)
        six.update("s", SessionChanges(metadata=JsonObject.of({"a": 1})), now=START)
        assert current(six).attempt == attempt
        six.update("s", SessionChanges(set_compaction=True, compaction=JsonObject.of({"a": 1})), now=START)
        assert current(six).attempt is None

    # ------------------------------------------------------------------ sizes

    def test_a_branch_conversation_has_turns_until_something_is_at_the_root(
        self, repository: SessionRepository
    ) -> None:
        started(repository)
        tell(repository, "u1@b a1@b u2@b a2@b u3@b.c a3@b.c")
        made = landed(run(repository, plan("u1 a1")))
        assert seen(repository)[1].turns == 2
        landed(undo(repository, made))
        assert seen(repository)[1].turns == 3
        tell(repository, "u4")
        assert seen(repository)[1].turns == 1

    @pytest.mark.parametrize(
        ("story", "turns"),
        [
            ("", 0),
            ("s1 a0", 0),
            ("u1 a1 u2 c2 t2 a2", 2),
            ("u1 u2@b u3@b a1", 1),
            ("u1@b a1@b u2@b.c", 2),
            ("~u:p u1", 1),
        ],
    )
    def test_a_window_knows_its_size(self, repository: SessionRepository, story: str, turns: int) -> None:
        started(repository)
        tell(repository, story)
        window = repository.window("s")
        assert window is not None
        assert window.size.turns == turns
        assert (window.size.tokens > 0) is bool(story)

    def test_the_size_goes_with_the_window(self, repository: SessionRepository) -> None:
        started(repository)
        tell(repository, "u1 a1 u2 a2 u3 a3")
        whole = seen(repository)[1]
        made = landed(run(repository, plan("u1 a1 u2 a2")))
        part = seen(repository)[1]
        assert (part.turns, part.tokens * 3) == (1, whole.tokens)
        landed(undo(repository, made))
        assert seen(repository)[1] == whole
        landed(run(repository, plan("u1 a1 u2 a2", "a summary of some length", before=5)))
        assert seen(repository)[1].tokens > part.tokens

    def test_an_append_is_judged_by_the_window_before_and_after(self, repository: SessionRepository) -> None:
        started(repository)
        views: list[DueView] = []

        def due(view: DueView) -> bool:
            views.append(view)
            return view.after.turns > 1

        def say(events: str) -> bool:
            return repository.append(AppendRequest("s", drafts(events), START, due=due)).due

        assert [say("u1 a1"), say("u2"), say("a2")] == [False, True, True]
        assert [(v.before.turns, v.after.turns) for v in views] == [(0, 1), (1, 2), (2, 2)]
        assert views[0].before == NO_SIZE
        assert say("u2") is False, "a replay asks for nothing"
        landed(run(repository, plan("u1 a1")))
        attempt = Attempt(1, "futile", START, size=WindowSize(1, 9))
        assert repository.record_attempt(current(repository), attempt, now=START)
        assert say("u3") is True
        assert (views[-1].before.turns, views[-1].after.turns, views[-1].attempt) == (1, 2, attempt)
