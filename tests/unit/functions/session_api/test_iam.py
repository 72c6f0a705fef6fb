"""The routes for AWS workloads: who a signature stands for, and whom it can reach."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest

from session_api.identity import principal_of
from session_api.routes.table import ROUTES
from session_api.settings import Principals, Settings, SettingsError
from tests.support.session_api import Api, Reply, http_event, iam_caller, path_of

EVENTS = Path(__file__).parents[4] / "events" / "session_api"
PRINCIPALS: Principals = {"123456789012/Agents": frozenset({"acme", "größe, gmbh"}), "123456789012/Ops": "*"}
ROLE = "arn:aws:sts::123456789012:assumed-role/Agents/worker-7"
BIG = "x" * 4_200_000
"""Alone more than a body may have."""

PROTECTED = [route for route in ROUTES if route.scope is not None]
BODIES: Mapping[str, Any] = {
    "POST /v1/sessions": {"id": "s2"},
    "PATCH /v1/sessions/{sid}": {"metadata": {"a": 1}},
    "POST /v1/sessions/{sid}/events": {"events": [{"message": {"role": "user", "content": "x"}}]},
    "POST /v1/sessions/{sid}/uploads": {"media_type": "image/png", "bytes": 1, "sha256": "0" * 64},
    "POST /v1/sessions/{sid}/compactions": {"strategy": {"type": "turn_window", "max_turns": 1}},
}
IDS = {"sid": "s", "eid": "e", "ref": "0-" + "0" * 64, "cid": "1.5f0c2a9b7e11"}
"""What stands in paths; only session and event are there."""


@pytest.fixture
def api() -> Api:
    """A stage that has the routes, and alice's session in it."""
    api = Api(principals=PRINCIPALS)
    api.create()
    api.append({"id": "e", "message": {"role": "user", "content": "secret"}})
    return api


def _call(api: Api, route: Any, **changes: Any) -> Reply:
    return api.signed(route.method, path_of(route.path, **IDS), BODIES.get(route.key), **changes)


@pytest.mark.parametrize("route", PROTECTED, ids=lambda route: route.key)
def test_a_role_in_the_table_is_served_on_every_route(api: Api, route: Any) -> None:
    """As the user that it names, in a tenant that it may act for."""
    api.append("later")
    ids = {**IDS, "ref": api.upload(b"x"), "cid": api.compact().json["id"]}
    reply = api.signed(route.method, path_of(route.path, **ids), BODIES.get(route.key))
    assert reply.status in (200, 201, 204)


@pytest.mark.parametrize("name", ["iam_create", "iam_append", "iam_get_session"])
def test_events_as_the_gateway_makes_them(name: str) -> None:
    """Real-shaped, in the order of a conversation."""
    api = Api(principals=PRINCIPALS)
    events = {
        n: json.loads((EVENTS / f"{n}.json").read_text()) for n in ("iam_create", "iam_append", "iam_get_session")
    }
    for before in list(events)[: list(events).index(name)]:
        api.invoke(events[before])
    assert {"iam_create": 201, "iam_append": 201, "iam_get_session": 200}[name] == api.invoke(events[name]).status
    assert 200 == api.call("GET", "/v1/sessions/support-4711").status, "alice of acme, whichever way she comes"


