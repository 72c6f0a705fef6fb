"""Items of the table and the values they stand for.

Attribute names are short where an item is written on every append: one write unit is 1,024
bytes, names included (AWS: "DynamoDB item sizes and formats").
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, cast

from ...domain.archive import ArchiveState
from ...domain.due import Attempt, WindowSize
from ...domain.event import SessionEvent
from ...domain.exactjson import EMPTY, JsonObject
from ...domain.instant import NS, Instant
from ...domain.ports import TokenCounter
from ...domain.session import Session, StoredSession, Version
from ...domain.tokens import format_message
from ...domain.turn import is_conversation
from . import keys
from .known import HASH, NOTHING, Known, get_varints, hash_id, put_varint
from .rim import Item


@dataclass(frozen=True)
class Totals:
    """Running totals over a log: root turns, estimated tokens, bytes of message text, users' events on
    branches, and whether any of the conversation is at the root."""

    turns: int = 0
    tokens: int = 0
    size: int = 0
    branch_turns: int = 0
    rooted: bool = False

    @classmethod
    def of(cls, events: Iterable[SessionEvent], counter: TokenCounter) -> Totals:
        """The totals of one stretch."""
        turns = tokens = size = branch_turns = 0
        rooted = False
        for event in events:
            turns += event.is_turn_start
            tokens += counter.count(format_message(event.message))
            size += len(event.message.raw.encode())
            if is_conversation(event):
                rooted = rooted or event.is_root
                branch_turns += not event.is_root and event.role == "user"
        return cls(turns, tokens, size, branch_turns, rooted)

    def plus(self, more: Totals) -> Totals:
        """The totals with one more stretch."""
        return Totals(
            self.turns + more.turns,
            self.tokens + more.tokens,
            self.size + more.size,
            self.branch_turns + more.branch_turns,
            self.rooted or more.rooted,
        )

    def encode(self) -> bytes:
        """As the attribute ``t``."""
        branches = self.branch_turns * 2 + self.rooted
        return b"".join(map(put_varint, (self.turns, self.tokens, self.size, branches)))

    @classmethod
    def decode(cls, data: bytes) -> Totals:
        """The inverse. Items of before there were totals of branches have three numbers; they count as
        rooted, so that only root turns are turns."""
        turns, tokens, size, *more = get_varints(data)[0]
        branches = more[0] if more else 1
        return cls(turns, tokens, size, branches >> 1, bool(branches & 1))


NO_TOTALS: Final = Totals()


# ------------------------------------------------------------------ commits


@dataclass(frozen=True)
class Blob:
    """A body that lies in S3: its key, SHA-256 and size in bytes."""

    key: str
    hash: bytes
    size: int


@dataclass(frozen=True)
class Commit:
    """One append: ``count`` events from ``first`` on. A closing commit has none and ends a life."""

    pk: str
    inc: int
    first: int
    count: int
    cid: bytes
    generation: int
    body: str | bytes | Blob = ""
    encoded_totals: bytes = NO_TOTALS.encode()
    known: Known = NOTHING
    fold: int = 0
    due: bool = False

    @cached_property
    def totals(self) -> Totals:
        """The totals up to its newest event; decoded when somebody looks, for a window has many commits."""
        return Totals.decode(self.encoded_totals)

    @property
    def last(self) -> int:
        """The seq of its newest event."""
        return self.first + self.count - 1

    @property
    def is_closing(self) -> bool:
        """Whether it closes the life instead of adding events."""
        return self.count == 0

    @property
    def key(self) -> tuple[str, str]:
        """(pk, sk)."""
        return self.pk, keys.commit_sk(self.inc, self.first)

    def item(self) -> Item:
        """The stored form."""
        pk, sk = self.key
        item: Item = {"pk": pk, "sk": sk, "n": self.count, "c": self.cid, "g": self.generation}
        if self.is_closing:
            return item
        item["t"] = self.encoded_totals
        if isinstance(self.body, Blob):
            item |= {"o": self.body.key, "h": self.body.hash, "z": self.body.size}
        else:
            item["b"] = self.body
        if self.known.ids:
            item["i"] = self.known.encode_ids(self.fold)
        if self.known.keys:
            item["k"] = self.known.encode_keys()
        if self.fold:
            item["f"] = self.fold
        if self.due:
            item["due"] = True  # the stream's filter looks for it
        return item

    @classmethod
    def of(cls, item: Item) -> Commit:
        """From the stored form."""
        found: Any = item
        inc, first = keys.parse_commit_sk(found["sk"])
        fold: int = found.get("f", 0)
        body: str | bytes | Blob = found.get("b", "")
        if "o" in found:
            body = Blob(found["o"], found["h"], found["z"])
        known = NOTHING
        if "i" in found or "k" in found:
            known = Known.decode(found.get("i", b""), found.get("k", b""), fold)
        totals = found.get("t", cls.encoded_totals)
        return cls(found["pk"], inc, first, found["n"], found["c"], found["g"], body, totals, known, fold)


def is_commit(item: Item) -> bool:
    """Whether an item at or above ``LOG_FROM`` is a commit (else it is the head)."""
    return item["sk"] != keys.HEAD


# ------------------------------------------------------------------ heads


@dataclass(frozen=True)
class Head:
    """The head of a session: its record, and where the log and the passes stand.

    ``last_pass`` is the id of the pass that made ``generation``; ``start`` the first seq of the
    commit from which the active window is read; ``stragglers`` the first seqs of older commits
    that still hold active events; ``cut`` the totals of what is archived, ``held`` the tokens of the
    inserted events that are active; ``insert_ids`` the short hashes of ids that callers gave to
    inserted events (those of the server tell their place).
    """

    pk: str
    record: Session
    inc: int
    generation: int = 0
    rev: int = 0
    prev_inc: int = 0
    cid: bytes = b""
    token: bytes = b""
    mark: bytes = b""
    last_pass: str = ""
    archive: ArchiveState = field(default_factory=ArchiveState)
    start: int = 1
    stragglers: tuple[int, ...] = ()
    cut: Totals = Totals()
    held: int = 0
    insert_ids: bytes = b""
    deleted: bool = False
    attempt: Attempt | None = None

    def stored(self, last_seq: int) -> StoredSession:
        """The session as callers see it."""
        return StoredSession(self.record, Version(self.inc, last_seq, self.generation), self.rev, self.attempt)

    def window_size(self, totals: Totals) -> WindowSize:
        """How large the window is when the log has these totals."""
        cut = self.cut
        turns = totals.turns - cut.turns if totals.rooted else totals.branch_turns - cut.branch_turns
        return WindowSize(max(0, turns), max(0, totals.tokens - cut.tokens) + self.held)

    def item(self) -> Item:
        """The stored form."""
        item: Item = {"pk": self.pk, "sk": keys.HEAD, "inc": self.inc, "gen": self.generation, "rev": self.rev}
        if keys.decode(keys.encode(self.record.id)) is None:
            item["sid"] = self.record.id  # the key holds only its hash
        item |= {"cid": self.cid} if self.cid else {}
        item |= {"token": self.token} if self.token else {}
        item |= {"mark": self.mark} if self.mark else {}
        item |= {"prev_inc": self.prev_inc} if self.prev_inc else {}
        item |= {"deleted": True} if self.deleted else {}
        return item | record_attributes(self.record) | self.archive_attributes() | attempt_attributes(self.attempt)

    def archive_attributes(self) -> Item:
        """What a pass writes to the head, but for the generation."""
        item: Item = {}
        if self.last_pass:
            item |= {"pass": self.last_pass, "arch": self.archive.encode(), "start": self.start}
            item |= {"cut": self.cut.encode(), "strag": ",".join(str(s) for s in self.stragglers), "held": self.held}
        if self.insert_ids:
            item["iids"] = self.insert_ids
        return item

    def may_hold_insert(self, event_id: str) -> bool:
        """Whether some pass may have inserted an event with this id, which a caller gave."""
        wanted = hash_id(event_id)
        return any(self.insert_ids[i : i + HASH] == wanted for i in range(0, len(self.insert_ids), HASH))

    @classmethod
    def of(cls, item: Item, session_id: str) -> Head:
        """From the stored form."""
        return cls(
            pk=str(item["pk"]),
            record=_record(item, session_id),
            inc=cast(int, item["inc"]),
            generation=cast(int, item["gen"]),
            rev=cast(int, item["rev"]),
            prev_inc=cast(int, item.get("prev_inc", 0)),
            cid=cast(bytes, item.get("cid", b"")),
            token=cast(bytes, item.get("token", b"")),
            mark=cast(bytes, item.get("mark", b"")),
            last_pass=str(item.get("pass", "")),
            archive=ArchiveState.decode(str(item.get("arch", ""))),
            start=cast(int, item.get("start", 1)),
            stragglers=tuple(int(s) for s in str(item.get("strag", "")).split(",") if s),
            cut=Totals.decode(cast(bytes, item["cut"])) if "cut" in item else Totals(),
            held=cast(int, item.get("held", 0)),
            insert_ids=cast(bytes, item.get("iids", b"")),
            attempt=decode_attempt(str(item["att"])) if "att" in item else None,
            deleted=bool(item.get("deleted", False)),
        )


def record_attributes(record: Session) -> Item:
    """A record's part of the head. (``created`` is an index key of the list, and of another type.)
    ``expires`` is the TTL attribute, in whole seconds and never
    early; ``xat`` is the exact instant, which every condition compares."""
    item: Item = {"user": record.user_id, "born": record.created_at.ns}
    if record.expires_at is not None:
        item |= {"expires": -(-record.expires_at.ns // NS), "xat": record.expires_at.ns}
    if record.metadata.raw != EMPTY.raw:
        item["meta"] = record.metadata.raw
    if record.compaction is not None:
        item["policy"] = record.compaction.raw
    if record.allow_system_messages is not None:
        item["sys"] = record.allow_system_messages
    return item


PENDING: Final = "!due"
"""The partition of the index by creation in which heads stand whose attempt has to be looked at later."""

ATTEMPT_OPTIONAL: Final = ("att", "gpk", "created", "due")
"""The attributes that tell of attempts and of a pass that is due; who changes the head's passes or
policy removes those that it does not set."""


def attempt_attributes(attempt: Attempt | None) -> Item:
    """An attempt's part of the head. One that is to be looked at again stands in an index, by when;
    that is the list's index, because a second one would cost every table of the past an update."""
    if attempt is None:
        return {}
    item: Item = {"att": _encode_attempt(attempt)}
    if attempt.retry_at is not None:
        item |= {"gpk": PENDING, "created": f"{max(attempt.retry_at.ms, 0):013d}"}
    return item


