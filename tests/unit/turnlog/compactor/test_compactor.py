"""Passes that callers and policies ask for."""

from typing import Any

import pytest

from tests.support.compacting import POLICY, SUMMARY, Stage
from turnlog.compactor import CompactCommand, CompactionAnswer
from turnlog.domain.due import Attempt
from turnlog.domain.errors import (
    InvalidRequest,
    NotNewestPass,
    PassNotFound,
    PreconditionFailed,
    SessionNotFound,
    TooFragmented,
)
from turnlog.domain.exactjson import JsonObject
from turnlog.domain.passes import PassRecord
from turnlog.domain.session import Version
from turnlog.stores.memory import InMemorySessionRepository

THREE = JsonObject.of({"type": "turn_window", "max_turns": 3})


@pytest.fixture
def stage() -> Stage:
    """Ten turns, without a policy."""
    stage = Stage(InMemorySessionRepository())
    stage.create()
    stage.turns(1, 10)
    return stage


def compact(stage: Stage, if_match: tuple[str, ...] | None = None, **command: Any) -> CompactionAnswer:
    return stage.compactor.compact("alice", "s", CompactCommand(**command), if_match=if_match)


class TestAsked:
    def test_a_strategy_without_a_trigger_runs(self, stage: Stage) -> None:
        answer = compact(stage, strategy=THREE)
        assert (answer.status, answer.archived, answer.version.generation) == ("compacted", ((1, 14),), 1)
        assert answer.tokens_saved > 0
        assert stage.active == ["u8", "a8", "u9", "a9", "u10", "a10"]
        _, page = stage.compactor.history("alice", "s")
        (record,) = page.passes
        assert (record.id, record.detail.asked_by, record.detail.user, record.detail.strategy) == (
            answer.id,
            "request",
            "alice",
            THREE,
        )

    def test_a_second_one_has_nothing_to_do(self, stage: Stage) -> None:
        compact(stage, strategy=THREE)
        again = compact(stage, strategy=THREE)
        assert (again.status, again.id, again.version.generation) == ("nothing_to_do", None, 1)

    def test_a_trigger_that_does_not_fire_leaves_it(self, stage: Stage) -> None:
        trigger = JsonObject.of({"type": "turn_count", "max_turns": 10})
        assert compact(stage, trigger=trigger, strategy=THREE).status == "not_triggered"
        assert compact(stage, trigger=trigger, strategy=THREE, force=True).status == "compacted"

    def test_without_a_strategy_the_policy_is_carried_out(self) -> None:
        stage = Stage(InMemorySessionRepository(), default={**POLICY, "strategy": dict(THREE)})
        stage.create()
        stage.turns(1, 20)
        assert compact(stage).status == "not_triggered"
        assert compact(stage, force=True).archived == ((1, 34),)

    def test_without_either_it_says_what_is_missing(self, stage: Stage) -> None:
        with pytest.raises(InvalidRequest) as caught:
            compact(stage)
        assert caught.value.errors[0].pointer == "/strategy"

    @pytest.mark.parametrize("model", ["other", None])
    def test_a_model_that_the_stage_has_not_is_named(self, stage: Stage, model: str | None) -> None:
        strategy = {**SUMMARY, "model": "other"} if model else {**SUMMARY}
        if model is None:
            strategy["model"] = "unknown"
        with pytest.raises(InvalidRequest) as caught:
            compact(stage, strategy=JsonObject.of(strategy))
        assert caught.value.errors[0].pointer == "/strategy/model"
        assert "some" in caught.value.detail

    def test_a_dry_run_tells_and_writes_nothing(self, stage: Stage) -> None:
        told = compact(stage, strategy=THREE, dry_run=True)
        assert (told.status, told.id, told.archived, told.version.generation) == ("compacted", None, ((1, 14),), 0)
        assert compact(stage, strategy=THREE).tokens_saved == told.tokens_saved
        assert compact(stage, strategy=THREE, dry_run=True).status == "nothing_to_do"
        summary = compact(stage, strategy=JsonObject.of(SUMMARY), dry_run=True)
        assert (summary.status, stage.model.asked) == ("compacted", [])

    def test_if_match_is_compared_with_the_log(self, stage: Stage) -> None:
        version = stage.repository.find("s")
        assert version is not None
        with pytest.raises(PreconditionFailed) as caught:
            compact(stage, (Version(1, 2, 3).etag(),), strategy=THREE)
        assert caught.value.version == version.version.etag()
        assert compact(stage, (version.version.etag(),), strategy=THREE).status == "compacted"

    def test_a_foreign_session_is_an_unknown_one(self, stage: Stage) -> None:
        for call in (
            lambda: stage.compactor.compact("bob", "s", CompactCommand(strategy=THREE)),
            lambda: stage.compactor.undo("bob", "s", "1"),
            lambda: stage.compactor.history("bob", "s"),
            lambda: stage.compactor.find("bob", "s", "1"),
            lambda: stage.compactor.compact("alice", "ghost", CompactCommand(strategy=THREE)),
        ):
            with pytest.raises(SessionNotFound):
                call()

    def test_an_expired_session_is_gone(self, stage: Stage) -> None:
        stage.clock.advance(10**9)  # type: ignore[attr-defined]
        with pytest.raises(SessionNotFound):
            compact(stage, strategy=THREE)

    def test_undo_brings_the_window_back(self, stage: Stage) -> None:
        before = stage.active
        made = compact(stage, strategy=THREE)
        assert made.id is not None
        version, record = stage.compactor.undo("alice", "s", made.id)
        assert (stage.active, version.generation, record.undoes, record.detail.user) == (before, 2, made.id, "alice")
        with pytest.raises(PassNotFound):
            stage.compactor.undo("alice", "s", "77")
        compact(stage, strategy=THREE)
        with pytest.raises(NotNewestPass):
            stage.compactor.undo("alice", "s", made.id)

    def test_what_is_being_tried_is_found_by_its_id(self, stage: Stage) -> None:
        session = stage.repository.find("s")
        assert session is not None
        attempt = Attempt(1, "failed", stage.clock.now(), reason="blank", pass_id="1.ab")
        assert stage.repository.record_attempt(session, attempt, now=stage.clock.now())
        assert stage.compactor.find("alice", "s", "1.ab")[1] == attempt
        made = compact(stage, strategy=THREE)
        assert made.id is not None
        assert isinstance(stage.compactor.find("alice", "s", made.id)[1], PassRecord)
        with pytest.raises(PassNotFound):
            stage.compactor.find("alice", "s", "1.ab")

    def test_a_failed_try_keeps_others_away_until_its_time(self, stage: Stage) -> None:
        session, now = stage.repository.find("s"), stage.clock.now()
        assert session is not None
        attempt = Attempt(1, "failed", now, reason="blank", retry_at=now.plus_seconds(60))
        assert stage.repository.record_attempt(session, attempt, now=now)
        refused = compact(stage, strategy=THREE)
        assert (refused.status, refused.reason, refused.retry_at) == ("refused", "blank", attempt.retry_at)
        assert compact(stage, strategy=THREE, force=True).status == "compacted"

    def test_too_many_stretches_are_refused(self) -> None:
        """Superseded system messages stand between turns that stay."""
        stage = Stage(InMemorySessionRepository())
        stage.create(allow_system_messages=True)
        for i in range(0, 1200, 2):
            stage.say(f"u{i} s{i} u{i + 1} s{i + 1}")
        many = JsonObject.of({"type": "turn_window", "max_turns": 5000})
        with pytest.raises(TooFragmented):
            compact(stage, strategy=many)
        assert stage.repository.version("s") == 2400