STRANGERS: Mapping[str, dict[str, Any]] = {
    "another account's role of that name": {"arn": "arn:aws:sts::999999999999:assumed-role/Agents/worker-7"},
    "another role of the account": {"arn": "arn:aws:sts::123456789012:assumed-role/Agent/worker-7"},
    "a role whose session is called like one": {"arn": "arn:aws:sts::123456789012:assumed-role/Other/Agents"},
    "a session that looks like a whole ARN": {"arn": "arn:aws:sts::123456789012:assumed-role/Other/x:assumed-role"},
    "more than one slash behind the role": {"arn": "arn:aws:sts::123456789012:assumed-role/Other/Agents/worker-7"},
    "the role itself, not assumed": {"arn": "arn:aws:iam::123456789012:role/Agents"},
    "a user of that name": {"arn": "arn:aws:iam::123456789012:user/Agents"},
    "a user with a path": {"arn": "arn:aws:iam::123456789012:user/assumed-role/Agents/worker-7"},
    "root": {"arn": "arn:aws:iam::123456789012:root"},
    "a federated user": {"arn": "arn:aws:sts::123456789012:federated-user/Agents"},
    "small letters": {"arn": "arn:aws:sts::123456789012:assumed-role/agents/worker-7"},
    "an account that contradicts the ARN": {"caller": {"accountId": "999999999999"}},
    "no account": {"caller": {"accountId": None}},
    "no ARN": {"caller": {"userArn": None}},
    "an ARN in a list": {"caller": {"userArn": [ROLE]}},
    "a line behind the ARN": {"caller": {"userArn": ROLE + "\n"}},
    "an identity of a Cognito pool": {"caller": {"cognitoIdentity": {"amr": ["authenticated"], "identityId": "x"}}},
    "a service": {"arn": "arn:aws:iam::123456789012:service-role/Agents"},
    "no session name": {"caller": {"userArn": ROLE.removesuffix("worker-7")}},
}


@pytest.mark.parametrize("stranger", STRANGERS)
@pytest.mark.parametrize("route", PROTECTED, ids=lambda route: route.key)
def test_nobody_else_is_served_on_any_route(api: Api, route: Any, stranger: str) -> None:
    """Account and role decide; and nothing is told of what is there."""
    reply = _call(api, route, **STRANGERS[stranger])
    assert (403, "forbidden") == (reply.status, reply.json["code"])
    assert ["secret"] == [event["message"]["content"] for page in api.pages() for event in page]


@pytest.mark.parametrize("route", PROTECTED, ids=lambda route: route.key)
def test_a_role_reaches_no_tenant_that_it_may_not_act_for(api: Api, route: Any) -> None:
    other = Api(tenant="globex", principals=PRINCIPALS, repository_for=api.repository_for, clock=api.clock)
    assert 403 == _call(other, route).status
    assert 403 == _call(api, route, x_turnlog_tenant="Acme").status


@pytest.mark.parametrize("route", [r for r in PROTECTED if "{sid}" in r.path], ids=lambda route: route.key)
def test_another_users_session_is_as_unknown_as_ever(api: Api, route: Any) -> None:
    assert 404 == _call(api, route, x_turnlog_user="bob").status


def test_every_tenant_is_every_tenant() -> None:
    api = Api(tenant="anybody", principals=PRINCIPALS)
    ops = "arn:aws:sts::123456789012:assumed-role/Ops/x"
    assert 201 == api.signed("POST", "/v1/sessions", {"id": "s"}, arn=ops).status


@pytest.mark.parametrize("partition", ["aws", "aws-cn", "aws-us-gov"])
def test_every_partition_has_roles(partition: str) -> None:
    arn = f"arn:{partition}:sts::123456789012:assumed-role/Team+Agents=1,x.@-_/i-0abc"
    assert "123456789012/Team+Agents=1,x.@-_" == principal_of(iam_caller(arn))


# --------------------------------------------------------------------------- headers


@pytest.mark.parametrize("name", ["x-turnlog-tenant", "x-turnlog-user"])
@pytest.mark.parametrize(
    ("value", "status"),
    [("", 422), (" ", 422), ("%20", 422), ("a%00b", 422), ("a%0Ab", 422), ("acme,acme", 422), ("acme,globex", 422),
     ("größe", 422), ("%zz", 400), ("%ff", 400), ("%ed%a0%80", 400)],
)  # fmt: skip
def test_a_header_that_names_nobody_is_pointed_at(api: Api, name: str, value: str, status: int) -> None:
    """A repeated one too: the gateway joins them by a comma, and which one counts is nobody's to guess."""
    reply = api.signed("GET", "/v1/sessions", **{name.replace("-", "_"): value})  # type: ignore[arg-type]
    assert (status, [f"header:{name}"]) == (reply.status, reply.pointers)


