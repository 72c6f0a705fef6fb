"""The permission matrix: who comes to the doors of the API, and what each finds there.

The doors are the route table's own, so a new route is in the matrix by itself, and fails it until it is described.
"""

import hashlib
import http.client
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from session_api.routes.table import READ, Route
from tests.support.auth_tokens import (
    MISSING,
    OTHER_TENANT,
    OTHER_USER,
    OWNER,
    TENANT,
    Headers,
    Tokens,
    bearer,
)

# ---------------------------------------------------------------------- the wire


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)

    @property
    def comparable(self) -> tuple[int, bytes, dict[str, str]]:
        """All of it but what names the request itself."""
        body = re.sub(rb'"(instance|request_id)":"[^"]*"', rb'"\1":""', self.body)
        own = ("date", "connection", "x-request-id", "x-amzn-requestid", "x-amz-request-id", "apigw-requestid")
        return self.status, body, {name: value for name, value in self.headers.items() if name not in own}


class Wire:
    """Sends requests exactly as they are told: paths unnormalised, headers twice if need be."""

    def __init__(self, base: str) -> None:
        parts = urlsplit(base)
        self._base = parts.path
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)

    def send(self, method: str, path: str, headers: Headers, body: Any = None) -> Answer:
        """One request; ``body`` goes as JSON."""
        content = None if body is None else json.dumps(body).encode()
        self._connection.putrequest(method, self._base + path, skip_accept_encoding=True)
        for name, value in headers:
            self._connection.putheader(name, value)
        if content is not None:
            self._connection.putheader("content-type", "application/json")
            self._connection.putheader("content-length", str(len(content)))
        self._connection.endheaders(content)
        answer = self._connection.getresponse()
        return Answer(answer.status, {n.lower(): v for n, v in answer.getheaders()}, answer.read())

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


# ---------------------------------------------------------------------- the doors

IMAGE = b"the victim's image"
ASKED = {"media_type": "image/png", "bytes": len(IMAGE), "sha256": hashlib.sha256(IMAGE).hexdigest()}
SAID = {"events": [{"message": {"role": "user", "content": "said"}}]}
NEWEST_TURN = {"strategy": {"type": "turn_window", "max_turns": 1}}


@dataclass(frozen=True)
class Door:
    """How to knock at a route: its body, and the status that the owner of the session gets.

    A stranger's answer on a route that names a session is 404. A route that names none says here what a stranger gets:
    another user of the tenant, and anybody of another tenant.
    """

    served: int
    body: Any = None
    strangers: tuple[int, int] | None = None


DOORS: Mapping[str, Door] = {
    "POST /v1/sessions": Door(201, {"id": "{sid}"}, strangers=(409, 201)),
    "GET /v1/sessions": Door(200, strangers=(200, 200)),
    "GET /v1/sessions/{sid}": Door(200),
    "PATCH /v1/sessions/{sid}": Door(200, {"metadata": {"changed": True}}),
    "DELETE /v1/sessions/{sid}": Door(204),
    "POST /v1/sessions/{sid}/events": Door(201, SAID),
    "GET /v1/sessions/{sid}/events": Door(200),
    "GET /v1/sessions/{sid}/events/{eid}": Door(200),
    "POST /v1/sessions/{sid}/uploads": Door(201, ASKED),
    "GET /v1/sessions/{sid}/uploads/{ref}": Door(200),
    "POST /v1/sessions/{sid}/compactions": Door(201, NEWEST_TURN),
    "GET /v1/sessions/{sid}/compactions": Door(200),
    "GET /v1/sessions/{sid}/compactions/{cid}": Door(200),
    "POST /v1/sessions/{sid}/compactions/{cid}/undo": Door(200),
    "GET /v1/health": Door(200),
    "GET /v1/openapi.json": Door(200),
}

EVENT = "e"


def filled(value: Any, **names: str) -> Any:
    """A path or a body with ``{sid}``, ``{eid}``, ``{ref}`` and ``{cid}`` filled in."""
    if isinstance(value, dict):
        return {key: filled(child, **names) for key, child in value.items()}
    if isinstance(value, str):
        for name, text in names.items():
            value = value.replace(f"{{{name}}}", text)
    return value


# ---------------------------------------------------------------------- the outcomes

