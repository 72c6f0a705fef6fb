"""Every route of the API in one table: the resolver, the OpenAPI document and the tests read it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from ..answer import Answer
from ..call import Call
from . import compactions, events, meta, sessions, uploads

READ: Final = "sessions:read"
WRITE: Final = "sessions:write"


@dataclass(frozen=True)
class Route:
    """A method on a path, the scope that a token needs for it (None: public), and what it does."""

    method: str
    path: str
    scope: str | None
    run: Callable[[Call], Answer]

    @property
    def key(self) -> str:
        """Method and path template; the name of the route in logs and metrics."""
        return f"{self.method} {self.path}"

    @property
    def operation_id(self) -> str:
        """The name of the operation for generated clients."""
        group = self.run.__module__.rpartition(".")[2]
        name = self.run.__name__
        return f"{group}_{name}" if name in ("create", "get", "patch", "delete", "append", "undo") else name

    @cached_property
    def rule(self) -> str:
        """The regular expression of the path: a parameter is one segment, whatever it holds."""
        parts = re.split(r"\{\w+\}", self.path)
        return "([^/]+)".join(re.escape(part) for part in parts) + r"\Z"

    def params(self, path: str) -> Mapping[str, str] | None:
        """The parameters in a path, not decoded; None when the path is another one."""
        found = re.match(self.rule, path)
        return dict(zip(re.findall(r"\{(\w+)\}", self.path), found.groups(), strict=True)) if found else None


ROUTES: Final[tuple[Route, ...]] = (
    Route("POST", "/v1/sessions", WRITE, sessions.create),
    Route("GET", "/v1/sessions", READ, sessions.list_sessions),
    Route("GET", "/v1/sessions/{sid}", READ, sessions.get),
    Route("PATCH", "/v1/sessions/{sid}", WRITE, sessions.patch),
    Route("DELETE", "/v1/sessions/{sid}", WRITE, sessions.delete),
    Route("POST", "/v1/sessions/{sid}/events", WRITE, events.append),
    Route("GET", "/v1/sessions/{sid}/events", READ, events.list_events),
    Route("GET", "/v1/sessions/{sid}/events/{eid}", READ, events.get),
    Route("POST", "/v1/sessions/{sid}/uploads", WRITE, uploads.create),
    Route("GET", "/v1/sessions/{sid}/uploads/{ref}", READ, uploads.get),
    Route("POST", "/v1/sessions/{sid}/compactions", WRITE, compactions.compact),
    Route("GET", "/v1/sessions/{sid}/compactions", READ, compactions.list_compactions),
    Route("GET", "/v1/sessions/{sid}/compactions/{cid}", READ, compactions.get),
    Route("POST", "/v1/sessions/{sid}/compactions/{cid}/undo", WRITE, compactions.undo),
    Route("GET", "/v1/health", None, meta.health),
    Route("GET", "/v1/openapi.json", None, meta.openapi),
)


TWIN: Final = "/iam"
"""What the path of a route begins with where AWS workloads call it: signed, and not with a token."""


def methods_of(path: str) -> tuple[str, ...]:
    """The methods that the path has; none for an unknown path."""
    return tuple(route.method for route in ROUTES if route.params(path) is not None)


def twin_methods_of(path: str) -> tuple[str, ...]:
    """The same below ``TWIN``: public routes have no need of a second way in."""
    return tuple(route.method for route in ROUTES if route.scope is not None and route.params(path) is not None)
