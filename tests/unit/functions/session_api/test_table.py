"""Paths and their templates."""

from collections.abc import Mapping

import pytest

from session_api.routes.table import ROUTES, methods_of


@pytest.mark.parametrize(
    ("path", "template", "params"),
    [
        ("/v1/sessions/s", "/v1/sessions/{sid}", {"sid": "s"}),
        ("/v1/sessions/a%2Fb", "/v1/sessions/{sid}", {"sid": "a%2Fb"}),
        ("/v1/sessions/a\0 \n", "/v1/sessions/{sid}", {"sid": "a\0 \n"}),
        ("/v1/sessions/events/events/events", "/v1/sessions/{sid}/events/{eid}", {"sid": "events", "eid": "events"}),
        ("/v1/openapi.json", "/v1/openapi.json", {}),
    ],
)
def test_a_parameter_is_one_segment_whatever_it_holds(path: str, template: str, params: Mapping[str, str]) -> None:
    """It is not decoded here, and no other template takes the path."""
    found = {route.path: route.params(path) for route in ROUTES if route.params(path) is not None}

    assert {template: params} == found


@pytest.mark.parametrize(
    "path",
    ["", "/v1/openapiXjson", "/v1/health\n", "/v1/health/", "x/v1/health", "/v1/sessions//events", "/v1/sessions/"],
)
def test_what_only_looks_like_a_path_has_no_methods(path: str) -> None:
    """Dots are dots, and the end is the end."""
    assert () == methods_of(path)
