"""Policies of sessions and of the stage: which one a compaction carries out, and which append asks for one."""

from typing import Any

import pytest

from tests.support.compactions import NEVER, NEWEST, POLICY, history, problem
from tests.support.scripted.process import Process, World
from tests.support.session_api import Api
from turnlog.stores.dynamodb import keys

PK = keys.session_pk("acme", "s")


def test_without_a_strategy_the_sessions_policy_is_carried_out(api: Api) -> None:
    """Its trigger included; force does without the trigger."""
    api.create(compaction=POLICY)
    api.append("one", "two")
    assert "not_triggered" == api.compact(body={}).json["status"]
    api.append("three")
    assert 201 == api.compact(body={}).status
    [record] = history(api)["data"]
    assert (POLICY["trigger"], POLICY["strategy"]) == (record["trigger"], record["strategy"])
    api.append("four")
    assert 201 == api.compact(body={"force": True}).status


def test_a_sessions_own_strategy_gives_way_to_one_that_is_asked_for(api: Api) -> None:
    """And so does its trigger, without which a strategy always runs."""
    api.create(compaction={"trigger": NEVER, "strategy": {"type": "turn_window", "max_turns": 9}})
    api.append("one", "two")
    assert "not_triggered" == api.compact(body={}).json["status"]
    assert "compacted" == api.compact().json["status"]


def test_without_any_policy_a_strategy_is_required(session: Api) -> None:
    reply = session.compact(body={"force": True})
    assert (422, "invalid-request") == problem(reply)
    assert ["/strategy"] == reply.pointers


def test_the_stages_policy_holds_for_sessions_without_one() -> None:
    """A session may opt out of it by a trigger that never fires."""
    api = Api(compaction=POLICY)
    for sid, own in (("s", None), ("quiet", {"trigger": NEVER, "strategy": NEWEST})):
        api.create(sid, compaction=own)
        api.append("one", "two", "three", sid=sid)

    assert "compacted" == api.compact(body={}).json["status"]
    assert "not_triggered" == api.compact("quiet", {}).json["status"]
    assert api.call("GET", "/v1/sessions/s").json["compaction"] is None


def deployed(**stage: Any) -> tuple[Api, World]:
    """The function over the store that is deployed, on a table in memory."""
    world = World()
    return Api(repository_for=lambda _: Process(world).repository, **stage), world


def asking(world: World) -> list[int]:
    """The commits, by the seq they end with, that the stream's filter lets through to the worker."""
    found = [key for key in world.table.keys(PK, "E#", "E~") if (world.table.at(key) or {}).get("due")]
    return [int(sk.rpartition("#")[2]) for _, sk in found]


@pytest.mark.parametrize("own", [True, False], ids=["the session's own policy", "the stage's"])
def test_the_append_that_crosses_the_trigger_asks_for_a_pass(own: bool) -> None:
    """On its commit, in the same write; and again with each turn while the trigger fires, not with each event."""
    api, world = deployed(compaction=None if own else POLICY)
    api.create(compaction=POLICY if own else None)
    reply = {"message": {"role": "assistant", "content": "a"}}
    for event in ("one", reply, "two", reply, "three", reply, "four"):
        assert api.append(event).status == 201

    assert [5, 7] == asking(world)


@pytest.mark.parametrize("policy", [None, {"trigger": NEVER, "strategy": NEWEST}])
def test_without_a_trigger_no_append_asks(policy: Any) -> None:
    """Neither a session that opts out of its stage's policy, nor one of a stage without."""
    api, world = deployed(compaction=None if policy is None else POLICY)
    api.create(compaction=policy)
    for text in ("one", "two", "three", "four"):
        api.append(text)

    assert [] == asking(world)


def test_a_policy_that_the_window_is_over_already_asks_at_once() -> None:
    """On the head, which the stream shows as well."""
    api, world = deployed()
    api.create()
    api.append("one", "two", "three")
    assert not (world.table.at((PK, keys.HEAD)) or {}).get("due")
    assert 200 == api.call("PATCH", "/v1/sessions/s", {"compaction": POLICY}).status
    assert (world.table.at((PK, keys.HEAD)) or {}).get("due")