SERVED = "served"
OTHER_USERS = "like an unknown session, seen from the same tenant"
OTHER_TENANTS = "like an unknown session, seen from another tenant"
UNAUTHORISED = "401 by the gateway"
NO_SCOPE = "403 by the gateway"
NOBODY = "403 by the function: the token names no usable tenant and user"


# ---------------------------------------------------------------------- the callers


@dataclass(frozen=True)
class Caller:
    """Somebody with headers, and what they find: at doors that read, and at doors that write.

    Doors without a guard serve everybody.
    """

    name: str
    headers: Callable[[Tokens], Headers] = field(repr=False)
    reads: str
    writes: str

    def finds(self, route: Route) -> str:
        """The outcome at this door."""
        if route.scope is None:
            return SERVED
        return self.reads if route.scope == READ else self.writes


def _all(name: str, outcome: str, headers: Callable[[Tokens], Headers]) -> Caller:
    return Caller(name, headers, outcome, outcome)


IDENTITY_HEADERS: Headers = [
    ("x-turnlog-tenant", TENANT),
    ("x-turnlog-user", OWNER),
    ("x-user-id", OWNER),
    ("x-tenant-id", TENANT),
]
_CLAIMS = json.dumps({"claims": {"custom:tenant": TENANT, "sub": OWNER}})
AUTHORIZER_HEADERS: Headers = [
    ("authorizer", _CLAIMS),
    ("x-amzn-authorizer", _CLAIMS),
    ("x-amzn-request-context", json.dumps({"authorizer": {"jwt": json.loads(_CLAIMS)}})),
    ("x-amzn-oidc-identity", OWNER),
    ("x-amzn-oidc-data", _CLAIMS),
    ("x-forwarded-user", OWNER),
    ("x-authenticated-userid", OWNER),
    ("custom-tenant", TENANT),
]


def _user(tokens: Tokens) -> Headers:
    return bearer(tokens.good(user=OTHER_USER))