@pytest.mark.parametrize("name", ["x-turnlog-tenant", "x-turnlog-user"])
def test_a_missing_header_is_pointed_at(api: Api, name: str) -> None:
    event = http_event("GET", "/v1/sessions", headers={"x-turnlog-tenant": "acme", "x-turnlog-user": "alice"})
    event["rawPath"], event["routeKey"] = "/iam/v1/sessions", "GET /iam/v1/sessions"
    event["requestContext"]["authorizer"] = {"iam": iam_caller(ROLE)}
    del event["headers"][name]
    reply = api.invoke(event)
    assert (422, [f"header:{name}"]) == (reply.status, reply.pointers)


def test_any_name_can_be_said(api: Api) -> None:
    """Percent-encoded; a token that names the same tenant and user reaches the same session."""
    headers = {"x_turnlog_tenant": "gr%C3%B6%C3%9Fe%2C%20gmbh", "x_turnlog_user": "J%C3%BCrgen"}
    assert 201 == api.signed("POST", "/v1/sessions", {"id": "s"}, **headers).status  # type: ignore[arg-type]
    same = api.as_user("Jürgen", "größe, gmbh")
    assert 200 == same.call("GET", "/v1/sessions/s").status


# --------------------------------------------------------------------------- the two ways in


@pytest.mark.parametrize("route", PROTECTED, ids=lambda route: route.key)
def test_identity_headers_change_nothing_where_a_token_speaks(api: Api, route: Any) -> None:
    api.append("later")
    path = path_of(route.path, **{**IDS, "ref": api.upload(b"x"), "cid": api.compact().json["id"]})
    body = BODIES.get(route.key)
    forged = {"X_Turnlog_Tenant": "acme", "X_Turnlog_User": "alice"}
    stranger = api.as_user("bob", "globex")
    with_headers = stranger.call(route.method, path, body, **forged)
    without = Api(user="bob", tenant="globex").call(route.method, path, body)
    assert (without.status, without.content) == (with_headers.status, with_headers.content)
    assert with_headers.status in ((404,) if "{sid}" in route.path else (200, 201))


@pytest.mark.parametrize("route", PROTECTED, ids=lambda route: route.key)
def test_a_signature_is_no_way_into_the_routes_for_tokens_and_the_other_way_round(api: Api, route: Any) -> None:
    """Should the gateway ever be set up wrongly, nobody gains by it."""
    path = path_of(route.path, **IDS)
    body = None if route.key not in BODIES else json.dumps(BODIES[route.key])
    headers = {"x-turnlog-tenant": "acme", "x-turnlog-user": "alice", "content-type": "application/json"}
    claims = {"jwt": {"claims": {"custom:tenant": "acme", "sub": "alice"}}}
    signature = {"iam": iam_caller(ROLE)}
    for prefix, authorizers in (
        ("", [signature, {**claims, **signature}]),
        ("/iam", [claims, {**claims, **signature}]),
    ):
        for authorizer in authorizers:
            event = http_event(route.method, path, body=body, headers=headers)
            event["rawPath"] = prefix + path
            event["routeKey"] = f"{route.method} {prefix}{route.path}"
            event["requestContext"]["authorizer"] = authorizer
            assert 403 == api.invoke(event).status


@pytest.mark.parametrize("key_prefix", ["", "/iam"])
def test_a_route_key_of_the_other_way_in_is_no_route(api: Api, key_prefix: str) -> None:
    """What one guard let in is nothing for a route of the other."""
    event = http_event("GET", "/v1/sessions/s", headers={"x-turnlog-tenant": "acme", "x-turnlog-user": "alice"})
    event["rawPath"] = ("" if key_prefix else "/iam") + "/v1/sessions/s"
    event["routeKey"] = f"GET {key_prefix}/v1/sessions/{{sid}}"
    event["requestContext"]["authorizer"] = (
        {"jwt": {"claims": {"custom:tenant": "acme", "sub": "alice"}}} if not key_prefix else {"iam": iam_caller(ROLE)}
    )
    assert (404, "route-not-found") == ((reply := api.invoke(event)).status, reply.json["code"])


def test_without_principals_there_is_no_other_way_in() -> None:
    assert (404, "route-not-found") == (
        (reply := Api().signed("GET", "/v1/sessions")).status,
        reply.json["code"],
    )


def test_a_user_is_refused_as_the_gateway_would_show_one(api: Api) -> None:
    assert 403 == api.invoke(json.loads((EVENTS / "iam_user.json").read_text())).status


