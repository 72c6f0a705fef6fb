"""Who is calling: two claims of a token that the gateway has verified, and nothing else.

No header is looked at. A claim's value is passed on as it is, and the store encodes it into its keys. It may be
any string but one that the gateway makes of something else, and one with control characters.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from turnlog.domain.event import has_text

from .problems import Forbidden
from .settings import Settings


@dataclass(frozen=True)
class Identity:
    """A tenant and one of its users."""

    tenant: str
    user: str

    @property
    def tenant_hash(self) -> str:
        """What the logs hold in place of the tenant's name."""
        return hashlib.sha256(self.tenant.encode("utf-8")).hexdigest()[:12]


def identity_of(event: Mapping[str, Any], settings: Settings) -> Identity:
    """The caller of an HTTP API event (payload format 2.0).

    Raises:
        Forbidden: no verified token, or a claim that is missing, blank, not a string, or with control characters.
    """
    claims: Any = event
    for key in ("requestContext", "authorizer", "jwt", "claims"):
        claims = claims.get(key) if isinstance(claims, Mapping) else None
    if not isinstance(claims, Mapping):
        raise Forbidden("The request carries no verified token.")
    return Identity(_claim(claims, settings.tenant_claim), _claim(claims, settings.user_claim))


def _claim(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name)
    if not isinstance(value, str) or not has_text(value) or _was_no_string(value) or not _is_plain(value):
        raise Forbidden(f"The token has no usable claim {name!r}.")
    return value


def _was_no_string(text: str) -> bool:
    """Whether the claim was null, a list or an object: the gateway turns these into text, in which
    different claims become one."""
    return text == "null" or text.startswith(("[", "{"))


def _is_plain(text: str) -> bool:
    """Whether it holds neither control characters nor lone surrogates."""
    return not any(unicodedata.category(c) in ("Cc", "Cs") for c in text)