CALLERS: tuple[Caller, ...] = (
    _all("the owner", SERVED, lambda t: bearer(t.good())),
    # --- other people
    _all("another user of the tenant", OTHER_USERS, _user),
    _all("the same user name in another tenant", OTHER_TENANTS, lambda t: bearer(t.good(tenant=OTHER_TENANT))),
    _all("the owner's name in other case", OTHER_USERS, lambda t: bearer(t.good(user="Alice"))),
    _all("the tenant's name in other case", OTHER_TENANTS, lambda t: bearer(t.good(tenant="Acme"))),
    _all("the owner's name and a space", OTHER_USERS, lambda t: bearer(t.good(user="alice "))),
    _all("a tenant that spells out a key", OTHER_TENANTS, lambda t: bearer(t.good(tenant="acme#S#victim"))),
    _all("a user that spells out a path", OTHER_USERS, lambda t: bearer(t.good(user="../alice"))),
    # --- scopes
    Caller("the owner, to read only", lambda t: bearer(t.good(scope="sessions:read")), SERVED, NO_SCOPE),
    Caller("the owner, to write only", lambda t: bearer(t.good(scope="sessions:write")), NO_SCOPE, SERVED),
    _all("the owner without a scope", NO_SCOPE, lambda t: bearer(t.good(scope=MISSING))),
    _all("the owner with an empty scope", NO_SCOPE, lambda t: bearer(t.good(scope=""))),
    _all("the owner with another scope", NO_SCOPE, lambda t: bearer(t.good(scope="agents:write"))),
    _all("scopes in other case", NO_SCOPE, lambda t: bearer(t.good(scope="Sessions:Read SESSIONS:WRITE"))),
    _all("scopes that only begin so", NO_SCOPE, lambda t: bearer(t.good(scope="sessions:reader sessions:writes"))),
    _all("scopes under a wildcard", NO_SCOPE, lambda t: bearer(t.good(scope="* sessions:*"))),
    # --- no token, or not a good one
    _all("nobody", UNAUTHORISED, lambda _: []),
    _all("an empty header", UNAUTHORISED, lambda _: [("Authorization", "")]),
    _all("no token after Bearer", UNAUTHORISED, lambda _: [("Authorization", "Bearer ")]),
    _all("something that is no token", UNAUTHORISED, lambda _: bearer("a.b.c")),
    _all("Basic", UNAUTHORISED, lambda _: [("Authorization", "Basic YWxpY2U6YWxpY2U=")]),
    _all("alg none", UNAUTHORISED, lambda t: bearer(t.unsigned())),
    _all("alg nOnE", UNAUTHORISED, lambda t: bearer(t.unsigned("nOnE"))),
    _all("RS256 without a signature", UNAUTHORISED, lambda t: bearer(t.signature_cut_off())),
    _all("claims changed after signing", UNAUTHORISED, lambda t: bearer(t.tampered())),
    _all("another issuer", UNAUTHORISED, lambda t: bearer(t.of_the_rogue())),
    _all("another issuer in this one's name", UNAUTHORISED, lambda t: bearer(t.of_the_rogue(iss=t.issuer.url))),
    _all("another key under the same id", UNAUTHORISED, lambda t: bearer(t.signed_by_the_rogue())),
    _all("another key under an id of its own", UNAUTHORISED, lambda t: bearer(t.signed_by_the_rogue(kid="rogue"))),
    _all("a key that the token brings along", UNAUTHORISED, lambda t: bearer(t.with_the_rogue_key_inside())),
    _all("this issuer in another's name", UNAUTHORISED, lambda t: bearer(t.good(iss=t.rogue.url))),
    _all("HS256 with the public key", UNAUTHORISED, lambda t: bearer(t.signed_with_the_public_key())),
    _all("expired", UNAUTHORISED, lambda t: bearer(t.expired())),
    _all("not yet valid", UNAUTHORISED, lambda t: bearer(t.not_yet_valid())),
    _all("for another audience", UNAUTHORISED, lambda t: bearer(t.good(aud="another"))),
    _all("for no audience", UNAUTHORISED, lambda t: bearer(t.good(aud=MISSING))),
    # --- a good token that names nobody
    _all("no tenant", NOBODY, lambda t: bearer(t.tenant(MISSING))),
    _all("a blank tenant", NOBODY, lambda t: bearer(t.tenant(" "))),
    _all("an empty tenant", NOBODY, lambda t: bearer(t.tenant(""))),
    _all("a list as tenant", NOBODY, lambda t: bearer(t.tenant([TENANT]))),
    _all("an object as tenant", NOBODY, lambda t: bearer(t.tenant({"name": TENANT}))),
    _all("null as tenant", NOBODY, lambda t: bearer(t.tenant(None))),
    _all("control characters in the tenant", NOBODY, lambda t: bearer(t.tenant("acme\n"))),
    _all("NUL in the tenant", NOBODY, lambda t: bearer(t.tenant("acme\0"))),
    _all("no user", NOBODY, lambda t: bearer(t.good(sub=MISSING))),
    _all("an empty user", NOBODY, lambda t: bearer(t.good(sub=""))),
    # The gateway writes a number out: it is the tenant "7", which is not the owner's.
    _all("a number as tenant", OTHER_TENANTS, lambda t: bearer(t.tenant(7))),
    # --- headers that claim to say who is calling
    _all("another user with identity headers", OTHER_USERS, lambda t: [*_user(t), *IDENTITY_HEADERS]),
    _all("another user with an authorizer's headers", OTHER_USERS, lambda t: [*_user(t), *AUTHORIZER_HEADERS]),
    _all("nobody with identity headers", UNAUTHORISED, lambda _: IDENTITY_HEADERS),
    _all("nobody with an authorizer's headers", UNAUTHORISED, lambda _: AUTHORIZER_HEADERS),
    _all(
        "the owner with another's identity headers",
        SERVED,
        lambda t: [*bearer(t.good()), ("x-turnlog-tenant", OTHER_TENANT), ("x-turnlog-user", OTHER_USER)],
    ),
    # --- more than one token
    _all("two tokens, the owner's last", UNAUTHORISED, lambda t: [*_user(t), *bearer(t.good())]),
    _all("two tokens, the owner's first", UNAUTHORISED, lambda t: [*bearer(t.good()), *_user(t)]),
    _all("two tokens in one header", UNAUTHORISED, lambda t: bearer(f"{t.good(user=OTHER_USER)}, Bearer {t.good()}")),
    _all("the owner's token as a cookie", UNAUTHORISED, lambda t: [("Cookie", f"Authorization=Bearer {t.good()}")]),
)
"""Who, and what they find at doors that read and at doors that write."""
