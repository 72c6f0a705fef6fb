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
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from ...domain import ids
from ...domain.errors import CorruptLog, InvalidRequest
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


_compact: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


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
        stamp = _stamp(event.timestamp)
        has_metadata = event.metadata.raw != EMPTY.raw
        given = None if event.seq is not None and event.id == ids.logged(inc, event.seq) else event.id
        if given is None and event.branch is None and not has_metadata:
            yield f"[{stamp}]" if isinstance(stamp, int) else f'["{stamp}"]'
        else:
            yield _compact(_trimmed([stamp, given, event.branch, 1 if has_metadata else None]))
        yield event.message.raw
        if has_metadata:
            yield event.metadata.raw


def _trimmed(envelope: list[int | str | None]) -> list[int | str | None]:
    while envelope[-1] is None:
        envelope.pop()
    return envelope


def _stamp(timestamp: Instant) -> int | str:
    """Milliseconds when they say all: the instant, and the text that it is shown as."""
    ms = timestamp.ms
    if timestamp.given is None and timestamp.ns == ms * 1_000_000:
        return ms
    return ms if Instant.of_ms(ms).text == timestamp.text else timestamp.text


def to_bytes(body: str | bytes) -> bytes:
    """The form that an S3 object has."""
    return body if isinstance(body, bytes) else bytes((PLAIN,)) + body.encode()


def _text(body: str | bytes) -> str:
    if isinstance(body, str):
        return body
    form = body[0] if body else None
    if form == PLAIN:
        return body[1:].decode()
    if form != DEFLATED_1:
        raise CorruptLog(f"A body has the unknown form {form}; a newer version wrote it.")
    opener = zlib.decompressobj(-zlib.MAX_WBITS, zdict=_DICTIONARY_1)
    try:
        plain = opener.decompress(body[1:])
    except zlib.error as bad:
        raise CorruptLog(f"A body cannot be inflated: {bad}") from None
    if not opener.eof:
        raise CorruptLog("A body ends too early.")
    return plain.decode()


class Unpacked(NamedTuple):
    """One event of a body, before it has a place."""

    timestamp: Instant
    message: Message
    id: str | None = None
    branch: str | None = None
    metadata: JsonObject = EMPTY


def unpack(body: str | bytes) -> list[Unpacked]:
    """The events of a body, in order.

    Raises:
        CorruptLog: the body is not one that :func:`pack` wrote.
    """
    lines = iter(_text(body).split("\n"))
    try:
        return [_event(envelope, next(lines), lines) for envelope in lines]
    except (StopIteration, ValueError, TypeError, OverflowError, InvalidRequest) as bad:
        raise CorruptLog(f"A body is not what an append writes: {bad!r}") from None


def _event(envelope: str, text: str, lines: Iterator[str]) -> Unpacked:
    message = Message(JsonObject(text))
    alone = envelope[1:-1]
    if alone.isdecimal():  # most events are nothing but a time and a message
        return Unpacked(Instant.of_ms(int(alone)), message)
    fields: list[Any] = json.loads(envelope)
    stamp, event_id, branch, has_metadata = [*fields, None, None, None][:4]
    timestamp = Instant.of_ms(stamp) if isinstance(stamp, int) else Instant.parse(stamp)
    metadata = JsonObject(next(lines)) if has_metadata else EMPTY
    return Unpacked(timestamp, message, event_id, branch, metadata)
