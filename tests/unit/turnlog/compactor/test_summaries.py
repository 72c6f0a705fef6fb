"""Passes whose summary a model writes: single flight, and every way in which it can fail."""

import queue
import threading
from typing import Any

import pytest

from tests.support.compacting import SUMMARY, Jobs, SomeModel, Stage, reply
from turnlog.compactor import CompactCommand, CompactionAnswer, SummaryJob
from turnlog.domain.errors import StoreUnavailable
from turnlog.domain.exactjson import JsonObject
from turnlog.domain.models import ModelError, ModelRejected, ModelThrottled, ModelTimeout, ModelUnavailable
from turnlog.domain.session import SessionChanges
from turnlog.stores.memory import InMemorySessionRepository

COMMAND = CompactCommand(strategy=JsonObject.of(SUMMARY))
POLICY = {"trigger": {"type": "turn_count", "max_turns": 5}, "strategy": SUMMARY}


def stage_of(*answers: object, turns: int = 8, policy: object = None, **fields: object) -> Stage:
    """A session with turns, and a model that says this."""
    model = SomeModel(*answers)  # type: ignore[arg-type]
    stage = Stage(InMemorySessionRepository(), model=model, **fields)  # type: ignore[arg-type]
    stage.create(policy)
    stage.turns(1, turns)
    return stage


def compact(stage: Stage, command: CompactCommand = COMMAND) -> CompactionAnswer:
    return stage.compactor.compact("alice", "s", command)


def state(stage: Stage) -> tuple[list[str], int]:
    return stage.active, stage.repository.version("s")


class TestOneChunk:
    def test_the_summary_stands_before_what_is_kept(self) -> None:
        stage = stage_of(reply("All of it."))
        answer = compact(stage)
        assert (answer.status, answer.archived) == ("compacted", ((1, 12),))
        assert stage.active == ["+", "+", "u7", "a7", "u8", "a8"]
        record = stage.compactor.history("alice", "s")[1].passes[0]
        assert (record.id, record.detail.model, len(record.inserted)) == (answer.id, "some", 2)

    def test_what_is_appended_meanwhile_is_behind_it(self) -> None:
        stage = stage_of(reply("All of it."))
        stage.model.before = lambda: stage.say("u9 a9")
        assert compact(stage).status == "compacted"
        assert stage.active == ["+", "+", "u7", "a7", "u8", "a8", "u9", "a9"]
        assert "u9" not in stage.model.question(0)

    def test_with_if_match_such_an_append_makes_it_lose(self) -> None:
        stage = stage_of(reply("All of it."))
        stage.model.before = lambda: stage.say("u9 a9")
        session = stage.repository.find("s")
        assert session is not None
        answer = stage.compactor.compact("alice", "s", COMMAND, if_match=(session.version.etag(),))
        assert (answer.status, state(stage)[1]) == ("coalesced", 18)
        assert "+" not in stage.active
        stage.model.before = lambda: None
        assert compact(stage, CompactCommand(strategy=COMMAND.strategy, force=True)).status == "compacted"

    def test_a_system_message_that_comes_meanwhile_supersedes(self) -> None:
        stage = Stage(InMemorySessionRepository(), model=SomeModel())
        stage.create(allow_system_messages=True)
        stage.say("s0")
        stage.turns(1, 8)
        stage.model.before = lambda: stage.say("s9")
        assert compact(stage).status == "compacted"
        assert [event for event in stage.active if event.startswith("s")] == ["s9"]

    def test_another_pass_meanwhile_makes_it_lose(self) -> None:
        stage = stage_of(reply("All of it."))
        turns = CompactCommand(strategy=JsonObject.of({"type": "turn_window", "max_turns": 3}), force=True)
        repository = stage.repository
        other = Stage(repository)
        session = repository.find("s")
        assert session is not None

        def rival() -> None:
            found = repository.find("s")
            assert found is not None
            assert repository.record_attempt(found, None, now=stage.clock.now())
            assert other.compactor.compact("alice", "s", turns).status == "compacted"

        stage.model.before = rival
        assert compact(stage).status == "coalesced"
        assert "+" not in stage.active

    def test_a_session_that_is_deleted_meanwhile_stays_so(self) -> None:
        stage = stage_of(reply("All of it."))
        stage.model.before = lambda: stage.repository.delete("s")
        assert compact(stage).status == "coalesced"
        assert stage.repository.find("s") is None


FAILURES: dict[str, tuple[object, str]] = {
    "error": (ModelRejected("status 400"), "rejected"),
    "unavailable": (ModelUnavailable("status 500"), "unavailable"),
    "timeout": (ModelTimeout("no answer within 60 s"), "timeout"),
    "throttled": (ModelThrottled("status 429", retry_after_seconds=7), "throttled"),
    "none": (reply(None), "blank"),
    "empty": (reply(""), "blank"),
    "blank": (reply(" \n "), "blank"),
    "refusal": (reply("I cannot do that.", "refused"), "refused"),
    "tool call": (reply("Let me look.", "tool_calls"), "tool_call"),
    "cut off": (reply("It began with", "length"), "cut_off"),
}


