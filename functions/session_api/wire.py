"""Domain values as JSON text (DESIGN 5, "Wire shapes").

Stored JSON (messages, metadata, policies) is spliced in as its text and never parsed again: what
comes back is what went in, and a page costs no more than joining strings.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from turnlog.domain.event import Position, SessionEvent
from turnlog.domain.exactjson import JsonObject
from turnlog.domain.ports import AppendResult, SessionEntry
from turnlog.domain.session import Session, StoredSession

from .payload import base64_bytes

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def session_json(stored: StoredSession) -> str:
    """The session resource."""
    version = stored.version
    counters = f'"version":{version.number},"last_seq":{version.last_seq},"generation":{version.generation}'
    return f"{{{_record(stored.record)},{counters}}}"


def entry_json(entry: SessionEntry) -> str:
    """One row of a user's list: the session without counters, and its last activity."""
    return f'{{{_record(entry.session)},"last_activity":{_encode(entry.last_activity.text)}}}'


def event_json(event: SessionEvent) -> str:
    """One event; ``position`` only when a pass inserted it."""
    position = "" if event.position is None else f'"position":{_position(event.position)},'
    return (
        f'{{"id":{_encode(event.id)},"seq":{_encode(event.seq)},{position}'
        f'"timestamp":{_encode(event.timestamp.text)},"branch":{_encode(event.branch)},'
        f'"synthetic":{_encode(event.synthetic)},"archived":{_encode(event.archived)},'
        f'"metadata":{event.metadata.raw},"message":{event.message.raw}}}'
    )


def append_json(result: AppendResult) -> str:
    """The answer to an append."""
    events = [{"id": e.id, "seq": e.seq, "replayed": e.replayed} for e in result.events]
    return _encode({"events": events, "version": result.version.number, "last_seq": result.version.last_seq})


def page_json(rows: Iterable[str], cursor: str | None) -> str:
    """A page of rows that are JSON already."""
    more = _encode(cursor is not None)
    return f'{{"data":[{",".join(rows)}],"next_cursor":{_encode(cursor)},"has_more":{more}}}'


class EventRows:
    """The rows of a page of events, each rendered once: for measuring and for the answer."""

    def __init__(self) -> None:
        self._rendered: dict[str, str] = {}

    def text(self, event: SessionEvent) -> str:
        """The event as JSON text."""
        found = self._rendered.get(event.id)
        if found is None:
            found = self._rendered[event.id] = event_json(event)
        return found

    def measure(self, event: SessionEvent) -> int:
        """An upper bound of the bytes that it adds to the proxy answer: its size in base64, which
        is always there to fall back on when escaping would cost more (``payload.py``)."""
        return base64_bytes(len(self.text(event).encode("utf-8")) + 1)


def _record(session: Session) -> str:
    expires = None if session.expires_at is None else session.expires_at.text
    return (
        f'"id":{_encode(session.id)},"user_id":{_encode(session.user_id)},'
        f'"created_at":{_encode(session.created_at.text)},"expires_at":{_encode(expires)},'
        f'"metadata":{session.metadata.raw},"compaction":{_raw(session.compaction)},'
        f'"allow_system_messages":{_encode(session.allow_system_messages)}'
    )


def _position(position: Position) -> str:
    return _encode({"before_seq": position.before_seq, "pass": position.pass_id, "index": position.index})


def _raw(value: JsonObject | None) -> str:
    return "null" if value is None else value.raw
