"""Passes: the items that say what a compaction archived and inserted (DESIGN 4, "Pass").

A pass is two writes however long the session is: its item, then the head, on the condition that
nobody else changed the head meanwhile. An item counts only when the head's chain of ``prev``
leads to it; what a lost race or a crash leaves behind is invisible and swept later.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ...domain import ids
from ...domain.archive import ArchiveState
from ...domain.errors import CorruptLog
from ...domain.event import EventDraft, Position, SessionEvent
from ...domain.exactjson import EMPTY, JsonObject
from ...domain.instant import Instant
from ...domain.message import Message
from ...domain.passes import PassDetail, PassRecord, generation_of, less
from ...domain.ports import Insertion
from . import keys
from .items import NO_TOTALS, Head, Totals
from .rim import Item, Key, Rim

_FORMAT: Final = 2
"""Format 1 had neither a place nor a typed detail; only the repository port could make such passes."""


@dataclass(frozen=True)
class Before:
    """The part of a head that a pass changes."""

    archive: ArchiveState = field(default_factory=ArchiveState)
    start: int = 1
    stragglers: tuple[int, ...] = ()
    cut: Totals = NO_TOTALS
    held: int = 0

    @classmethod
    def of(cls, head: Head) -> Before:
        """As the head says."""
        return cls(head.archive, head.start, head.stragglers, head.cut, head.held)


@dataclass(frozen=True)
class Pass:
    """One pass as stored; ``events`` are those it inserted, archived flag not yet set. ``before`` is
    what the head said of the window before it, for an undo to say again."""

    id: str
    generation: int
    prev: str
    at: Instant
    events: tuple[SessionEvent, ...] = ()
    before: Before = field(default_factory=Before)
    after: ArchiveState = field(default_factory=ArchiveState)
    detail: PassDetail = field(default_factory=PassDetail)
    undoes: str | None = None

    @property
    def record(self) -> PassRecord:
        """The same for callers."""
        return PassRecord(
            id=self.id,
            generation=self.generation,
            at=self.at,
            archived=less(self.after.ranges, self.before.archive.ranges),
            restored=less(self.before.archive.ranges, self.after.ranges),
            inserted=tuple(event.id for event in self.events),
            undoes=self.undoes,
            detail=self.detail,
        )


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


def pass_item(head: Head, made: Pass) -> Item:
    """The stored form."""
    item: Item = {
        "pk": head.pk,
        "sk": keys.pass_sk(head.inc, made.generation, made.id),
        "v": _FORMAT,
        "prev": made.prev,
        "at": made.at.ns,
        "events": json.dumps([_encode(e) for e in made.events], ensure_ascii=False, separators=(",", ":")),
        "before": made.before.archive.encode(),
        "after": made.after.encode(),
        "start": made.before.start,
        "strag": ",".join(map(str, made.before.stragglers)),
        "cut": made.before.cut.encode(),
        "held": made.before.held,
        "detail": _encode_detail(made.detail),
    }
    return item if made.undoes is None else item | {"undoes": made.undoes}


def _encode_detail(detail: PassDetail) -> str:
    """Only what is there; a policy's parts stay the text that they are."""
    fields = {name: value for name, value in vars(detail).items() if value not in (None, (), False)}
    for name in ("trigger", "strategy"):
        if name in fields:
            fields[name] = fields[name].raw
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def _decode_detail(text: str) -> PassDetail:
    found: dict[str, Any] = json.loads(text)
    for name in ("trigger", "strategy"):
        if name in found:
            found[name] = JsonObject(found[name])
    if "abandoned_calls" in found:
        found["abandoned_calls"] = tuple(found["abandoned_calls"])
    return PassDetail(**found)


def _encode(event: SessionEvent) -> list[object]:
    position = event.position
    assert position is not None
    return [position.before_seq, event.id, event.timestamp.text, event.branch, event.message.raw, event.metadata.raw]


def decode_pass(item: Item, session_id: str) -> Pass:
    """From the stored form."""
    found: Any = item
    _, _, generation, pass_id = found["sk"].split("#")
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
        for index, (before, event_id, timestamp, branch, message, metadata) in enumerate(json.loads(found["events"]))
    )
    old = found["v"] < _FORMAT
    return Pass(
        id=pass_id,
        generation=int(generation),
        prev=found["prev"],
        at=Instant.parse(json.loads(found["detail"])["at"]) if old else Instant.of_ns(found["at"]),
        events=events,
        before=_before(found),
        after=ArchiveState.decode(found["after"]),
        detail=PassDetail() if old else _decode_detail(found["detail"]),
        undoes=found.get("undoes"),
    )


def _before(item: Mapping[str, Any]) -> Before:
    """Without a place, the whole log is read: more than needed, and right."""
    archive = ArchiveState.decode(item["before"])
    if "start" not in item:
        return Before(archive)
    stragglers = tuple(int(s) for s in item["strag"].split(",") if s)
    return Before(archive, item["start"], stragglers, Totals.decode(item["cut"]), item["held"])


def pass_key(head: Head, pass_id: str) -> Key:
    """The key of a pass of this life; its generation stands in front of its id."""
    return head.pk, keys.pass_sk(head.inc, generation_of(pass_id), pass_id)


def walk_chain(rim: Rim, head: Head, first: str | None = None) -> Iterator[Pass]:
    """The passes that count, newest first, from ``first`` (the newest without one) along ``prev``.
    What a lost race left between them is skipped.

    Raises:
        CorruptLog: the chain is broken.
    """
    wanted = head.last_pass if first is None else first
    if not wanted:
        return
    low = keys.pass_prefix(head.inc)
    high = keys.pass_sk(head.inc, generation_of(wanted), "~")
    start: Key | None = None
    while wanted:
        page = rim.query(head.pk, low, high, descending=True, consistent=True, start=start)
        for item in page.items:
            if str(item["sk"]).endswith(f"#{wanted}"):
                found = decode_pass(item, head.record.id)
                yield found
                wanted = found.prev
        start = page.next
        if start is None and wanted:
            raise CorruptLog(f"Pass {wanted} of {head.pk} is listed but gone.")


def read_chain(rim: Rim, head: Head) -> dict[str, Pass]:
    """Every pass that counts, by id.

    Raises:
        CorruptLog: the chain is broken.
    """
    return {found.id: found for found in walk_chain(rim, head)}


def find_pass(rim: Rim, head: Head, pass_id: str) -> Pass | None:
    """The pass of that id, if it counts. Most often one look tells: a generation has one item, unless
    a race was lost at it."""
    generation = generation_of(pass_id)
    if not 1 <= generation <= head.generation:
        return None
    low = keys.pass_sk(head.inc, generation, "")
    page = rim.query(head.pk, low, low + "~", consistent=True, limit=2)
    here = [decode_pass(item, head.record.id) for item in page.items]
    if pass_id not in {made.id for made in here} and page.next is None:
        return None
    if len(here) == 1 and here[0].id == pass_id:
        return here[0]
    return read_chain(rim, head).get(pass_id)


def inserted_events(head: Head, chain: Mapping[str, Pass]) -> list[SessionEvent]:
    """All inserted events of the log in their order, archived flags set."""
    events = [e.as_archived(not head.archive.is_active(e)) for p in chain.values() for e in p.events]
    return sorted(events, key=_order)


def _order(event: SessionEvent) -> tuple[int, int, int]:
    position = event.position
    assert position is not None
    return position.before_seq, position.generation, position.index
