"""Domain values as JSON text (DESIGN 5, "Wire shapes").

Stored JSON (messages, metadata, policies) is spliced in as its text and never parsed again: what
comes back is what went in, and a page costs no more than joining strings.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from turnlog.domain.due import Attempt
from turnlog.domain.event import Position, SessionEvent
from turnlog.domain.exactjson import JsonObject
from turnlog.domain.ports import AppendResult, SessionEntry
from turnlog.domain.session import Session, StoredSession
from turnlog.domain.uploads import EventLink, StoredUpload, UploadGrant

from .limits import PAGE_BODY_BYTES
from .payload import base64_bytes

if TYPE_CHECKING:
    from turnlog.compactor import CompactionAnswer
    from turnlog.domain.passes import PassPage, PassRecord

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


def compaction_json(answer: CompactionAnswer, *, dry_run: bool) -> str:
    """What became of a pass that was asked for."""
    fields: dict[str, object] = {
        "id": answer.id,
        "status": answer.status,
        "dry_run": dry_run,
        "archived": [list(stretch) for stretch in answer.archived],
        "tokens_saved": answer.tokens_saved,
        "kept_reason": answer.kept_reason,
        "abandoned_calls": list(answer.abandoned_calls),
        "over_budget": answer.over_budget,
        "reason": answer.reason,
        "retry_at": None if answer.retry_at is None else answer.retry_at.text,
        "generation": answer.version.generation,
        "version": answer.version.number,
    }
    return _encode(fields)


def pass_json(record: PassRecord) -> str:
    """One pass of a session's history."""
    detail = record.detail
    fields: dict[str, object] = {
        "id": record.id,
        "status": "compacted" if record.undoes is None else "undone",
        "generation": record.generation,
        "created_at": record.at.text,
        "asked_by": detail.asked_by,
        "user_id": detail.user,
        "undoes": record.undoes,
        "archived": [list(stretch) for stretch in record.archived],
        "restored": [list(stretch) for stretch in record.restored],
        "inserted": list(record.inserted),
        "model": detail.model,
        "tokens_before": detail.tokens_before,
        "tokens_saved": detail.tokens_saved,
        "counter": detail.counter,
        "kept_reason": detail.kept_reason,
        "abandoned_calls": list(detail.abandoned_calls),
        "over_budget": detail.over_budget,
    }
    rules = f'"trigger":{_raw(detail.trigger)},"strategy":{_raw(detail.strategy)}'
    return f"{_encode(fields)[:-1]},{rules}}}"


def attempt_json(attempt: Attempt) -> str:
    """What became of the newest try, when it has changed nothing."""
    return _encode(
        {
            "id": attempt.pass_id,
            "status": attempt.status,
            "number": attempt.number,
            "at": attempt.at.text,
            "reason": attempt.reason or None,
            "detail": attempt.detail or None,
            "retry_at": None if attempt.retry_at is None else attempt.retry_at.text,
        }
    )


def found_json(found: PassRecord | Attempt) -> str:
    """A pass, or the try that is to become it."""
    return attempt_json(found) if isinstance(found, Attempt) else pass_json(found)


def passes_json(page: PassPage, attempt: Attempt | None, cursor: str | None) -> str:
    """A page of a session's history, and its newest try beside it."""
    tried = "null" if attempt is None else attempt_json(attempt)
    return f'{page_json(map(pass_json, page.passes), cursor)[:-1]},"attempt":{tried}}}'


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
