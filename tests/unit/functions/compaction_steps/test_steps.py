"""The function behind the state machine: each step by its event, and answers that the machine can read."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from compaction_steps import dependencies, observability
from compaction_steps.dependencies import Dependencies, SettingsError
from compaction_steps.steps import STEPS, Steps
from tests.support.compacting import SUMMARY, Jobs, Parts, SomeModel, Stage, reply
from turnlog.compactor import CompactCommand, Summaries, SummaryJob
from turnlog.domain.errors import CorruptLog, StoreUnavailable
from turnlog.domain.exactjson import JsonObject
from turnlog.stores.memory import InMemorySessionRepository

EVENTS = Path(__file__).parents[4] / "events" / "compaction_steps"
FIELDS = {"status", "chunks", "part", "wait_seconds", "reason", "detail"}


class Site:
    """A session whose summary has been started."""

    def __init__(self, *answers: Any) -> None:
        self.jobs, self.parts = Jobs(), Parts()
        repository, model = InMemorySessionRepository(), SomeModel(*answers)
        self.stage = Stage(repository, model=model, starter=self.jobs, parts=self.parts)
        self.stage.create()
        self.stage.turns(1, 8)
        command = CompactCommand(strategy=JsonObject.of(SUMMARY))
        assert self.stage.compactor.compact("alice", "s", command).status == "started"
        self.tenants: list[str] = []
        self.steps = Steps(lambda: Dependencies(self._summaries))

    def _summaries(self, tenant: str) -> Summaries:
        self.tenants.append(str(tenant))
        return self.stage.summaries

    def step(self, name: str, **more: Any) -> dict[str, Any]:
        """One step, on an event as the machine sends it."""
        event = json.loads((EVENTS / f"{name}.json").read_text())
        answer = self.steps({**event, "job": self.jobs.started[0].to_json(), **more}, None)
        assert answer.keys() == FIELDS
        assert json.loads(json.dumps(answer)) == answer
        return answer


def test_the_events_are_those_of_the_machine() -> None:
    """Each step has one, and each job in them can be read."""
    assert {path.stem for path in EVENTS.iterdir()} == STEPS.keys()
    for path in EVENTS.iterdir():
        assert SummaryJob.from_json(json.loads(path.read_text())["job"]).session_id == "s"


def test_from_the_first_step_to_the_last() -> None:
    site = Site(reply("All of it."))
    assert site.step("load")["chunks"] == 1
    part = site.step("summarise")["part"]
    assert site.step("commit", part=part)["status"] == "landed"
    assert site.step("commit", part=part)["status"] == "landed", "repeating it is safe"
    assert site.step("load")["status"] == "coalesced"
    assert site.stage.active[:2] == ["+", "+"]
    assert set(site.tenants) == {"acme"}


def test_parts_are_combined() -> None:
    site = Site(reply("One."), reply("Both."))
    other = site.parts.put(site.jobs.started[0], "0.1", "Two.")
    parts = [site.step("summarise")["part"], asdict(other)]
    assert site.step("combine", parts=parts)["chunks"] == 1
    both = site.step("summarise", level=1, below=parts)["part"]
    assert "One.\nTwo." in site.stage.model.question(1)
    assert site.step("commit", part=both)["status"] == "landed"


def test_a_failure_is_told_and_remembered() -> None:
    site = Site(reply(""))
    told = site.step("summarise")
    assert (told["status"], told["reason"]) == ("failed", "blank")
    assert site.step("fail", reason="blank")["status"] == "failed"
    session = site.stage.repository.find("s")
    assert session is not None
    assert session.attempt is not None
    assert (session.attempt.status, session.attempt.reason) == ("failed", "blank")


def test_what_the_store_cannot_do_just_now_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine tries the step again; anything else of ours is an answer."""
    site = Site()

    def failing(error: Exception) -> Any:
        def window(*_: Any, **__: Any) -> Any:
            raise error

        return window

    monkeypatch.setattr(site.stage.repository, "window", failing(StoreUnavailable("throttled")))
    with pytest.raises(StoreUnavailable):
        site.step("load")
    monkeypatch.setattr(site.stage.repository, "window", failing(CorruptLog("a hole")))
    assert site.step("load")["reason"] == "corrupt-log"


def test_there_are_no_other_steps() -> None:
    with pytest.raises(KeyError):
        Site().steps({"step": "other", "tenant": "acme", "job": {}}, None)


def test_the_log_holds_no_content_and_no_names(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observability.telemetry.logger.registered_handler, "stream", sys.stdout)
    site = Site(reply("a secret summary"))
    site.step("summarise", tenant="secret-tenant")
    site.step("load")
    said = capsys.readouterr().out
    assert '"step":"summarise"' in said
    assert '"compaction":"1.' in said
    assert "secret" not in said
    assert "u1" not in said


def test_the_environment_is_read_when_the_first_step_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    dependencies.production.cache_clear()
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    for name in ("TURNLOG_TABLE", "TURNLOG_BUCKET", "TURNLOG_MODELS", "TURNLOG_COMPACTION"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SettingsError, match="TURNLOG_TABLE"):
        dependencies.production()
    monkeypatch.setenv("TURNLOG_TABLE", "t")
    monkeypatch.setenv("TURNLOG_BUCKET", "b")
    monkeypatch.setenv("TURNLOG_MODELS", '{"some": {"provider": "scripted", "model": "facts", "window_tokens": 9000}}')
    assert dependencies.production().summaries_for("acme") is not None
    dependencies.production.cache_clear()