class TestFailures:
    @pytest.mark.parametrize(("answer", "reason"), FAILURES.values(), ids=FAILURES)
    def test_a_failure_changes_nothing_is_visible_and_backs_off(self, answer: object, reason: str) -> None:
        """And the next try, at its time, is another one and can succeed (field case D22)."""
        stage = stage_of(answer, policy=POLICY)
        before = state(stage)
        refused = stage.compactor.run_due("s")
        assert refused is not None
        assert (refused.status, refused.reason, state(stage)) == ("refused", reason, before)
        session, now = stage.repository.find("s"), stage.clock.now()
        assert session is not None
        attempt = session.attempt
        assert attempt is not None
        assert (attempt.status, attempt.reason, attempt.retry_at) == ("failed", reason, now.plus_seconds(60))
        assert stage.turns(9, 12) == [], "no append asks before its time"
        again = stage.compactor.run_due("s")
        assert again is not None
        assert (again.status, len(stage.model.asked)) == ("refused", 1)
        stage.clock.advance(60)  # type: ignore[attr-defined]
        assert stage.turns(13, 13) == [13]
        done = stage.compactor.run_due("s")
        assert done is not None
        assert done.status == "compacted"
        assert done.id != attempt.pass_id

    def test_each_failure_doubles_the_wait_up_to_a_day(self) -> None:
        stage = stage_of(*[reply("")] * 14, policy=POLICY)
        waits = []
        for _ in range(14):
            stage.compactor.run_due("s")
            session, now = stage.repository.find("s"), stage.clock.now()
            assert session is not None
            assert session.attempt is not None
            assert session.attempt.retry_at is not None
            waits.append((session.attempt.retry_at.ms - now.ms) // 1000)
            stage.clock.advance(waits[-1])  # type: ignore[attr-defined]
        assert waits == [min(60 * 2**i, 86_400) for i in range(14)]

    def test_a_model_that_has_gone_from_the_stage_is_futile(self) -> None:
        stage = stage_of(policy={**POLICY, "strategy": {**SUMMARY, "model": "gone"}})
        answer = stage.compactor.run_due("s")
        assert answer is not None
        assert (answer.status, answer.reason, stage.model.asked) == ("nothing_to_do", "unknown_model", [])

    def test_a_window_that_is_too_small_is_said(self) -> None:
        stage = stage_of(window_tokens=1100)
        assert compact(stage).reason == "window_too_small"


class TestAtOnce:
    def test_of_three_at_once_one_asks_the_model(self) -> None:
        """Field case C7, carried out where it is asked for: the others are answered while the model writes."""
        stage = stage_of(reply("All of it."))
        asked, go = threading.Event(), threading.Event()

        def write() -> None:
            asked.set()
            assert go.wait(30), "nobody lets the model go on"

        stage.model.before = write
        answers = queue.Queue[CompactionAnswer]()
        callers = [threading.Thread(target=lambda: answers.put(compact(stage))) for _ in range(3)]
        for caller in callers:
            caller.start()
        assert asked.wait(30)
        assert [answers.get(timeout=30).status for _ in range(2)] == ["coalesced"] * 2
        assert "+" not in stage.active, "they have not waited for it"
        go.set()
        done = answers.get(timeout=30)
        for caller in callers:
            caller.join()
        assert (done.status, len(stage.model.asked)) == ("compacted", 1)
        assert [record.id for record in stage.compactor.history("alice", "s")[1].passes] == [done.id]
        assert stage.active == ["+", "+", "u7", "a7", "u8", "a8"]


class TestElsewhere:
    """The steps are carried out by somebody else."""

    @pytest.mark.parametrize(
        ("wish", "seconds"), [(7, 7), (None, 5), (0.2, 1), (1e6, 120)], ids=["its own", "none", "at once", "too long"]
    )
    def test_a_model_that_is_busy_is_asked_again_when_it_wishes(self, wish: float | None, seconds: int) -> None:
        jobs = Jobs()
        stage = stage_of(ModelThrottled("status 429", retry_after_seconds=wish), starter=jobs)
        compact(stage)
        answer = stage.summaries.summarise(jobs.started[0], 0, 0)
        assert (answer.status, answer.reason, answer.wait_seconds) == ("retry", "throttled", seconds)
        assert stage.summaries.summarise(jobs.started[0], 0, 0).status == "ok"

    def test_what_does_not_change_by_asking_again_fails_at_once(self) -> None:
        jobs = Jobs()
        stage = stage_of(ModelRejected("status 400"), reply("It began", "length"), starter=jobs)
        compact(stage)
        assert stage.summaries.summarise(jobs.started[0], 0, 0).status == "failed"
        assert stage.summaries.summarise(jobs.started[0], 0, 0).status == "failed"

    def test_three_at_once_start_one(self) -> None:
        jobs = Jobs()
        stage = stage_of(starter=jobs)
        answers: list[CompactionAnswer] = []
        callers = [threading.Thread(target=lambda: answers.append(compact(stage))) for _ in range(3)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        assert sorted(a.status for a in answers) == ["coalesced", "coalesced", "started"]
        assert len(jobs.started) == 1
        assert stage.summaries.run(jobs.started[0]).status == "landed"
        assert len(stage.model.asked) == 1
        assert compact(stage).status == "nothing_to_do"

    def test_of_two_claims_of_one_try_the_second_says_coalesced(self) -> None:
        """They have looked at the same moment; only the claim on the head tells them apart."""
        jobs = Jobs()
        stage = stage_of(starter=jobs)
        repository, record = stage.repository, stage.repository.record_attempt

        def after_a_rival(*arguments: Any, **named: Any) -> bool:
            repository.record_attempt = record  # type: ignore[method-assign]
            assert compact(stage).status == "started"
            return record(*arguments, **named)

        repository.record_attempt = after_a_rival  # type: ignore[method-assign]
        assert compact(stage).status == "coalesced"
        assert len(jobs.started) == 1

    def test_one_that_never_comes_back_is_tried_again_when_its_lease_is_over(self) -> None:
        jobs = Jobs()
        stage = stage_of(starter=jobs, policy=POLICY)
        for _ in range(2):
            stage.compactor.run_due("s")
        assert len(jobs.started) == 1
        stage.clock.advance(20 * 60)  # type: ignore[attr-defined]
        stage.compactor.run_due("s")
        first, second = jobs.started
        assert (first.number, second.number) == (1, 2)
        assert first.pass_id != second.pass_id
        assert first.name("acme") != second.name("acme")
        assert stage.summaries.run(second).status == "landed"
        assert stage.summaries.run(first).status == "coalesced", "the lost one comes back after all"
        assert len([e for e in stage.active if e == "+"]) == 2

    def test_one_that_cannot_be_started_does_not_block_the_next(self) -> None:
        jobs = Jobs(StoreUnavailable("throttled"))
        stage = stage_of(starter=jobs, policy=POLICY)
        with pytest.raises(StoreUnavailable):
            stage.compactor.run_due("s")
        session = stage.repository.find("s")
        assert session is not None
        assert session.attempt is not None
        assert (session.attempt.status, session.attempt.reason) == ("failed", "not_started")
        stage.clock.advance(60)  # type: ignore[attr-defined]
        answer = stage.compactor.run_due("s")
        assert answer is not None
        assert (answer.status, len(jobs.started)) == ("started", 1)

    def test_a_policy_that_is_changed_after_a_failure_begins_anew(self) -> None:
        """The session forgets its attempts; the next one is no repetition of the first, whose name is taken."""
        jobs = Jobs()
        stage = stage_of(starter=jobs, policy=POLICY)
        stage.compactor.run_due("s")
        stage.summaries.fail(jobs.started[0], "blank")
        stage.clock.advance(1)  # type: ignore[attr-defined]
        stage.service.update("alice", "s", SessionChanges(set_compaction=True, compaction=JsonObject.of(POLICY)))
        stage.compactor.run_due("s")
        first, second = jobs.started
        assert (first.number, second.number) == (1, 1)
        assert first.name("acme") != second.name("acme")
        assert first.pass_id != second.pass_id
        assert stage.summaries.run(second).status == "landed"

    def test_a_failure_that_is_told_late_hurts_no_newer_try(self) -> None:
        jobs = Jobs()
        stage = stage_of(starter=jobs, policy=POLICY)
        stage.compactor.run_due("s")
        stage.clock.advance(20 * 60)  # type: ignore[attr-defined]
        stage.compactor.run_due("s")
        stage.summaries.fail(jobs.started[0], "timeout")
        session = stage.repository.find("s")
        assert session is not None
        assert session.attempt is not None
        assert (session.attempt.status, session.attempt.number) == ("running", 2)

    def test_a_commit_that_is_repeated_lands_once(self) -> None:
        jobs = Jobs()
        stage = stage_of(starter=jobs)
        compact(stage)
        job = jobs.started[0]
        part = stage.summaries.summarise(job, 0, 0).part
        assert part is not None
        first, second = stage.summaries.commit(job, part), stage.summaries.commit(job, part)
        assert (first.status, first.record) == ("landed", second.record)
        assert stage.repository.version("s") == 17

    def test_a_job_travels_as_json(self) -> None:
        job = SummaryJob("s", 1, 2, 3, 4, "3.ab", "{}", None, "trigger", None, only_at=True)
        assert SummaryJob.from_json(job.to_json()) == job


def test_every_kind_of_model_error_has_a_word() -> None:
    """They stand in histories and metrics."""
    kinds: list[type[ModelError]] = [ModelThrottled, ModelUnavailable, ModelTimeout, ModelRejected]
    assert [kind.reason for kind in kinds] == ["throttled", "unavailable", "timeout", "rejected"]
