"""What the client gives back. Frozen; domain values where they fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Generic, TypeVar

from ..domain.event import Position, SessionEvent
from ..domain.exactjson import EMPTY, JsonObject
from ..domain.instant import Instant
from ..domain.message import Message
from ..domain.ports import Appended

T = TypeVar("T")
Range = tuple[int, int]
"""A stretch of the log: its first and its last seq."""


class Unset(Enum):
    """The type of :data:`UNSET`."""

    UNSET = "UNSET"

    def __repr__(self) -> str:
        return self.name


UNSET: Final = Unset.UNSET
"""Leave a field as it is, where None means something else."""


@dataclass(frozen=True, kw_only=True)
class SessionSummary:
    """One row of a user's list. ``expires_at`` None: it never expires. ``compaction`` is the
    stored policy; ``allow_system_messages`` None means the stage's default."""

    id: str
    user_id: str
    created_at: Instant
    expires_at: Instant | None
    metadata: JsonObject = EMPTY
    compaction: JsonObject | None = None
    allow_system_messages: bool | None = None
    last_activity: Instant | None = None


@dataclass(frozen=True, kw_only=True)
class SessionInfo:
    """A session as the server answered it.

    ``last_seq`` is the place of the newest event (0: none), ``generation`` how many passes have
    changed it, ``version`` the two added; ``etag`` is what ``if_match`` takes.
    """

    id: str
    user_id: str
    created_at: Instant
    expires_at: Instant | None
    metadata: JsonObject = EMPTY
    compaction: JsonObject | None = None
    allow_system_messages: bool | None = None
    version: int
    last_seq: int
    generation: int
    etag: str


@dataclass(frozen=True)
class AppendResult:
    """Where the events of an append stand: one :class:`Appended` each, in the order given.

    ``last_seq``, ``version`` and ``etag`` are those of the log right after it.
    """

    events: tuple[Appended, ...]
    last_seq: int
    version: int
    etag: str

    @property
    def all_replayed(self) -> bool:
        """Whether every event had been in the log before."""
        return all(event.replayed for event in self.events)


@dataclass(frozen=True)
class Page(Generic[T]):
    """One page. It may be short, even empty, and still have a ``next_cursor``: only a cursor of
    None means that nothing more comes."""

    items: tuple[T, ...]
    next_cursor: str | None

    @property
    def has_more(self) -> bool:
        """Whether another page comes."""
        return self.next_cursor is not None

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


@dataclass(frozen=True, kw_only=True)
class Compaction:
    """What became of a compaction that was asked for. ``status`` is

    * ``compacted``: it has landed; ``archived`` has left the active window.
    * ``started``: a model writes the summary, and it lands later under this ``id``.
    * ``nothing_to_do``, ``not_triggered``: nothing can leave, or the trigger does not fire.
    * ``coalesced``: another compaction was first, or is being made (then under this ``id``).
    * ``refused``: an earlier try has failed (``reason``), and the next one is at ``retry_at``.

    ``tokens_saved`` is an estimate, in a dry run without the summary that a model would write.
    ``kept_reason`` says why more stays than the strategy asks for, ``over_budget`` that what stays is
    over its budget, ``abandoned_calls`` are archived tool calls that never got a result. ``etag`` is
    the log's.
    """

    id: str | None
    status: str
    dry_run: bool
    archived: tuple[Range, ...]
    tokens_saved: int
    kept_reason: str | None
    abandoned_calls: tuple[str, ...]
    over_budget: bool
    reason: str | None
    retry_at: Instant | None
    generation: int
    version: int
    etag: str


@dataclass(frozen=True, kw_only=True)
class CompactionInfo:
    """A compaction that counts, as the history has it. ``status`` is ``compacted`` or ``undone``: an undo is
    one as well, which ``undoes`` another and has ``restored`` what that one had archived.

    ``asked_by`` is ``trigger`` (the policy), ``request`` (the user ``user_id``) or ``port`` (the library).
    ``inserted`` are the ids of the events of a summary, ``model`` is the one that wrote it. Tokens are
    estimates by ``counter``. The rest is as in :class:`Compaction`.
    """

    id: str
    status: str
    generation: int
    created_at: Instant
    asked_by: str
    user_id: str | None
    undoes: str | None
    archived: tuple[Range, ...]
    restored: tuple[Range, ...]
    inserted: tuple[str, ...]
    model: str | None
    tokens_before: int | None
    tokens_saved: int
    counter: str | None
    kept_reason: str | None
    abandoned_calls: tuple[str, ...]
    over_budget: bool
    trigger: JsonObject | None
    strategy: JsonObject | None


@dataclass(frozen=True, kw_only=True)
class CompactionAttempt:
    """The newest try, when it has changed nothing. ``status`` is

    * ``running``: a model writes the summary; at ``retry_at`` it counts as lost.
    * ``failed``: there is no summary (``reason``, ``detail``); the next try is at ``retry_at``.
    * ``futile``: it would save nothing, or leaves the trigger firing; the policy waits until the window
      has grown by a fifth.
    * ``held``: the same, after an undo.

    ``number`` counts the tries since the last compaction.
    """

    id: str | None
    status: str
    number: int
    at: Instant
    reason: str | None
    detail: str | None
    retry_at: Instant | None


@dataclass(frozen=True)
class Upload:
    """A content in the storage of a session. ``sha256`` is in hex."""

    ref: str
    media_type: str
    bytes: int
    sha256: str

    def block(self, name: str | None = None) -> dict[str, Any]:
        """The media block that names it in a message's ``content``; ``name`` is a file name for
        people."""
        block = {"type": "media", "media_type": self.media_type, "ref": self.ref}
        return block if name is None else {**block, "name": name}


@dataclass(frozen=True)
class UploadGrant:
    """Leave to put one content."""

    ref: str
    url: str
    headers: Mapping[str, str]


@dataclass(frozen=True)
class FoundUpload:
    """An upload, and where it can be read for some minutes."""

    upload: Upload
    url: str


@dataclass(frozen=True)
class EventLink:
    """Where the JSON of a message can be read for some minutes."""

    url: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class LinkedEvent:
    """An event whose message is too large for an answer."""

    id: str
    session_id: str
    timestamp: Instant
    branch: str | None
    metadata: JsonObject
    archived: bool
    seq: int | None
    position: Position | None
    link: EventLink

    def with_message(self, text: bytes) -> SessionEvent:
        """The event with the message that its link led to; raises ``MalformedJson``."""
        return SessionEvent(
            id=self.id,
            session_id=self.session_id,
            message=Message(JsonObject.parse(text)),
            timestamp=self.timestamp,
            branch=self.branch,
            metadata=self.metadata,
            archived=self.archived,
            seq=self.seq,
            position=self.position,
        )