def test_a_wrong_method_and_an_unknown_path_are_told_as_elsewhere(api: Api) -> None:
    wrong = api.signed("PUT", "/v1/sessions/s")
    assert (405, {"GET", "PATCH", "DELETE"}) == (wrong.status, set(wrong.headers["allow"].split(", ")))
    assert 404 == api.signed("GET", "/v1/nothing").status
    assert 404 == api.signed("GET", "/v1/health").status, "public routes have no twin"


def test_keys_and_cursors_are_of_use_in_both_ways(api: Api) -> None:
    """They belong to tenant and user, not to how these came in."""
    body = {"events": [{"message": {"role": "user", "content": "once"}}]}
    first = api.call("POST", "/v1/sessions/s/events", body, Idempotency_Key="k")
    again = api.signed("POST", "/v1/sessions/s/events", body, Idempotency_Key="k")
    assert (201, 201, first.json) == (first.status, again.status, again.json)
    assert 1 == len([e for page in api.pages() for e in page if e["message"]["content"] == "once"])
    cursor = api.call("GET", "/v1/sessions/s/events", query={"limit": 1}).json["next_cursor"]
    rest = api.signed("GET", "/v1/sessions/s/events", query=f"limit=1&cursor={cursor}")
    assert ["once"] == [event["message"]["content"] for event in rest.json["data"]]


def test_paths_in_answers_keep_the_prefix(api: Api) -> None:
    """So that a caller can follow them."""
    assert "/iam/v1/sessions/none" == api.signed("GET", "/v1/sessions/none").json["instance"]
    created = api.signed("POST", "/v1/sessions", {"id": "new"})
    assert "/iam/v1/sessions/new" == urljoin("/iam/v1/sessions", created.headers["location"])
    large = api.signed("POST", "/v1/sessions/s/events", {"events": [{"message": {"role": "user", "content": BIG}}]})
    assert (413, "/iam/v1/sessions/s/uploads") == (large.status, large.json["uploads"])


def test_logs_tell_the_ways_in_apart(api: Api, written: Callable[[], list[dict[str, Any]]]) -> None:
    written()
    api.signed("GET", "/v1/sessions/s")
    api.call("GET", "/v1/sessions/s")
    routes = [line["route"] for line in written() if line.get("message") == "request"]
    assert ["GET /iam/v1/sessions/{sid}", "GET /v1/sessions/{sid}"] == routes


# --------------------------------------------------------------------------- the table of principals


@pytest.mark.parametrize(
    "value",
    ["{", "[]", "1", '{"Agents": ["acme"]}', '{"123456789012/": ["acme"]}', '{"123456789012/a/b": "*"}',
     '{"123456789012/Agents": []}', '{"123456789012/Agents": "acme"}', '{"123456789012/Agents": [""]}',
     '{"123456789012/Agents": ["a\\u0000"]}', '{"123456789012/Agents": ["\\ud800"]}',
     '{"123456789012/Agents": ["acme"], "123456789012/Agents": "*"}', '{"12345678901/Agents": "*"}',
     '{"123456789012/Agents": [1]}', '{"123456789012/Agents": null}'],
)  # fmt: skip
def test_a_table_that_is_not_one_stops_the_function(value: str) -> None:
    environment = {"TURNLOG_TABLE": "t", "TURNLOG_BUCKET": "b", "TURNLOG_STAGE": "x", "TURNLOG_IAM_PRINCIPALS": value}
    with pytest.raises(SettingsError, match="TURNLOG_IAM_PRINCIPALS"):
        Settings.from_environment(environment)


def test_the_table_is_read_as_it_is_written() -> None:
    text = json.dumps({"123456789012/Agents": ["acme"], "123456789012/Ops": "*"})
    environment = {"TURNLOG_TABLE": "t", "TURNLOG_BUCKET": "b", "TURNLOG_STAGE": "x", "TURNLOG_IAM_PRINCIPALS": text}
    assert {"123456789012/Agents": frozenset({"acme"}), "123456789012/Ops": "*"} == (
        Settings.from_environment(environment).principals
    )
