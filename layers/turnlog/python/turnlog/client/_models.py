"""What the client gives back. Frozen; domain values where they fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, Generic, TypeVar

from ..domain.exactjson import EMPTY, JsonObject
from ..domain.instant import Instant
from ..domain.ports import Appended

T = TypeVar("T")


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
