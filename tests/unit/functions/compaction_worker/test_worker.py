"""The function behind the stream: batches, partial failures, the sweep."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from compaction_worker import observability
from compaction_worker.dependencies import Dependencies
from compaction_worker.settings import Settings, SettingsError
from compaction_worker.worker import LEAST_REMAINING_MS, SWEEP, UnknownEvent, Worker
from infra.constructs.compaction import SWEEP as SCHEDULED
from tests.support.compacting import POLICY, Stage
from tests.support.scripted.process import Process, World
from turnlog.compactor import CompactionAnswer, Compactor
from turnlog.domain.due import Attempt
from turnlog.domain.errors import CorruptLog, StoreUnavailable
from turnlog.domain.exactjson import JsonObject
from turnlog.service import CreateSession
from turnlog.stores.dynamodb import Connection
from turnlog.stores.dynamodb.keys import session_pk
from turnlog.stores.dynamodb.pending import SessionPlace
from turnlog.testing.builders import drafts
from turnlog.testing.clock import ManualClock

EVENTS = Path(__file__).parents[4] / "events" / "compaction_worker"


@dataclass
class Context:
    """Lambda's context."""

    aws_request_id: str = "request"
    remaining_ms: int = 60_000

    def get_remaining_time_in_millis(self) -> int:
        """Time left."""
        self.remaining_ms -= 20_000
        return self.remaining_ms + 20_000


class Site:
    """The worker over a scripted table, with sessions of several tenants."""

    def __init__(self) -> None:
        self.world, self.clock = World(), ManualClock()
        self.looked: list[tuple[str, str]] = []
        self.failing: dict[str, Exception] = {}
        process = Process(self.world)
        self.rim: Any = process.repository._rim
        connection = Connection(self.rim, self._repository, None, None)  # type: ignore[arg-type]
        self.worker = Worker(lambda: Dependencies(connection, self._compactor, self.clock))  # type: ignore[arg-type]

    def _repository(self, tenant: str) -> Any:
        return Process(self.world, tenant=tenant).repository

    def _compactor(self, tenant: str) -> Compactor:
        site = self

        class Watched(Compactor):
            def run_due(self, session_id: str) -> CompactionAnswer | None:
                site.looked.append((str(tenant), session_id))
                if session_id in site.failing:
                    raise site.failing[session_id]
                return super().run_due(session_id)

        return Watched(self._repository(tenant), clock=self.clock)

    def session(self, session_id: str, tenant: str = "acme", turns: int = 21) -> Stage:
        """A session that needs a pass."""
        stage = Stage(self._repository(tenant), clock=self.clock)
        stage.service.create(CreateSession("alice", session_id, compaction=JsonObject.of(POLICY)))
        for i in range(turns):
            stage.service.append("alice", session_id, drafts(f"u{i} a{i}"))
        return stage

    def record(self, session_id: str, number: int, tenant: str = "acme") -> dict[str, Any]:
        """A record of a due append."""
        (record, *_) = json.loads((EVENTS / "stream.json").read_text())["Records"]
        record["dynamodb"]["Keys"]["pk"]["S"] = session_pk(tenant, session_id)
        record["dynamodb"]["SequenceNumber"] = str(number)
        return dict(record)

    def handle(self, *records: Any) -> list[str]:
        """The sequence numbers that are reported as failed."""
        answer = self.worker({"Records": list(records)}, Context())
        return [one["itemIdentifier"] for one in answer["batchItemFailures"]]

    def generation(self, session_id: str, tenant: str = "acme") -> int:
        """How many passes a session has had."""
        found = self._repository(tenant).find(session_id)
        return -1 if found is None else int(found.version.generation)


@pytest.fixture
def site() -> Site:
    return Site()


def test_the_event_of_the_stream_compacts_the_sessions_that_it_names(site: Site) -> None:
    for name in ("s", "t"):
        site.session(name)
    event = json.loads((EVENTS / "stream.json").read_text())
    assert site.worker(event, Context()) == {"batchItemFailures": []}
    assert [site.generation(name) for name in ("s", "t")] == [1, 1]


def test_a_session_is_looked_at_once_a_batch(site: Site) -> None:
    site.session("s")
    assert site.handle(*(site.record("s", i) for i in range(5))) == []
    assert site.looked == [("acme", "s")]


def test_a_session_that_fails_holds_nobody_else_up(site: Site) -> None:
    for name in ("a", "b", "c"):
        site.session(name)
    site.failing["b"] = StoreUnavailable("throttled")
    records = [site.record(name, i) for i, name in enumerate("abcb")]
    assert site.handle(*records) == ["1", "3"]
    assert [site.generation(name) for name in "abc"] == [1, 0, 1]
    site.failing.clear()
    assert site.handle(*records[1:]) == []
    assert [site.generation(name) for name in "abc"] == [1, 1, 1], "delivering again is safe"


@pytest.mark.parametrize("failure", [CorruptLog("a hole"), ValueError("a bug")])
def test_whatever_goes_wrong_with_a_session_is_its_own(site: Site, failure: Exception) -> None:
    site.session("a")
    site.failing["b"] = failure
    assert site.handle(site.record("b", 1), site.record("a", 2)) == ["1"]
    assert site.generation("a") == 1


