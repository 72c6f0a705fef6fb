"""Domain values as JSON text (DESIGN 5, "Wire shapes").

Stored JSON (messages, metadata, policies) is spliced in as its text and never parsed again: what
comes back is what went in, and a page costs no more than joining strings.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from turnlog.domain.event import Position, SessionEvent
from turnlog.domain.exactjson import JsonObject
from turnlog.domain.ports import AppendResult, SessionEntry
from turnlog.domain.session import Session, StoredSession
from turnlog.domain.uploads import EventLink, StoredUpload, UploadGrant

from .limits import PAGE_BODY_BYTES
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


def event_json(event: SessionEvent, link: EventLink | None = None) -> str:
    """One event; ``position`` only when a pass inserted it, ``link`` in place of its message."""
    said = f'"message":{event.message.raw}' if link is None else f'"link":{_link(link)}'
    position = "" if event.position is None else f'"position":{_position(event.position)},'
    return (
        f'{{"id":{_encode(event.id)},"seq":{_encode(event.seq)},{position}'
        f'"timestamp":{_encode(event.timestamp.text)},"branch":{_encode(event.branch)},'
        f'"synthetic":{_encode(event.synthetic)},"archived":{_encode(event.archived)},'
        f'"metadata":{event.metadata.raw},{said}}}'
    )


def append_json(result: AppendResult) -> str:
    """The answer to an append."""
    events = [{"id": e.id, "seq": e.seq, "replayed": e.replayed} for e in result.events]
    return _encode({"events": events, "version": result.version.number, "last_seq": result.version.last_seq})


def grant_json(grant: UploadGrant) -> str:
    """Leave to upload."""
    return _encode(
        {
            "ref": str(grant.ref),
            "url": grant.url,
            "headers": dict(grant.headers),
            "expires_at": grant.expires_at.text,
        }
    )


def upload_json(upload: StoredUpload) -> str:
    """What has been uploaded."""
    return _encode(
        {
            "ref": str(upload.ref),
            "media_type": upload.media_type,
            "bytes": upload.size,
            "sha256": upload.ref.sha256,
            "url": upload.url,
            "expires_at": upload.expires_at.text,
        }
    )


def page_json(rows: Iterable[str], cursor: str | None) -> str:
    """A page of rows that are JSON already."""
    more = _encode(cursor is not None)
    return f'{{"data":[{",".join(rows)}],"next_cursor":{_encode(cursor)},"has_more":{more}}}'


class EventRows:
    """The rows of a page of events, each rendered once: for measuring and for the answer.

    Args:
        link: makes the link that an event over the page's cap is answered with.
    """

    def __init__(self, link: Callable[[SessionEvent], EventLink]) -> None:
        self._link = link
        self._rendered: dict[str, str] = {}

    def row(self, event: SessionEvent) -> str:
        """The event as it is answered: with its message, or with a link where that is too large."""
        if self.measure(event) > PAGE_BODY_BYTES:
            return event_json(event, self._link(event))
        return self._text(event)

    def _text(self, event: SessionEvent) -> str:
        found = self._rendered.get(event.id)
        if found is None:
            found = self._rendered[event.id] = event_json(event)
        return found

    def measure(self, event: SessionEvent) -> int:
        """An upper bound of the bytes that it adds to the proxy answer: its size in base64, which
        is always there to fall back on when escaping would cost more (``payload.py``)."""
        return base64_bytes(len(self._text(event).encode("utf-8")) + 1)


def _link(link: EventLink) -> str:
    return _encode({"url": link.url, "bytes": link.size, "sha256": link.sha256})


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
