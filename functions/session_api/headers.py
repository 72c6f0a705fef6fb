"""The request headers that mean something here: preconditions, keys, and what the body is."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Final

from turnlog.domain.errors import FieldError, InvalidRequest
from turnlog.domain.exactjson import JsonValue, canonical
from turnlog.domain.ports import IdempotencyKey

from .limits import IDEMPOTENCY_KEY_CHARS
from .problems import UnsupportedMediaType

_TAG: Final = r'(?:W/)?"[\x21\x23-\x7e\x80-\xff]*"'
_LIST: Final = rf"{_TAG}(?:[ \t]*,[ \t]*{_TAG})*"
_TAGS: Final = re.compile(rf"[ \t]*{_LIST}[ \t]*")
IF_MATCH_PATTERN: Final = rf"(?:\*|{_LIST})"
"""Of a whole value. HTTP takes spaces and tabs off its ends (RFC 9110, 5.5)."""
_EACH_TAG: Final = re.compile(_TAG)
_KEY: Final = re.compile(rf"[\x21-\x7e]{{1,{IDEMPOTENCY_KEY_CHARS}}}")
_JSON: Final = re.compile(r"application/(?:[a-z0-9.!#$&^_-]+\+)?json", re.ASCII)


def if_match(headers: Mapping[str, str]) -> tuple[str, ...] | None:
    """The tags of ``If-Match`` (RFC 9110, 13.1.1), ``("*",)`` for any, None without the header.

    A weak tag stays in the list and never matches, as strong comparison wants it.

    Raises:
        InvalidRequest: not a list of quoted tags.
    """
    value = headers.get("if-match")
    if value is None:
        return None
    if value.strip() == "*":
        return ("*",)
    if not _TAGS.fullmatch(value):
        raise InvalidRequest.at("header:If-Match", 'must be * or a list of quoted ETags, such as "1767225600000.4.0"')
    return tuple(_EACH_TAG.findall(value))


def if_none_match_any(headers: Mapping[str, str]) -> bool:
    """Whether ``If-None-Match: *`` was given, the only form that creating understands."""
    value = headers.get("if-none-match")
    if value is None:
        return False
    if value.strip() != "*":
        raise InvalidRequest.at("header:If-None-Match", "must be *")
    return True


def idempotency_key(
    headers: Mapping[str, str], *, user: str, operation: Sequence[str], body: JsonValue
) -> IdempotencyKey | None:
    """The ``Idempotency-Key``, hashed together with its user, and the hash of its request: the
    ``operation`` (method, path template and the path's ids) and the body.

    Raises:
        InvalidRequest: empty, too long, or with characters beyond visible ASCII.
    """
    value = headers.get("idempotency-key")
    if value is None:
        return None
    if not _KEY.fullmatch(value):
        detail = f"must be 1 to {IDEMPOTENCY_KEY_CHARS} visible ASCII characters"
        raise InvalidRequest.at("header:Idempotency-Key", detail)
    return IdempotencyKey(key=_hash(user, value), request=_hash(*operation, canonical(body)))


def check_is_json(headers: Mapping[str, str]) -> None:
    """Refuse a body that is declared as something else; a missing declaration is fine.

    Raises:
        UnsupportedMediaType: not a JSON media type, or a charset other than UTF-8.
    """
    value = headers.get("content-type")
    if value is None:
        return
    media_type, *parameters = (part.strip().lower() for part in value.split(";"))
    charsets = [p.partition("=")[2].strip('"') for p in parameters if p.startswith("charset=")]
    if not _JSON.fullmatch(media_type) or any(charset != "utf-8" for charset in charsets):
        detail = f"must be application/json in UTF-8, not {value!r}"
        raise UnsupportedMediaType(f"The body {detail}.", errors=[FieldError("header:Content-Type", detail)])


def _hash(*parts: str) -> bytes:
    """16 bytes of SHA-256 over the parts, each behind its length so that they can't run together."""
    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode("utf-8")
        digest.update(len(raw).to_bytes(8, "big"))
        digest.update(raw)
    return digest.digest()[:16]