@pytest.mark.parametrize("pk", ["T#acme#U#alice", "poison", "T#acme#S#", 7, None])
def test_a_record_of_no_session_is_reported_and_the_rest_is_worked_off(site: Site, pk: Any) -> None:
    site.session("a")
    poison = site.record("x", 1)
    poison["dynamodb"]["Keys"]["pk"] = {"S": pk}
    found = site.handle(poison, site.record("a", 2))
    assert found in (["1"], []), "a key that only looks like a session's names nobody"
    assert site.generation("a") == 1


def test_a_record_without_keys_is_reported(site: Site) -> None:
    site.session("a")
    poison = site.record("x", 1)
    del poison["dynamodb"]["Keys"]
    assert site.handle(poison, site.record("a", 2)) == ["1"]
    assert site.generation("a") == 1


def test_without_a_sequence_number_the_whole_batch_fails(site: Site) -> None:
    """Nothing could be said about it alone."""
    broken = site.record("a", 1)
    del broken["dynamodb"]["SequenceNumber"]
    with pytest.raises(KeyError):
        site.handle(broken)


def test_long_and_odd_names_are_found(site: Site) -> None:
    """Keys hold the hashes of names that are too long."""
    tenant, session = "t#\u00e9" * 200, "s/%" * 300
    site.session(session, tenant)
    assert site.handle(site.record(session, 1, tenant)) == []
    assert site.generation(session, tenant) == 1


def test_a_session_that_is_gone_is_no_failure(site: Site) -> None:
    assert site.handle(site.record("ghost", 1)) == []
    assert site.handle(site.record("g" * 900, 1)) == []


def test_an_unknown_event_is_refused(site: Site) -> None:
    events: list[Any] = [{}, {"turnlog": "other"}, [], {"Records": "x"}]
    for event in events:
        with pytest.raises(UnknownEvent):
            site.worker(event, Context())


class TestSweep:
    def late(self, site: Site, name: str, seconds: int = 0) -> None:
        """A session whose try has failed; its time comes in so many seconds."""
        stage = site.session(name)
        found, now = stage.repository.find(name), site.clock.now()
        assert found is not None
        attempt = Attempt(1, "failed", now, reason="timeout", retry_at=now.plus_seconds(seconds))
        assert stage.repository.record_attempt(found, attempt, now=now)

    def test_it_looks_at_what_is_due_and_at_nothing_else(self, site: Site) -> None:
        self.late(site, "a")
        self.late(site, "b", 60)
        site.session("c")
        event = json.loads((EVENTS / "sweep.json").read_text())
        assert event == SWEEP == SCHEDULED
        assert site.worker(event, Context()) == {"swept": 1}
        assert [site.generation(name) for name in "abc"] == [1, 0, 0]
        site.clock.advance(60)
        assert site.worker(event, Context()) == {"swept": 1}
        assert site.worker(event, Context()) == {"swept": 0}

    def test_it_stops_in_time(self, site: Site) -> None:
        for name in "abcdef":
            self.late(site, name)
        assert site.worker(dict(SWEEP), Context(remaining_ms=LEAST_REMAINING_MS + 40_001)) == {"swept": 3}
        assert site.worker(dict(SWEEP), Context()) == {"swept": 3}

    def test_one_that_fails_does_not_stop_it(self, site: Site) -> None:
        for name in "ab":
            self.late(site, name)
        site.failing["a"] = CorruptLog("a hole")
        assert site.worker(dict(SWEEP), Context()) == {"swept": 2}
        assert [site.generation(name) for name in "ab"] == [0, 1]

    def test_deleted_sessions_are_not_found_any_more(self, site: Site) -> None:
        self.late(site, "a")
        site._repository("acme").delete("a")
        assert site.worker(dict(SWEEP), Context()) == {"swept": 0}


def test_the_log_names_no_tenant_and_no_session(
    site: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observability.logger.registered_handler, "stream", sys.stdout)
    site.session("secret-session", "secret-tenant")
    site.failing["other-secret"] = StoreUnavailable("throttled")
    site.handle(site.record("secret-session", 1, "secret-tenant"), site.record("other-secret", 2, "secret-tenant"))
    said = capsys.readouterr().out
    assert '"outcome":"compacted"' in said
    assert '"Compactions"' in said
    assert '"CompactionErrors"' in said
    assert "secret" not in said


def test_places_are_equal_by_what_they_name() -> None:
    """A batch looks at each session once."""
    assert len({SessionPlace("a", "s"), SessionPlace("a", "s")}) == 1  # type: ignore[arg-type]


def test_settings_are_read_and_required() -> None:
    variables = {"TURNLOG_TABLE": "t", "TURNLOG_BUCKET": "b", "TURNLOG_COMPACTION_MACHINE": "arn"}
    settings = Settings.from_environment(
        {**variables, "TURNLOG_COMPACTION": json.dumps(POLICY), "TURNLOG_MODELS": '{"a": {}, "b": {}}'}
    )
    assert (settings.compaction, settings.models) == (JsonObject.of(POLICY), ("a", "b"))
    assert Settings.from_environment(variables).models == ()
    for name in variables:
        with pytest.raises(SettingsError, match=name):
            Settings.from_environment({key: value for key, value in variables.items() if key != name})
    with pytest.raises(SettingsError, match="TURNLOG_MODELS"):
        Settings.from_environment({**variables, "TURNLOG_MODELS": "[]"})
