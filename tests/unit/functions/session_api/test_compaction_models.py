"""Compactions over HTTP that a model has a part in: started, waited for, failed, tried again."""

import pytest

from tests.support.compactions import NEVER, NEWEST, PATH, SUMMARY, history, problem, undo, window
from tests.support.session_api import Api
from turnlog.domain.due import Attempt


@pytest.fixture
def told(session: Api) -> Api:
    """Three turns of one event each."""
    session.append("one", "two", "three")
    return session


def test_a_strategy_that_asks_a_model_is_started(told: Api) -> None:
    """202 with the id under which the pass lands; nothing has changed yet."""
    reply = told.compact(body={"strategy": SUMMARY})
    [job] = told.starter.jobs

    assert (202, "started", 0) == (reply.status, reply.json["status"], reply.json["generation"])
    assert (job.pass_id, f"compactions/{job.pass_id}") == (reply.json["id"], reply.headers["location"])
    assert ("s", "request", "alice", 3, False) == (
        job.session_id,
        job.asked_by,
        job.user,
        job.last_seq,
        job.only_at,
    )
    assert ["one", "two", "three"] == window(told)


def test_while_it_is_being_made_others_are_told_its_id(told: Api) -> None:
    """200 coalesced, whatever they ask for and however they insist; it is one job."""
    first = told.compact(body={"strategy": SUMMARY}).json
    for body in ({"strategy": SUMMARY}, {"strategy": NEWEST}, {"strategy": NEWEST, "force": True}):
        reply = told.compact(body=body)
        assert (200, "coalesced", first["id"], "running") == (
            reply.status,
            *(reply.json[name] for name in ("status", "id", "reason")),
        )
        assert reply.json["retry_at"] > told.clock.now().text
    assert 1 == len(told.starter.jobs)


def test_a_running_attempt_is_found_under_its_id(told: Api) -> None:
    """And stands beside the list."""
    started = told.compact(body={"strategy": SUMMARY}).json
    found = told.call("GET", f"{PATH}/{started['id']}")

    assert 200 == found.status
    assert {"id": started["id"], "status": "running", "number": 1, "reason": None, "detail": None} == {
        name: found.json[name] for name in ("id", "status", "number", "reason", "detail")
    }
    assert ([], found.json) == (history(told)["data"], history(told)["attempt"])
    assert (404, "compaction-not-found") == problem(undo(told, started["id"]))


def fail(api: Api, reason: str = "throttled") -> Attempt:
    """Let the running attempt fail, as the steps do."""
    repository = api.repository_for("acme")
    session = repository.find("s")
    assert session is not None
    assert session.attempt is not None
    now, at = api.clock.now(), session.attempt
    failed = Attempt(at.number, "failed", now, reason, "asked too often", now.plus_seconds(60), at.pass_id, at.size)
    assert repository.record_attempt(session, failed, now=now)
    return failed


def test_after_a_failure_the_next_try_waits(told: Api) -> None:
    """200 refused, with the reason and the time; force does not wait, and neither does anybody after that time."""
    id = told.compact(body={"strategy": SUMMARY}).json["id"]
    failed = fail(told)
    reply = told.compact(body={"strategy": SUMMARY})
    assert failed.retry_at is not None

    assert (200, "refused", id, "throttled", failed.retry_at.text) == (
        reply.status,
        *(reply.json[name] for name in ("status", "id", "reason", "retry_at")),
    )
    assert {"status": "failed", "reason": "throttled", "detail": "asked too often"}.items() <= (
        told.call("GET", f"{PATH}/{id}").json.items()
    )
    forced = told.compact(body={"strategy": SUMMARY, "force": True})
    assert (202, True) == (forced.status, forced.json["id"] != id)
    fail(told)
    told.clock.advance(61)
    assert 202 == told.compact(body={"strategy": SUMMARY}).status
    assert [1, 2, 3] == [job.number for job in told.starter.jobs]


def test_what_could_not_be_started_is_a_failure_to_be_tried_again(told: Api) -> None:
    """503 with Retry-After; the attempt says why."""
    told.starter.is_down = True
    reply = told.compact(body={"strategy": SUMMARY})

    assert (503, "store-unavailable") == problem(reply)
    assert "2" == reply.headers["retry-after"]
    assert ("failed", "not_started") == tuple(history(told)["attempt"][name] for name in ("status", "reason"))


@pytest.mark.parametrize("models", [(), ("other",)])
def test_a_model_that_the_stage_has_not_is_pointed_at(models: tuple[str, ...]) -> None:
    """422 when it is asked for, and where a policy names it: at creation and at a change."""
    api = Api(models=models)
    policy = {"trigger": NEVER, "strategy": SUMMARY}
    refused = api.create(compaction=policy)
    assert (422, ["/compaction/strategy/model"]) == (problem(refused)[0], refused.pointers)
    assert f"there is: {', '.join(models) or 'none'}" in refused.json["detail"]
    assert 404 == api.call("GET", "/v1/sessions/s").status

    api.create()
    changed = api.call("PATCH", "/v1/sessions/s", {"compaction": policy})
    assert (422, ["/compaction/strategy/model"]) == (changed.status, changed.pointers)
    asked = api.compact(body={"strategy": SUMMARY})
    assert (422, ["/strategy/model"]) == (asked.status, asked.pointers)


def test_a_model_of_the_stage_may_stand_in_a_policy(api: Api) -> None:
    assert 201 == api.create(compaction={"trigger": NEVER, "strategy": SUMMARY}).status
