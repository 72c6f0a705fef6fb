"""A route runs only behind the guard that the gateway has for it."""

import pytest

from tests.support.session_api import Api, http_event, route_key

CLAIMS = {"custom:tenant": "acme", "sub": "alice"}


@pytest.mark.parametrize(
    ("method", "path", "let_in_as"),
    [
        ("POST", "/v1/sessions/s/events", "ANY /v1/sessions/{sid}"),  # the caller sent s%2Fevents
        ("DELETE", "/v1/sessions/s", "GET /v1/sessions/{sid}"),
        ("GET", "/v1/sessions/s", "$default"),
    ],
)
def test_a_request_let_in_under_another_guard_reaches_no_route(
    session: Api, method: str, path: str, let_in_as: str
) -> None:
    """Its token was not checked for the scope that the path needs."""
    event = http_event(method, path, claims=CLAIMS, body='{"events":[{"message":{"role":"user","content":"x"}}]}')
    event["routeKey"] = let_in_as

    reply = session.invoke(event)

    assert reply.status == 404
    assert session.list().json["data"] == []


def test_the_test_events_name_the_route_that_the_gateway_would_pick() -> None:
    """Else the other tests would pass without a guard."""
    assert route_key("POST", "/v1/sessions/s/events") == "POST /v1/sessions/{sid}/events"
    assert route_key("PUT", "/v1/sessions/s/events") == "ANY /v1/sessions/{sid}/events"
    assert route_key("GET", "/v1/health") == "GET /v1/health"
    assert route_key("GET", "/v1/nope") == "$default"
