"""The route table, without the CDK."""

import pytest

from infra.routes import READ, ROUTES, WRITE, Route, paths


def test_each_method_and_path_stands_once() -> None:
    assert len(ROUTES) == len({(route.method, route.path) for route in ROUTES})


def test_only_health_and_the_openapi_document_are_public() -> None:
    assert {"/health", "/openapi.json"} == {route.path for route in ROUTES if route.is_public}


def test_reading_needs_the_read_scope_and_everything_else_the_write_scope() -> None:
    for route in ROUTES:
        if not route.is_public:
            assert (READ if route.method == "GET" else WRITE) == route.scope, route


def test_a_path_with_public_and_protected_methods_is_refused() -> None:
    mixed = (Route("GET", "/x", None), Route("POST", "/x", WRITE))
    with pytest.raises(ValueError, match="/x mixes"):
        paths(mixed)
