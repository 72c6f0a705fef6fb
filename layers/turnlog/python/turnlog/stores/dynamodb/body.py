"""The packed body of a commit: the events of one append as one compressed value.

The text is lines: for each event an envelope ``[timestamp, id, branch, flag]`` (trailing nulls left
out; the timestamp is milliseconds when that says all), the message's JSON text, and, when the flag
is 1, the metadata's JSON text. Compact JSON has no raw line feed, so the texts come back exactly
as they were, without being parsed.

It is deflated against a small fixed dictionary when that makes it smaller: most events are a few
hundred bytes, and half of those would otherwise be spent on the same words again and again. The
first byte of a binary body names the form, so that a later dictionary can stand beside this one.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from typing import Final

from ...domain import ids
from ...domain.errors import CorruptLog
from ...domain.event import SessionEvent
from ...domain.exactjson import EMPTY, JsonObject
from ...domain.instant import Instant
from ...domain.message import Message

PLAIN: Final = 0
DEFLATED_1: Final = 1

# What bodies are likely to hold, the likeliest last (zlib finds nearer matches cheaper). It can
# never change: stored bodies need it. A better one gets a form byte of its own.
_DICTIONARY_1: Final = (
    b" because through should before between without another however including information following"
    b" available different important example number people system place state world every under where while"
    b" after again could would these those their there which about other first think found great still being"
    b" does make made many most much must only over said same some such than that them then they this time very"
    b" well were what when will with your from have here into just know like more need want please thank"
    b" you are can but for not and the to of in is it as at be by on or an if so we I a"
    b'{"type":"object","properties":{"name":"","value":"","query":"","path":"","result":"","error":"","items":[{"id":'
    b'"status":"ok"}]}{"role":"tool","content":[{"type":"tool_result","call_id":"call_","name":"","content":"'
    b'","status":"error"}]}{"role":"assistant","content":[{"type":"thinking","text":"","signature":"'
    b'"},{"type":"tool_call","id":"call_","name":"","arguments":"{\\"'
    b'{"role":"user","content":[{"type":"text","text":"","media_type":"image/png","url":"https://'
    b'{"role":"system","content":"{"role":"assistant","content":"{"role":"user","content":"'
)


def pack(events: Sequence[SessionEvent], inc: int) -> str | bytes:
    """The body of a commit: text, or bytes when they are fewer. An id that the server made of the
    event's place is left out: its reader knows the place."""
    text = "\n".join(_lines(events, inc))
    plain = text.encode()
    squeezer = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS, zdict=_DICTIONARY_1)
    small = squeezer.compress(plain) + squeezer.flush()
    return bytes((DEFLATED_1,)) + small if len(small) + 1 < len(plain) else text


def _lines(events: Iterable[SessionEvent], inc: int) -> Iterable[str]:
    for event in events:
        ms = event.timestamp.ms
        stamp: int | str = ms if Instant.of_ms(ms).text == event.timestamp.text else event.timestamp.text
        has_metadata = event.metadata.raw != EMPTY.raw
        given = None if event.seq is not None and event.id == ids.logged(inc, event.seq) else event.id
        envelope = [stamp, given, event.branch, 1 if has_metadata else None]
        while envelope[-1] is None:
            envelope.pop()
        yield json.dumps(envelope, ensure_ascii=False, separators=(",", ":"))
        yield event.message.raw
        if has_metadata:
            yield event.metadata.raw


def to_bytes(body: str | bytes) -> bytes:
    """The form that an S3 object has."""
    return body if isinstance(body, bytes) else bytes((PLAIN,)) + body.encode()


def _text(body: str | bytes) -> str:
    if isinstance(body, str):
        return body
    if body[:1] == bytes((PLAIN,)):
        return body[1:].decode()
    if body[:1] != bytes((DEFLATED_1,)):
        raise CorruptLog(f"A body has the unknown form {body[:1]!r}; a newer version wrote it.")
    opener = zlib.decompressobj(-zlib.MAX_WBITS, zdict=_DICTIONARY_1)
    try:
        plain = opener.decompress(body[1:]) + opener.flush()
    except zlib.error as bad:
        raise CorruptLog(f"A body cannot be inflated: {bad}") from None
    if not opener.eof:
        raise CorruptLog("A body ends too early.")
    return plain.decode()


class Unpacked:
    """One event of a body, before it has a place."""

    __slots__ = ("branch", "has_metadata", "id", "message", "metadata", "timestamp")

    def __init__(self, envelope: str, message: str) -> None:
        alone = envelope[1:-1]  # most events are nothing but a time and a message
        stamp, *rest = [int(alone)] if alone.isdecimal() else json.loads(envelope)
        self.timestamp = Instant.of_ms(stamp) if isinstance(stamp, int) else Instant.parse(stamp)
        self.id: str | None = rest[0] if rest else None
        self.branch: str | None = rest[1] if len(rest) > 1 else None
        self.message = Message(JsonObject(message))
        self.has_metadata = len(rest) > 2
        self.metadata = EMPTY


def unpack(body: str | bytes) -> list[Unpacked]:
    """The events of a body, in order.

    Raises:
        CorruptLog: the body is not one that :func:`pack` wrote.
    """
    lines = iter(_text(body).split("\n"))
    out: list[Unpacked] = []
    try:
        for envelope in lines:
            event = Unpacked(envelope, next(lines))
            if event.has_metadata:
                event.metadata = JsonObject(next(lines))
            out.append(event)
    except (StopIteration, ValueError, TypeError) as bad:
        raise CorruptLog(f"A body is not what an append writes: {bad!r}") from None
    return out
