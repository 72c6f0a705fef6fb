"""The permission matrix of the IAM twin: real signatures, the gateway's own check of them, the deployed function.

What the function makes of a verified signature is tested without an engine in
tests/unit/functions/session_api/test_iam.py; here is what a caller meets who signs, or does not.
"""

from collections.abc import Iterator
from dataclasses import asdict
from itertools import count
from typing import Any

import pytest

from session_api.routes.table import TWIN, Route
from tests.support.auth import EnforcedStack
from tests.support.auth_tokens import Headers, Tokens, bearer
from tests.support.permissions import DOORS, OTHER_TENANTS, SERVED, Answer, Wire, filled
from tests.support.permissions_iam import (
    GUARDED,
    NO_PRINCIPAL,
    ONE_TENANT,
    REFUSED,
    UNNAMED,
    Signer,
    Workloads,
    signers,
    twin_of,
)
from tests.support.permissions_victim import SECRET, Owner, Things, Victim

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.xdist_group("enforced-stack")]

OWNER = "erin"  # of a name that no other test has
VICTIM, UNKNOWN = "signed", "nobody"  # of one length, so that even content-length is the same
_numbers = count(1)


@pytest.fixture(scope="module")
def workloads(enforced: EnforcedStack) -> Iterator[Workloads]:
    """Who signs, while the twin is there."""
    with twin_of(enforced):
        yield Workloads.of(enforced)


@pytest.fixture(scope="module")
def victim(wire: Wire, tokens: Tokens, workloads: Workloads) -> Victim:
    """A session that a person made, with a token."""
    return Victim.of(Owner(wire, tokens, user=OWNER, tenant=ONE_TENANT), VICTIM)


@pytest.fixture(scope="module")
def before(victim: Victim) -> Any:
    """The victim as its owner saw it before anybody came."""
    return victim.export(), victim.listed()


def come(wire: Wire, workloads: Workloads, signer: Signer, route: Route, sid: str, things: Things) -> Answer:
    """One request at the twin of the door."""
    path = TWIN + filled(route.path, sid=sid, **asdict(things))
    body = filled(DOORS[route.key].body, sid=sid)
    headers: Headers = signer.names
    if signer.who is not None:
        headers = signer.spoil(workloads.sign(signer.who, route.method, path, headers, body))
    return wire.send(route.method, path, headers, body)


@pytest.mark.parametrize("route", GUARDED, ids=lambda route: route.key)
@pytest.mark.parametrize("signer", signers(OWNER), ids=lambda signer: signer.name)
def test_the_matrix(
    signer: Signer, route: Route, wire: Wire, workloads: Workloads, victim: Victim, before: Any
) -> None:
    """Each one who signs finds at each door what the table says."""
    if signer.finds == SERVED:
        sid = f"{OWNER}-{next(_numbers)}"
        things = victim.owner.make(sid) if "{sid}" in route.path else Things()
        assert DOORS[route.key].served == come(wire, workloads, signer, route, sid, things).status
        return
    answer = come(wire, workloads, signer, route, victim.sid, victim.things)
    assert SECRET.encode() not in answer.body
    if signer.finds == REFUSED:
        assert 403 == answer.status
        assert "message" in answer.json
    elif signer.finds in (NO_PRINCIPAL, UNNAMED):
        told = {NO_PRINCIPAL: (403, "forbidden"), UNNAMED: (422, "invalid-request")}
        assert told[signer.finds] == (answer.status, answer.json["code"])
    elif DOORS[route.key].strangers is None:
        unknown = come(wire, workloads, signer, route, UNKNOWN, victim.things)
        assert (404, "session-not-found") == (answer.status, answer.json["code"])
        assert unknown.comparable == answer.comparable
    else:
        _has_their_own(answer, route, other_tenant=signer.finds == OTHER_TENANTS)
        if answer.status == 201:
            remove = next(route for route in GUARDED if route.method == "DELETE")
            assert 204 == come(wire, workloads, signer, remove, victim.sid, victim.things).status


def _has_their_own(answer: Answer, route: Route, *, other_tenant: bool) -> None:
    strangers = DOORS[route.key].strangers
    assert strangers is not None
    assert strangers[other_tenant] == answer.status
    if route.method == "GET":
        assert VICTIM not in [row["id"] for row in answer.json["data"]]


@pytest.mark.parametrize("route", GUARDED, ids=lambda route: route.key)
def test_a_token_opens_no_door_of_the_twin(
    route: Route, wire: Wire, tokens: Tokens, victim: Victim, before: Any
) -> None:
    """Though it is the owner's. The engine lets it through as signed by nobody, and the function refuses that; AWS does
    not let it through."""
    headers = [*bearer(tokens.good(user=OWNER)), ("x-turnlog-tenant", ONE_TENANT), ("x-turnlog-user", OWNER)]
    path = TWIN + filled(route.path, sid=victim.sid, **asdict(victim.things))
    answer = wire.send(route.method, path, headers, filled(DOORS[route.key].body, sid=victim.sid))
    assert 403 == answer.status


@pytest.mark.parametrize("route", GUARDED, ids=lambda route: route.key)
def test_a_signature_opens_no_door_that_asks_for_a_token(
    route: Route, wire: Wire, workloads: Workloads, victim: Victim, before: Any
) -> None:
    """Though its role may act for the owner."""
    path = filled(route.path, sid=victim.sid, **asdict(victim.things))
    body = filled(DOORS[route.key].body, sid=victim.sid)
    names = [("x-turnlog-tenant", ONE_TENANT), ("x-turnlog-user", OWNER)]
    answer = wire.send(route.method, path, workloads.sign("Agents", route.method, path, names, body), body)
    assert (401, "Unauthorized") == (answer.status, answer.json["message"])


def test_another_body_than_was_signed_is_refused(wire: Wire, workloads: Workloads, victim: Victim, before: Any) -> None:
    """The signature covers it."""
    path = f"{TWIN}/v1/sessions/{victim.sid}/events"
    names = [("x-turnlog-tenant", ONE_TENANT), ("x-turnlog-user", OWNER)]
    signed, sent = ({"events": [{"message": {"role": "user", "content": text}}]} for text in ("signed", "sent"))
    assert 403 == wire.send("POST", path, workloads.sign("Agents", "POST", path, names, signed), sent).status


def test_after_all_of_it_the_victim_is_as_it_was(victim: Victim, before: Any) -> None:
    """Byte for byte."""
    assert before == (victim.export(), victim.listed())
