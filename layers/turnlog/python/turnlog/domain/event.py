"""Events: what a session is made of (spec/session 2)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from . import branch as branches
from .errors import InvalidRequest
from .exactjson import EMPTY, JsonObject, JsonValue
from .instant import Instant
from .message import Message, Role

SYNTHETIC: Final = "synthetic"
"""Metadata key: true on an event that a pass made (spec 2.5)."""


def has_text(value: str | None) -> bool:
    """Whether a string has a character that Java does not call whitespace (spec, "Has text").

    Java's whitespace leaves out the no-break spaces and U+0085, which Python's ``isspace`` counts.
    """
    return value is not None and any(c in "\u0085\u00a0\u2007\u202f" or not c.isspace() for c in value)


@dataclass(frozen=True)
class Position:
    """Where an event inserted by a pass stands: right before the logged event ``before_seq``.

    ``generation`` orders the inserts of several passes at one place; ``index`` those of one pass.
    """

    before_seq: int
    pass_id: str
    index: int
    generation: int


@dataclass(frozen=True, eq=False, init=False)
class SessionEvent:
    """One event of a session's log; immutable but for the ``archived`` flag that passes move.

    ``seq`` is the place in the log (1, 2, 3 …, gap-free) and the only order; ``timestamp`` is data.
    A logged event has a ``seq``, an inserted one a ``position`` instead. Equality is by id and
    session (spec 2.3).
    """

    id: str
    session_id: str
    message: Message
    timestamp: Instant
    branch: str | None = None
    metadata: JsonObject = EMPTY
    archived: bool = False
    seq: int | None = None
    position: Position | None = None

    def __init__(
        self,
        id: str,
        session_id: str,
        message: Message,
        timestamp: Instant,
        branch: str | None = None,
        metadata: JsonObject = EMPTY,
        archived: bool = False,
        seq: int | None = None,
        position: Position | None = None,
    ) -> None:
        # What a frozen dataclass makes for itself takes three times as long, and a window has hundreds of events.
        fields = vars(self)
        fields["id"] = id
        fields["session_id"] = session_id
        fields["message"] = message
        fields["timestamp"] = timestamp
        fields["branch"] = branch
        fields["metadata"] = metadata
        fields["archived"] = archived
        fields["seq"] = seq
        fields["position"] = position

    @classmethod
    def build(
        cls,
        *,
        session_id: str | None,
        message: Message | None,
        timestamp: Instant | None,
        id: str | None = None,
        branch: str | None = None,
        metadata: Mapping[str, JsonValue] = EMPTY,
        archived: bool = False,
    ) -> SessionEvent:
        """Construct an event outside a log; without an ``id`` it gets a random UUID (spec 2.2).

        Raises:
            InvalidRequest: id or session_id without text, no timestamp, no message; checked in
                this order.
        """
        event_id = str(uuid.uuid4()) if id is None else id
        if not has_text(event_id):
            raise InvalidRequest.at("/id", "must have text")
        if session_id is None or not has_text(session_id):
            raise InvalidRequest.at("/session_id", "must have text")
        if timestamp is None:
            raise InvalidRequest.at("/timestamp", "is required")
        if message is None:
            raise InvalidRequest.at("/message", "is required")
        return cls(event_id, session_id, message, timestamp, branch, JsonObject.of(metadata), archived)

    @property
    def role(self) -> Role:
        """The role of the message."""
        return self.message.role

    @property
    def synthetic(self) -> bool:
        """Whether a pass made it: metadata ``synthetic`` is exactly true."""
        return self.metadata is not EMPTY and self.metadata.get(SYNTHETIC) is True

    @property
    def is_root(self) -> bool:
        """Whether it is on no branch. The empty string is a branch of its own (spec 2.2)."""
        return self.branch is None

    @property
    def has_tool_calls(self) -> bool:
        """Whether it is an assistant message that calls tools."""
        return bool(self.message.tool_calls)

    @property
    def is_turn_start(self) -> bool:
        """Whether a turn begins here: a root, non-synthetic user event (spec 7.2)."""
        return self.branch is None and self.role == "user" and not self.synthetic

    def visible_to(self, agent_branch: str) -> bool:
        """Whether an agent on that branch sees it (spec 10.2)."""
        return branches.is_visible(self.branch, agent_branch)

    def as_archived(self, archived: bool = True) -> SessionEvent:
        """The same event with the flag set; itself when it is so already."""
        return self if self.archived == archived else replace(self, archived=archived)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SessionEvent) and (self.id, self.session_id) == (other.id, other.session_id)

    def __hash__(self) -> int:
        return hash((self.id, self.session_id))


@dataclass(frozen=True)
class EventDraft:
    """An event to be appended: what the caller gives. Without ``id`` the log makes one from the
    place that it wins; without ``timestamp`` it takes the clock's."""

    message: Message
    id: str | None = None
    timestamp: Instant | None = None
    branch: str | None = None
    metadata: JsonObject = EMPTY

    @property
    def is_turn_start(self) -> bool:
        """Whether a turn begins with it (spec 7.2)."""
        return self.branch is None and self.message.role == "user" and self.metadata.get(SYNTHETIC) is not True

    def same_as(self, stored: SessionEvent) -> bool:
        """Whether ``stored`` is what this draft would have become: same message, branch and
        metadata, and timestamp if the draft has one (DESIGN 4, append 2)."""
        return (
            self.branch == stored.branch
            and self.message == stored.message
            and self.metadata == stored.metadata
            and (self.timestamp is None or self.timestamp == stored.timestamp)
        )
