"""Passes: the items that say what a compaction archived and inserted (DESIGN 4, "Pass").

A pass is two writes however long the session is: its item, then the head, on the condition that
nobody else changed the head meanwhile. An item counts only when the head's chain of ``prev``
leads to it; what a lost race or a crash leaves behind is invisible and swept later.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from ...domain import ids
from ...domain.errors import CorruptLog
from ...domain.event import EventDraft, Position, SessionEvent
from ...domain.exactjson import EMPTY, JsonObject
from ...domain.instant import Instant
from ...domain.message import Message
from ...domain.ports import Insertion
from . import keys
from .items import Head
from .rim import Item, Key, Rim

_FORMAT: Final = 1


@dataclass(frozen=True)
class Pass:
    """One pass as stored; ``events`` are those it inserted, archived flag not yet set."""

    id: str
    generation: int
    prev: str
    events: tuple[SessionEvent, ...]


def new_events(
    insertions: Iterable[Insertion],
    *,
    session_id: str,
    inc: int,
    pass_id: str,
    generation: int,
    last_seq: int,
    now: Instant,
) -> tuple[SessionEvent, ...]:
    """The events that a plan inserts, with their ids and places."""
    out: list[SessionEvent] = []
    for insertion in insertions:
        before = insertion.before_seq if insertion.before_seq is not None else last_seq + 1
        for draft in insertion.events:
            index = len(out)
            event_id = draft.id or ids.inserted(inc, pass_id, index)
            position = Position(before, pass_id, index, generation)
            out.append(_event(draft, event_id, session_id, now, position))
    return tuple(out)


def _event(draft: EventDraft, event_id: str, session_id: str, now: Instant, position: Position) -> SessionEvent:
    return SessionEvent(
        id=event_id,
        session_id=session_id,
        message=draft.message,
        timestamp=draft.timestamp or now,
        branch=draft.branch,
        metadata=draft.metadata,
        position=position,
    )


def pass_item(head: Head, made: Pass, detail: Mapping[str, object], after: str) -> Item:
    """The stored form; ``after`` is the archive state that the pass leaves."""
    return {
        "pk": head.pk,
        "sk": keys.pass_sk(head.inc, made.generation, made.id),
        "v": _FORMAT,
        "prev": made.prev,
        "events": json.dumps([_encode(e) for e in made.events], ensure_ascii=False, separators=(",", ":")),
        "before": head.archive.encode(),
        "after": after,
        "detail": json.dumps(dict(detail), ensure_ascii=False, separators=(",", ":")),
    }


def _encode(event: SessionEvent) -> list[object]:
    position = event.position
    assert position is not None
    return [position.before_seq, event.id, event.timestamp.text, event.branch, event.message.raw, event.metadata.raw]


def decode_pass(item: Item, session_id: str) -> Pass:
    """From the stored form."""
    _, _, generation, pass_id = str(item["sk"]).split("#")
    events = tuple(
        SessionEvent(
            id=event_id,
            session_id=session_id,
            message=Message(JsonObject(message)),
            timestamp=Instant.parse(timestamp),
            branch=branch,
            metadata=EMPTY if metadata == EMPTY.raw else JsonObject(metadata),
            position=Position(before, pass_id, index, int(generation)),
        )
        for index, (before, event_id, timestamp, branch, message, metadata) in enumerate(
            json.loads(str(item["events"]))
        )
    )
    return Pass(pass_id, int(generation), str(item["prev"]), events)


def pass_key(head: Head, pass_id: str) -> Key:
    """The key of a pass of this life; its generation stands in front of its id."""
    return head.pk, keys.pass_sk(head.inc, generation_of(pass_id), pass_id)


def new_pass_id(generation: int, nonce: bytes) -> str:
    """``<generation>.<random>``: unique among racing passes, and readable back into a key."""
    return f"{generation}.{nonce.hex()}"


def generation_of(pass_id: str) -> int:
    """The generation that a pass made."""
    return int(pass_id.partition(".")[0])


def read_chain(rim: Rim, head: Head) -> dict[str, Pass]:
    """Every pass that counts, by id: one query, then along ``prev`` from the head's pass.

    Raises:
        CorruptLog: the chain is broken.
    """
    if not head.last_pass:
        return {}
    found: dict[str, Pass] = {}
    start: Key | None = None
    prefix = keys.pass_prefix(head.inc)
    while True:
        page = rim.query(head.pk, prefix, prefix + "~", consistent=True, start=start)
        for item in page.items:
            decoded = decode_pass(item, head.record.id)
            found[decoded.id] = decoded
        start = page.next
        if start is None:
            break
    chain: dict[str, Pass] = {}
    at = head.last_pass
    while at:
        if at not in found:
            raise CorruptLog(f"Pass {at} of {head.pk} is listed but gone.")
        chain[at] = found[at]
        at = found[at].prev
    return chain


def inserted_events(head: Head, chain: Mapping[str, Pass]) -> list[SessionEvent]:
    """All inserted events of the log in their order, archived flags set."""
    events = [e.as_archived(not head.archive.is_active(e)) for p in chain.values() for e in p.events]
    return sorted(events, key=_order)


def _order(event: SessionEvent) -> tuple[int, int, int]:
    position = event.position
    assert position is not None
    return position.before_seq, position.generation, position.index
