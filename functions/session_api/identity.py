"""Who is calling: what the gateway has verified, and nothing else.

Each way in has its own routes, and the guard of the route decides where identity comes from:

* ``/v1``: two claims of a token. No header is looked at.
* ``/iam/v1``: the IAM role that signed the request, for the tenants that the stage's table of principals gives it;
  which of them, and for which user, it says in two headers.

A value is passed on as it is, and the store encodes it into its keys. It may be any string but one that the gateway
makes of something else, and one with control characters.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from turnlog.domain.errors import InvalidRequest

from .names import names_somebody
from .problems import Forbidden
from .query import percent_decode
from .settings import Settings

Guard = Literal["jwt", "iam"]

TENANT_HEADER: Final = "x-turnlog-tenant"
USER_HEADER: Final = "x-turnlog-user"

_ASSUMED_ROLE: Final = re.compile(
    r"arn:aws(?:-[a-z]+)*:sts::(?P<account>\d{12}):assumed-role/(?P<role>[\w+=,.@-]{1,64})/[\w+=,.@-]+", re.ASCII
)
"""Who a role is to STS. What follows the role is the session's name, which whoever assumes the role may choose."""


@dataclass(frozen=True)
class Identity:
    """A tenant and one of its users."""

    tenant: str
    user: str

    @property
    def tenant_hash(self) -> str:
        """What the logs hold in place of the tenant's name."""
        return hashlib.sha256(self.tenant.encode("utf-8")).hexdigest()[:12]


def identity_of(event: Mapping[str, Any], settings: Settings, guard: Guard = "jwt") -> Identity:
    """The caller of an HTTP API event (payload format 2.0) that came in through ``guard``.

    Raises:
        Forbidden: the gateway has verified nobody, or somebody in another way; a claim that is missing, blank, not a
            string, or with control characters; a principal that is no role, or not in the table, or may not act for
            the tenant.
        InvalidRequest, MalformedRequest: a header that is missing, or does not name anybody.
    """
    authorizer = event.get("requestContext", {}).get("authorizer")
    if not isinstance(authorizer, Mapping) or not isinstance(authorizer.get(guard), Mapping):
        raise Forbidden(f"The request carries no verified {'token' if guard == 'jwt' else 'signature'}.")
    other = "iam" if guard == "jwt" else "jwt"
    if authorizer.get(other) is not None:
        raise Forbidden("The request was verified in two ways; one of them has to be meant.")
    if guard == "iam":
        return _signed(authorizer["iam"], event.get("headers") or {}, settings)
    claims = authorizer["jwt"].get("claims")
    if not isinstance(claims, Mapping):
        raise Forbidden("The request carries no verified token.")
    return Identity(_claim(claims, settings.tenant_claim), _claim(claims, settings.user_claim))


# --------------------------------------------------------------------------- tokens


def _claim(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name)
    if not isinstance(value, str) or _was_no_string(value) or not names_somebody(value):
        raise Forbidden(f"The token has no usable claim {name!r}.")
    return value


def _was_no_string(text: str) -> bool:
    """Whether the claim was null, a list or an object: the gateway turns these into text, in which
    different claims become one."""
    return text == "null" or text.startswith(("[", "{"))


# --------------------------------------------------------------------------- signatures


def _signed(caller: Mapping[str, Any], headers: Mapping[str, str], settings: Settings) -> Identity:
    tenants = settings.principals.get(principal_of(caller) or "")
    if tenants is None:
        raise Forbidden("Only IAM roles that this deployment names may call here, and the caller is none of them.")
    identity = Identity(_named(headers, TENANT_HEADER), _named(headers, USER_HEADER))
    if tenants != "*" and identity.tenant not in tenants:
        raise Forbidden("The caller's role may not act for this tenant.")
    return identity


def principal_of(caller: Mapping[str, Any]) -> str | None:
    """``<account>/<role name>`` of an assumed role; None for users, root, federated users, identities of a Cognito
    pool (one role stands for all its users), and an account that contradicts the ARN."""
    arn = caller.get("userArn")
    found = _ASSUMED_ROLE.fullmatch(arn) if isinstance(arn, str) else None
    if found is None or caller.get("accountId") != found["account"] or caller.get("cognitoIdentity") is not None:
        return None
    return f"{found['account']}/{found['role']}"


def _named(headers: Mapping[str, str], name: str) -> str:
    """The value of an identity header, percent-decoded: header values are ASCII, names need not be.

    The gateway joins repeated headers by commas, so a comma that is meant has to be escaped.
    """
    raw = headers.get(name)
    if raw is None:
        raise InvalidRequest.at(f"header:{name}", "is required")
    if "," in raw:
        raise InvalidRequest.at(f"header:{name}", "must be given once; a comma in it is written %2C")
    if not raw.isascii():  # HTTP does not say what such bytes mean, so they could come to name another tenant
        raise InvalidRequest.at(f"header:{name}", "must be ASCII; other characters are percent-encoded as UTF-8")
    value = percent_decode(raw, f"header:{name}")
    if not names_somebody(value):
        raise InvalidRequest.at(f"header:{name}", "must have text, and no control characters")
    return value
