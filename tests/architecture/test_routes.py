"""The gateway's routes and the function's are the same, scopes included."""

from infra import routes
from session_api.routes.table import ROUTES


def test_the_gateway_guards_exactly_the_routes_that_the_function_has() -> None:
    """Infra knows functions by path only, so the two tables are held together here."""
    guarded = {(r.method, f"/v1{r.path}", r.scope) for r in routes.ROUTES}

    assert guarded == {(r.method, r.path, r.scope) for r in ROUTES}
