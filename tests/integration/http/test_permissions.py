"""The permission matrix: every route of the route table, for every kind of caller, through the deployed gateway.

The tables are in tests/support/permissions.py. The gateway's JWT authorizer checks real signatures here, and the
function runs with nothing but its own role's grants.
"""

from dataclasses import asdict
from itertools import count
from typing import Any

import pytest

from session_api.routes.table import ROUTES, Route
from tests.support.auth import EnforcedStack
from tests.support.auth_tokens import Tokens
from tests.support.permissions import (
    CALLERS,
    DOORS,
    NO_SCOPE,
    NOBODY,
    OTHER_TENANTS,
    OTHER_USERS,
    SERVED,
    UNAUTHORISED,
    Answer,
    Caller,
    Wire,
    filled,
)
from tests.support.permissions_victim import SECRET, Owner, Things, Victim

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.xdist_group("enforced-stack")]

VICTIM, UNKNOWN = "victim", "nobody"  # of one length, so that even content-length is the same
_numbers = count(1)


@pytest.fixture(scope="module")
def victim(wire: Wire, tokens: Tokens) -> Victim:
    """What all strangers knock at."""
    return Victim.of(Owner(wire, tokens), VICTIM)


@pytest.fixture(scope="module")
def before(victim: Victim) -> Any:
    """The victim as its owner saw it before anybody knocked."""
    return victim.export(), victim.listed()


def knock(wire: Wire, tokens: Tokens, caller: Caller, route: Route, sid: str, things: Things) -> Answer:
    """One request of the caller at the door, for this session."""
    path = filled(route.path, sid=sid, **asdict(things))
    return wire.send(route.method, path, caller.headers(tokens), filled(DOORS[route.key].body, sid=sid))


def test_every_route_is_described() -> None:
    """A new route is in the matrix as soon as DOORS has it."""
    assert {route.key for route in ROUTES} == DOORS.keys()


def test_the_gateway_has_exactly_these_routes(enforced: EnforcedStack) -> None:
    """Each with its scope, and an ANY route beside it without one; nothing else is let in with a token or without."""
    api = enforced.resources.the_only("AWS::ApiGatewayV2::Api")
    deployed = enforced.root("apigatewayv2").get_routes(ApiId=api, MaxResults="1000")["Items"]
    guards = {
        route["RouteKey"]: (route.get("AuthorizationType", "NONE"), tuple(route.get("AuthorizationScopes") or ()))
        for route in deployed
    }
    expected: dict[str, tuple[str, tuple[str, ...]]] = {"$default": ("NONE", ())}
    for route in ROUTES:
        kind = "NONE" if route.scope is None else "JWT"
        expected[f"ANY {route.path}"] = (kind, ())
        expected[route.key] = (kind, () if route.scope is None else (route.scope,))
    assert expected == guards


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.key)
@pytest.mark.parametrize("caller", CALLERS, ids=lambda caller: caller.name)
def test_the_matrix(caller: Caller, route: Route, wire: Wire, tokens: Tokens, victim: Victim, before: Any) -> None:
    """Each caller finds at each door what the table says."""
    outcome = caller.finds(route)
    if outcome == SERVED:
        _is_served(wire, tokens, caller, route, victim.owner)
        return
    answer = knock(wire, tokens, caller, route, victim.sid, victim.things)
    assert SECRET.encode() not in answer.body
    if outcome not in (OTHER_USERS, OTHER_TENANTS):
        _is_refused(answer, outcome)
    elif DOORS[route.key].strangers is None:
        unknown = knock(wire, tokens, caller, route, UNKNOWN, victim.things)
        assert (404, "session-not-found") == (answer.status, answer.json["code"])
        assert unknown.comparable == answer.comparable
    else:
        _has_their_own(answer, route, other_tenant=outcome == OTHER_TENANTS)
        if answer.status == 201:
            mine = f"/v1/sessions/{victim.sid}"
            assert 204 == wire.send("DELETE", mine, caller.headers(tokens)).status


def _is_served(wire: Wire, tokens: Tokens, caller: Caller, route: Route, owner: Owner) -> None:
    """On a session of the owner's that nothing else needs."""
    sid = f"{owner.user}-{next(_numbers)}"
    names_a_session = "{sid}" in route.path
    things = owner.make(sid) if names_a_session else Things()
    assert DOORS[route.key].served == knock(wire, tokens, caller, route, sid, things).status


def _has_their_own(answer: Answer, route: Route, *, other_tenant: bool) -> None:
    """A route that names no session in its path: the list is the stranger's, and so is an id in another tenant."""
    strangers = DOORS[route.key].strangers
    assert strangers is not None
    assert strangers[other_tenant] == answer.status
    if route.method == "GET":
        assert [] == answer.json["data"]


def _is_refused(answer: Answer, outcome: str) -> None:
    if outcome == NOBODY:
        assert (403, "forbidden") == (answer.status, answer.json["code"])
    else:
        said = {UNAUTHORISED: (401, "Unauthorized"), NO_SCOPE: (403, "Forbidden")}[outcome]
        assert said == (answer.status, answer.json["message"])


def test_after_all_of_it_the_victim_is_as_it_was(victim: Victim, before: Any) -> None:
    """Byte for byte."""
    assert before == (victim.export(), victim.listed())