class TestDue:
    def run(self, stage: Stage) -> CompactionAnswer:
        answer = stage.compactor.run_due("s")
        assert answer is not None
        return answer

    def test_the_policy_is_carried_out_again_and_again(self) -> None:
        stage = Stage(InMemorySessionRepository())
        stage.create(POLICY)
        asked = []
        for i in range(1, 61):
            if stage.turns(i, i):
                asked.append(i)
                assert self.run(stage).status == "compacted"
        assert asked == [21, 32, 43, 54], "between two passes the window's start stays as it is"
        _, page = stage.compactor.history("alice", "s")
        assert {record.detail.asked_by for record in page.passes} == {"trigger"}
        assert [r.detail.trigger for r in page.passes] == [JsonObject.of(POLICY["trigger"])] * 4

    def test_who_comes_without_need_finds_nothing_to_do(self) -> None:
        stage = Stage(InMemorySessionRepository())
        assert stage.compactor.run_due("ghost") is None
        stage.create()
        stage.turns(1, 30)
        assert stage.compactor.run_due("s") is None, "no policy"

        other = Stage(InMemorySessionRepository(), default=POLICY)
        other.create()
        other.turns(1, 20)
        assert self.run(other).status == "not_triggered"

    def test_a_policy_that_cannot_be_met_is_tried_seldom(self) -> None:
        """Field case D7: what the session must keep is above the threshold by itself."""
        policy = {
            "trigger": {"type": "token_count", "threshold": 1000},
            "strategy": {"type": "token_count", "max_tokens": 500},
        }
        stage = Stage(InMemorySessionRepository())
        stage.create(policy, allow_system_messages=True)
        stage.say([{"id": "rules", "type": "system", "text": "rule " * 1200}])
        looked = 0
        for i in range(1, 201):
            if stage.turns(i, i):
                looked += 1
                self.run(stage)
        assert looked <= 8
        session = stage.repository.find("s")
        assert session is not None
        assert session.attempt is not None
        assert session.attempt.status == "futile"

    def test_a_pass_that_would_save_nothing_is_remembered(self) -> None:
        policy = {**POLICY, "strategy": {"type": "turn_window", "max_turns": 50}}
        stage = Stage(InMemorySessionRepository())
        stage.create(policy)
        assert stage.turns(1, 21) == [21]
        assert (self.run(stage).status, stage.repository.version("s")) == ("nothing_to_do", 42)
        assert stage.turns(22, 50) == [26, *range(27, 51)], "a fifth more turns"
        self.run(stage)
        assert stage.turns(51, 60) == [60]

    def test_a_branch_conversation_has_turns_of_its_own(self) -> None:
        """Field case D5: nothing is at the root."""
        stage = Stage(InMemorySessionRepository())
        stage.create(POLICY)
        asked = [i for i in range(1, 23) if stage.say(f"u{i}@orch.w1 a{i}@orch.w1")]
        assert asked == [21, 22]
        assert self.run(stage).archived == ((1, 24),)

    def test_a_call_that_waits_for_a_person_keeps_its_turn(self) -> None:
        """Field cases A4 and A5; an abandoned one (A6) keeps nothing, and is named."""
        stage = Stage(InMemorySessionRepository())
        stage.create({**POLICY, "strategy": {"type": "turn_window", "max_turns": 2}})
        call = {"id": "ask", "type": "assistant", "tool_calls": [{"id": "ask1", "name": "ask", "arguments": "{}"}]}
        dead = {"id": "dead", "type": "assistant", "tool_calls": [{"id": "gone", "name": "t", "arguments": "{}"}]}
        pending = {
            "id": "p",
            "type": "tool",
            "responses": [{"id": "ask1", "name": "ask", "data": "…", "status": "pending"}],
        }
        stage.say(["u0", dead, "u1", call, pending])
        stage.turns(2, 22)
        answer = self.run(stage)
        assert (answer.archived, answer.abandoned_calls, answer.kept_reason) == (((1, 2),), ("gone",), "waiting_call")

    def test_the_sweep_forgets_what_nobody_wants_any_more(self) -> None:
        stage = Stage(InMemorySessionRepository(), default=POLICY)
        stage.create()
        stage.turns(1, 3)
        session, now = stage.repository.find("s"), stage.clock.now()
        assert session is not None
        late = Attempt(2, "failed", now, reason="timeout", retry_at=now)
        assert stage.repository.record_attempt(session, late, now=now)
        assert self.run(stage).status == "not_triggered"
        found = stage.repository.find("s")
        assert found is not None
        assert found.attempt is None
