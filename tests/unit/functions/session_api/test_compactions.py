"""Running a compaction over HTTP: what becomes of it, dry runs, conditions, races."""

from typing import Any

import pytest

from tests.support.compactions import NEVER, NEWEST, SUMMARY, history, problem, window
from tests.support.session_api import Api
from turnlog.stores.memory import InMemorySessionRepository, MemoryDatabase

UNTOUCHED = {
    "dry_run": False,
    "archived": [],
    "tokens_saved": 0,
    "kept_reason": None,
    "abandoned_calls": [],
    "over_budget": False,
    "reason": None,
    "retry_at": None,
    "generation": 0,
}


@pytest.fixture
def told(session: Api) -> Api:
    """Three turns of one event each."""
    session.append("one", "two", "three")
    return session


# --------------------------------------------------------------------------- what becomes of one


def test_a_compaction_is_created_with_its_place_and_the_new_version(told: Api) -> None:
    """201: the older turns have left the window, and the log is as it was."""
    reply = told.compact()

    assert (201, "compacted", 1, 4) == (reply.status, *(reply.json[n] for n in ("status", "generation", "version")))
    assert [[1, 2]] == reply.json["archived"]
    assert reply.json["tokens_saved"] > 0
    assert f"compactions/{reply.json['id']}" == reply.headers["location"]
    assert reply.headers["etag"] == told.list().headers["etag"]
    assert ["three"] == window(told)
    assert ["one", "two", "three"] == [event["message"]["content"] for event in told.list().json["data"]]


def test_where_nothing_can_leave_nothing_happens(told: Api) -> None:
    """200, and why more stays than was asked for."""
    told.compact()
    reply = told.compact()
    assert (200, "nothing_to_do", None, 1) == (
        reply.status,
        reply.json["status"],
        reply.json["id"],
        reply.json["generation"],
    )
    assert "location" not in reply.headers

    told.append({"message": {"role": "assistant", "content": "a"}}, {"message": {"role": "assistant", "content": "b"}})
    kept = told.compact(body={"strategy": {"type": "sliding_window", "max_events": 1}}).json
    assert ("nothing_to_do", "newest_turn") == (kept["status"], kept["kept_reason"])


def test_a_trigger_that_does_not_fire_leaves_all_as_it_is(told: Api) -> None:
    """200 not_triggered; force runs it all the same."""
    body = {"trigger": {"type": "turn_count", "max_turns": 3}, "strategy": NEWEST}
    reply = told.compact(body=body)

    assert (200, {**UNTOUCHED, "id": None, "status": "not_triggered", "version": 3}) == (reply.status, reply.json)
    assert 201 == told.compact(body={**body, "force": True}).status
    assert {"type": "turn_count", "max_turns": 3} == history(told)["data"][0]["trigger"]


@pytest.mark.parametrize("trigger", [{"type": "token_count", "threshold": 1}, {"type": "turn_count", "max_turns": 2}])
def test_a_trigger_that_fires_runs_it(told: Api, trigger: Any) -> None:
    """Also inside of several."""
    body = {"trigger": {"type": "any_of", "triggers": [NEVER, trigger]}, "strategy": NEWEST}
    assert "compacted" == told.compact(body=body).json["status"]


def test_abandoned_calls_and_a_budget_that_is_exceeded_are_told(session: Api) -> None:
    """In the answer and in the history."""
    call = {"type": "tool_call", "id": "call-1", "name": "n", "arguments": "{}"}
    session.append("one", {"message": {"role": "assistant", "content": [call]}}, "two " * 50)
    reply = session.compact(body={"strategy": {"type": "token_count", "max_tokens": 5}})

    told = {"abandoned_calls": ["call-1"], "over_budget": True, "kept_reason": "newest_turn"}
    assert told.items() <= reply.json.items()
    assert told.items() <= history(session)["data"][0].items()


def test_too_many_stretches_are_a_conflict(api: Api) -> None:
    """409: superseded system messages between many turns would leave one by one, and the archive state outgrow its
    item. With the turns between them they leave together."""
    api.create(allow_system_messages=True)
    system = {"message": {"role": "system", "content": "Be brief."}}
    for _ in range(22):
        assert api.append(*("hello", system) * 50).status == 201
    refused = api.compact(body={"strategy": {"type": "turn_window", "max_turns": 2000}})

    assert (409, "too-fragmented") == problem(refused)
    assert [] == history(api)["data"]
    assert 201 == api.compact().status


# --------------------------------------------------------------------------- dry runs


@pytest.mark.parametrize(
    ("strategy", "status"),
    [(NEWEST, "compacted"), ({"type": "turn_window", "max_turns": 9}, "nothing_to_do"), (SUMMARY, "compacted")],
)
def test_a_dry_run_tells_what_would_happen_and_writes_nothing(told: Api, strategy: Any, status: str) -> None:
    """200 without an id; a model is not asked, and the history stays empty."""
    before = told.call("GET", "/v1/sessions/s")
    reply = told.compact(body={"strategy": strategy, "dry_run": True})

    assert (200, status, True, None) == (reply.status, *(reply.json[n] for n in ("status", "dry_run", "id")))
    assert ([[1, 2]] if status == "compacted" else []) == reply.json["archived"]
    assert "location" not in reply.headers
    assert before.content == told.call("GET", "/v1/sessions/s").content
    assert {"data": [], "next_cursor": None, "has_more": False, "attempt": None} == history(told)
    assert [] == told.starter.jobs


def test_a_dry_run_asks_the_trigger(told: Api) -> None:
    """Unless it is forced."""
    body = {"trigger": NEVER, "strategy": NEWEST, "dry_run": True}
    assert "not_triggered" == told.compact(body=body).json["status"]
    assert "compacted" == told.compact(body={**body, "force": True}).json["status"]


def test_a_dry_run_says_what_an_attempt_in_the_way_would_not(told: Api) -> None:
    """While a model is asked, too."""
    told.compact(body={"strategy": SUMMARY})
    assert "compacted" == told.compact(body={"strategy": NEWEST, "dry_run": True}).json["status"]


# --------------------------------------------------------------------------- conditions and races


def test_if_match_names_the_log_and_is_answered_with_its_version(told: Api) -> None:
    """412 for another version, with the present one; the session's own ETag holds as well."""
    stale = told.list().headers["etag"]
    told.append("four")
    refused = told.compact(If_Match=stale)

    assert (412, "precondition-failed") == problem(refused)
    assert refused.json["version"] == refused.headers["etag"] == told.list().headers["etag"]
    assert 201 == told.compact(If_Match=told.call("GET", "/v1/sessions/s").headers["etag"]).status


class Overtaken(InMemorySessionRepository):
    """A store in which somebody appends just before the pass is written."""

    def compact(self, request: Any) -> Any:
        """The pass, overtaken once."""
        rival = Api(repository_for=lambda tenant: InMemorySessionRepository(tenant, database=self._db))
        assert rival.append("meanwhile").status == 201
        return super().compact(request)


def test_a_pass_that_is_overtaken_says_so_where_the_version_mattered() -> None:
    """200 coalesced after an append, with If-Match; without one the pass lands beside the append."""
    database = MemoryDatabase()
    api = Api(repository_for=lambda tenant: Overtaken(tenant, database=database))
    api.create()
    api.append("one", "two", "three")
    coalesced = api.compact(If_Match=api.list().headers["etag"])

    assert (200, "coalesced", None) == (coalesced.status, coalesced.json["status"], coalesced.json["id"])
    assert "location" not in coalesced.headers
    assert ["one", "two", "three", "meanwhile"] == window(api)
    assert "compacted" == api.compact().json["status"]
