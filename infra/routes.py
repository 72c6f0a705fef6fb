"""The routes of the HTTP API: one table that the gateway is built from.

A plain table, without the CDK, so that tests can hold it against the OpenAPI document.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]

READ = "sessions:read"
WRITE = "sessions:write"


@dataclass(frozen=True)
class Route:
    """A method on a path below the API's prefix, and the scope that a token needs for it.

    ``scope`` is None for a public route: no token is asked for.
    """

    method: Method
    path: str
    scope: str | None

    @property
    def is_public(self) -> bool:
        """Whether the route is served without a token."""
        return self.scope is None


ROUTES: tuple[Route, ...] = (
    Route("POST", "/sessions", WRITE),
    Route("GET", "/sessions", READ),
    Route("GET", "/sessions/{sid}", READ),
    Route("PATCH", "/sessions/{sid}", WRITE),
    Route("DELETE", "/sessions/{sid}", WRITE),
    Route("POST", "/sessions/{sid}/events", WRITE),
    Route("GET", "/sessions/{sid}/events", READ),
    Route("GET", "/sessions/{sid}/events/{eid}", READ),
    Route("POST", "/sessions/{sid}/uploads", WRITE),
    Route("GET", "/sessions/{sid}/uploads/{ref}", READ),
    Route("POST", "/sessions/{sid}/compactions", WRITE),
    Route("GET", "/sessions/{sid}/compactions", READ),
    Route("GET", "/sessions/{sid}/compactions/{cid}", READ),
    Route("POST", "/sessions/{sid}/compactions/{cid}/undo", WRITE),
    Route("GET", "/health", None),
    Route("GET", "/openapi.json", None),
)
"""Every route of the API (DESIGN 5), without the prefix (``/v1``)."""


def paths(routes: tuple[Route, ...] = ROUTES) -> dict[str, bool]:
    """Each path once, in order, and whether it is public.

    Raises:
        ValueError: public and protected methods share a path. Its ``ANY`` route, which answers
            wrong methods, could then not tell whether to ask for a token.
    """
    found: dict[str, bool] = {}
    for route in routes:
        if found.setdefault(route.path, route.is_public) != route.is_public:
            raise ValueError(f"{route.path} mixes public and protected methods")
    return found
