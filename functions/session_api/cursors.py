"""Cursors: opaque to callers, versioned, and parsed without mercy.

A cursor is base64url without padding of ``1|<kind>|<scope>|…``. ``scope`` is a hash over the
route, the caller, the session and the filter, so that a cursor only continues the listing that
gave it. It holds places, never keys: the store builds its keys from the token and the path, so a
forged cursor can at most skip within the caller's own log.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Sequence
from typing import Final, NoReturn

from turnlog.domain.errors import InvalidRequest
from turnlog.domain.exactjson import dumps
from turnlog.domain.ports import Place
from turnlog.service import EventCursor

from .fields import PASS_ID_PATTERN
from .limits import CURSOR_CHARS

POINTER: Final = "query:cursor"
_VERSION: Final = "1"
_ALPHABET: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_NUMBER: Final = r"(?:0|[1-9][0-9]{0,18})"
_PLACE: Final = rf"(?:{_NUMBER}\.{_NUMBER}\.(?:-1|{_NUMBER}))"
"""seq, generation, index; index -1 is the place just before the first of them."""
_EVENTS: Final = re.compile(rf"({_NUMBER})\|({_PLACE}?)\|({_PLACE}?)\|({_NUMBER}?)", re.ASCII)


def scope_of(*parts: str | Sequence[str]) -> str:
    """The hash that ties a cursor to what it continues; parts cannot run into one another."""
    return hashlib.sha256(dumps(list(parts)).encode("utf-8")).hexdigest()[:16]


def encode_events(cursor: EventCursor, scope: str) -> str:
    """The text of a listing's cursor."""
    need = "" if cursor.need is None else str(cursor.need)
    return _encode("e", scope, f"{cursor.inc}|{_place_text(cursor.after)}|{_place_text(cursor.until)}|{need}")


def decode_events(text: str, scope: str, *, last_n: int | None) -> EventCursor:
    """The inverse; raises ``InvalidRequest`` for anything but a cursor of this very listing."""
    found = _EVENTS.fullmatch(_decode("e", scope, text))
    # A page that leads on has come to a place. Only the newest-n listing has an end or a number still wanted.
    if (
        not found
        or not found[2]
        or (last_n is None) == bool(found[3] or found[4])
        or int(found[4] or 0) > (last_n or 0)
    ):
        _refuse()
    return EventCursor(
        inc=int(found[1]),
        after=_place(found[2]),
        until=_place(found[3]),
        need=int(found[4]) if found[4] else None,
    )


def encode_sessions(token: str, scope: str) -> str:
    """The text of the cursor of a user's list; ``token`` is the store's own."""
    return _encode("s", scope, token)


def decode_sessions(text: str, scope: str) -> str:
    """The store's token; raises ``InvalidRequest`` for anything but a cursor of this list."""
    return _decode("s", scope, text)


def encode_passes(first: str, scope: str) -> str:
    """The text of the cursor of a session's compactions."""
    return _encode("c", scope, first)


def decode_passes(text: str, scope: str) -> str:
    """The id of the pass that the page begins with; raises ``InvalidRequest`` for anything but a cursor
    of this list."""
    first = _decode("c", scope, text)
    if not re.fullmatch(PASS_ID_PATTERN, first, re.ASCII):
        _refuse()
    return first


def _encode(kind: str, scope: str, rest: str) -> str:
    raw = f"{_VERSION}|{kind}|{scope}|{rest}".encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def _decode(kind: str, scope: str, text: str) -> str:
    if len(text) > CURSOR_CHARS:
        raise InvalidRequest.at(POINTER, f"must have at most {CURSOR_CHARS} characters")
    if not _ALPHABET.fullmatch(text):
        _refuse()
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        parts = raw.decode("utf-8").split("|", 3)
    except (binascii.Error, UnicodeDecodeError):
        _refuse()
    # Base64 has several spellings of the same bytes; only ours is a cursor.
    if base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii") != text:
        _refuse()
    if len(parts) != 4 or parts[:2] != [_VERSION, kind]:
        _refuse()
    if parts[2] != scope:
        raise InvalidRequest.at(POINTER, "belongs to another listing; repeat the query that gave it unchanged")
    return parts[3]


def _place_text(place: Place | None) -> str:
    return "" if place is None else f"{place.seq}.{place.generation}.{place.index}"


def _place(text: str) -> Place | None:
    return Place(*(int(number) for number in text.split("."))) if text else None


def _refuse() -> NoReturn:
    raise InvalidRequest.at(POINTER, "is not a cursor of this API")
