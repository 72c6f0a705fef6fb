"""Ids that the server makes (DESIGN 10): readable back into the place that they name.

``~<inc36>-<seq>`` for a logged event, ``~<inc36>-p<pass>-<i>`` for an inserted one. ``~`` is
outside the alphabet that HTTP takes for new ids, so a caller's id can never look like one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_LOGGED: Final = re.compile(r"~(0|[1-9a-z][0-9a-z]{0,12})-([1-9][0-9]{0,11})", re.ASCII)
_INSERTED: Final = re.compile(r"~(0|[1-9a-z][0-9a-z]{0,12})-p([0-9a-z.]{1,64})-(0|[1-9][0-9]{0,5})", re.ASCII)
SERVER_MADE_PATTERN: Final = f"(?:{_LOGGED.pattern}|{_INSERTED.pattern})"


@lru_cache(maxsize=1024)
def base36(number: int) -> str:
    """A non-negative number in lower-case base 36. Remembered, because each event of a life asks for the same one."""
    if number < 0:
        raise ValueError(f"{number} is negative")
    out = ""
    while True:
        number, digit = divmod(number, 36)
        out = _DIGITS[digit] + out
        if not number:
            return out


@dataclass(frozen=True)
class LoggedId:
    """The place that a server-made id of a logged event names."""

    inc: int
    seq: int


@dataclass(frozen=True)
class InsertedId:
    """The place that a server-made id of an inserted event names."""

    inc: int
    pass_id: str
    index: int


def logged(inc: int, seq: int) -> str:
    """The id of the event at ``seq`` of incarnation ``inc``."""
    return f"~{base36(inc)}-{seq}"


def inserted(inc: int, pass_id: str, index: int) -> str:
    """The id of the ``index``-th event that a pass inserted."""
    return f"~{base36(inc)}-p{pass_id}-{index}"


def is_server_made(event_id: str) -> bool:
    """Whether only the server may have made it."""
    return event_id.startswith("~")


def parse(event_id: str) -> LoggedId | InsertedId | None:
    """What a server-made id names; None for any other id and for one that is not well-formed.

    Only the text that :func:`logged` and :func:`inserted` make is well-formed, so that a place has
    one id.
    """
    if found := _LOGGED.fullmatch(event_id):
        return LoggedId(int(found[1], 36), int(found[2]))
    if found := _INSERTED.fullmatch(event_id):
        return InsertedId(int(found[1], 36), found[2], int(found[3]))
    return None
