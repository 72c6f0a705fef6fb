"""Sessions and their versions (spec/session 1, DESIGN 2)."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from .due import Attempt
from .errors import InvalidRequest
from .event import has_text
from .exactjson import EMPTY, JsonObject, JsonValue
from .instant import Instant

DEFAULT_TTL_SECONDS: Final = 60 * 86_400
"""The lifetime of a session that asks for none: 60 days (spec 1.3)."""

_ETAG: Final = re.compile(r'"(\d{1,19})\.(\d{1,19})\.(\d{1,19})(?:\.(\d{1,19}))?"', re.ASCII)


@dataclass(frozen=True)
class Session:
    """A session's record; its events live in the log, never here.

    ``compaction`` is the stored policy; ``allow_system_messages`` None means the stage's default.
    """

    id: str
    user_id: str
    created_at: Instant
    expires_at: Instant | None
    metadata: JsonObject = EMPTY
    compaction: JsonObject | None = None
    allow_system_messages: bool | None = None

    @classmethod
    def build(
        cls,
        *,
        id: str | None,
        user_id: str | None,
        now: Instant,
        ttl_seconds: int = DEFAULT_TTL_SECONDS,
        metadata: Mapping[str, JsonValue] = EMPTY,
        compaction: JsonObject | None = None,
        allow_system_messages: bool | None = None,
    ) -> Session:
        """A new session as spec 1.5 makes it: a missing or blank id becomes a random UUID, any
        other is taken verbatim; the lifetime is not range-checked here.

        Raises:
            InvalidRequest: ``user_id`` has no text.
        """
        if user_id is None or not has_text(user_id):
            raise InvalidRequest.at("/user_id", "must have text")
        return cls(
            id=id if id is not None and has_text(id) else str(uuid.uuid4()),
            user_id=user_id,
            created_at=now,
            expires_at=now.plus_seconds(ttl_seconds),
            metadata=JsonObject.of(metadata),
            compaction=compaction,
            allow_system_messages=allow_system_messages,
        )

    def expired(self, now: Instant) -> bool:
        """Whether it is gone at ``now``: from the instant of ``expires_at`` on (DESIGN 4)."""
        return self.expires_at is not None and self.expires_at <= now

    def changed(self, changes: SessionChanges) -> Session:
        """The record with the changes laid over it."""
        out = self
        if changes.metadata is not None:
            out = replace(out, metadata=changes.metadata)
        if changes.set_expires_at:
            out = replace(out, expires_at=changes.expires_at)
        if changes.set_compaction:
            out = replace(out, compaction=changes.compaction)
        if changes.set_allow_system_messages:
            out = replace(out, allow_system_messages=changes.allow_system_messages)
        return out


@dataclass(frozen=True)
class SessionChanges:
    """What a PATCH changes. A ``set_*`` flag tells "set to None" from "leave alone"."""

    metadata: JsonObject | None = None
    set_expires_at: bool = False
    expires_at: Instant | None = None
    set_compaction: bool = False
    compaction: JsonObject | None = None
    set_allow_system_messages: bool = False
    allow_system_messages: bool | None = None


@dataclass(frozen=True, order=True)
class Version:
    """One state of one life of a session: ``inc`` (the life), the newest ``seq``, and how many
    passes changed it. ``number`` is what the spec calls the version."""

    inc: int
    last_seq: int
    generation: int

    @property
    def number(self) -> int:
        """``last_seq + generation`` (DESIGN 2)."""
        return self.last_seq + self.generation

    def etag(self, rev: int | None = None) -> str:
        """The strong ETag: of the log, or of the session resource when ``rev`` is given."""
        return f'"{self.inc}.{self.last_seq}.{self.generation}{"" if rev is None else f".{rev}"}"'

    def reached_by(self, seen: Version) -> bool:
        """Whether ``seen`` shows everything that this version shows (DESIGN 4, ``min_version``)."""
        return seen.inc > self.inc or (
            seen.inc == self.inc and seen.last_seq >= self.last_seq and seen.generation >= self.generation
        )


@dataclass(frozen=True)
class ETag:
    """A parsed ETag; ``rev`` is None for one of the log."""

    version: Version
    rev: int | None = None

    @classmethod
    def parse(cls, text: str) -> ETag | None:
        """None when it is not one of ours: such a tag matches nothing."""
        found = _ETAG.fullmatch(text.strip())
        if not found:
            return None
        inc, seq, generation = int(found[1]), int(found[2]), int(found[3])
        return cls(Version(inc, seq, generation), int(found[4]) if found[4] else None)


@dataclass(frozen=True)
class StoredSession:
    """A session as the store holds it: the record and the counters of one consistent or stale
    view. ``rev`` counts the changes of the record; ``attempt`` is what became of the newest try to
    compact it, when that changed nothing."""

    record: Session
    version: Version
    rev: int = 0
    attempt: Attempt | None = None

    @property
    def id(self) -> str:
        """The session's id."""
        return self.record.id


def matches(tags: tuple[str, ...], current: ETag) -> bool:
    """Whether one of the tags names the present state. The log's tag (``current`` without ``rev``) is also named
    by the session's, which says more; the session's is not named by the log's, which says less."""
    for tag in tags:
        if tag.strip() == "*":
            return True
        parsed = ETag.parse(tag)
        if parsed is None or parsed.version != current.version:
            continue
        if current.rev is None or parsed.rev == current.rev:
            return True
    return False
