"""Passes as they are remembered: what each one did.

A pass that counts made one generation of a session. Its record is written with it and never
changed; an undo is a pass of its own (DESIGN 4, "Pass").
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .exactjson import JsonObject
from .instant import Instant

AskedBy = Literal["trigger", "request", "port"]
"""Who wanted a pass: the session's own trigger, a caller of the service, or a caller of the port."""

Range = tuple[int, int]
"""A stretch of the log by seq, both ends included."""


@dataclass(frozen=True)
class PassDetail:
    """What a pass says of itself. Tokens are estimates by ``counter``, and ``tokens_saved`` is net
    of what was inserted. ``model`` is the one that wrote the summary."""

    asked_by: AskedBy = "port"
    user: str | None = None
    trigger: JsonObject | None = None
    strategy: JsonObject | None = None
    model: str | None = None
    tokens_before: int | None = None
    tokens_saved: int = 0
    counter: str | None = None
    kept_reason: str | None = None
    abandoned_calls: tuple[str, ...] = ()
    over_budget: bool = False


@dataclass(frozen=True)
class PassRecord:
    """One pass of a session's history.

    ``archived`` are the stretches that left the window by it, ``restored`` those that came back (by
    an undo), ``inserted`` the ids of the events that it put in, ``undoes`` the pass that it undid.
    """

    id: str
    generation: int
    at: Instant
    archived: tuple[Range, ...] = ()
    restored: tuple[Range, ...] = ()
    inserted: tuple[str, ...] = ()
    undoes: str | None = None
    detail: PassDetail = field(default_factory=PassDetail)


@dataclass(frozen=True)
class PassPage:
    """A page of a session's passes, the newest first; ``next_id`` is the first of the next page."""

    passes: tuple[PassRecord, ...]
    next_id: str | None = None


def new_pass_id(generation: int, nonce: bytes) -> str:
    """``<generation>.<nonce>``: unique among racing passes, and its generation can be read from it."""
    return f"{generation}.{nonce.hex()}"


def generation_of(pass_id: str) -> int:
    """The generation that a pass makes; 0 for what is no pass id."""
    number = pass_id.partition(".")[0]
    return int(number) if number.isascii() and number.isdigit() and len(number) <= 18 else 0


def less(ranges: tuple[Range, ...], taken: tuple[Range, ...]) -> tuple[Range, ...]:
    """What of ``ranges`` is in none of ``taken``; both are sorted and disjoint."""
    out: list[Range] = []
    for first, last in ranges:
        at = first
        for low, high in taken:
            if high < at or low > last:
                continue
            if low > at:
                out.append((at, low - 1))
            at = high + 1
        if at <= last:
            out.append((at, last))
    return tuple(out)