def _encode_attempt(attempt: Attempt) -> str:
    fields = {
        "n": attempt.number,
        "status": attempt.status,
        "at": attempt.at.ns,
        "reason": attempt.reason,
        "detail": attempt.detail,
        "retry_at": None if attempt.retry_at is None else attempt.retry_at.ns,
        "pass": attempt.pass_id,
        "turns": attempt.size.turns,
        "tokens": attempt.size.tokens,
    }
    kept = {name: value for name, value in fields.items() if value not in (None, "")}
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":"))


def decode_attempt(text: str) -> Attempt:
    """An attempt from the stored form."""
    found = json.loads(text)
    retry_at = found.get("retry_at")
    return Attempt(
        number=found["n"],
        status=found["status"],
        at=Instant.of_ns(found["at"]),
        reason=found.get("reason", ""),
        detail=found.get("detail", ""),
        retry_at=None if retry_at is None else Instant.of_ns(retry_at),
        pass_id=found.get("pass"),
        size=WindowSize(found["turns"], found["tokens"]),
    )


RECORD_OPTIONAL: Final = ("expires", "xat", "meta", "policy", "sys")
"""The attributes of a record that an update removes when the record has no such part."""


def _record(item: Item, session_id: str) -> Session:
    sys = item.get("sys")
    return Session(
        id=session_id,
        user_id=str(item["user"]),
        created_at=Instant.of_ns(cast("int", item["born"])),
        expires_at=Instant.of_ns(cast("int", item["xat"])) if "xat" in item else None,
        metadata=JsonObject(str(item["meta"])) if "meta" in item else EMPTY,
        compaction=JsonObject(str(item["policy"])) if "policy" in item else None,
        allow_system_messages=None if sys is None else bool(sys),
    )
