"""Short ways to write messages and events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal, TypeAlias

from ..domain.errors import FieldError, MalformedJson
from ..domain.event import EventDraft
from ..domain.exactjson import EMPTY, JsonObject, JsonValue, dumps
from ..domain.instant import Instant
from ..domain.message import Message, ToolCall, ToolResult

MessageLike: TypeAlias = Message | Mapping[str, Any]
"""A message: built here, or a mapping in Turnlog's shape, which is sent as it is."""

EventLike: TypeAlias = MessageLike | EventDraft
"""What can be appended: a message alone, or a :func:`draft` with an id, branch or metadata."""

InstantLike: TypeAlias = Instant | datetime | str
"""A point in time: RFC 3339 text or a ``datetime``, either with its zone."""


def user(text: str) -> Message:
    """A user message."""
    return Message.user(text)


def assistant(text: str | None = None, *, calls: Iterable[ToolCall] = ()) -> Message:
    """An assistant message: text, tool calls, or both."""
    return Message.assistant(text, calls=calls)


def system(text: str) -> Message:
    """A system message. Sessions refuse them unless ``allow_system_messages`` is on."""
    return Message.system(text)


def tool_call(id: str, name: str, arguments: str | Mapping[str, JsonValue]) -> ToolCall:
    """A call for ``assistant(calls=…)``. A string of arguments is kept byte for byte, as the
    model wrote it; a mapping is written as compact JSON."""
    return ToolCall(id, name, arguments if isinstance(arguments, str) else JsonObject.of(arguments).raw)


def tool_result(
    call_id: str,
    content: str,
    *,
    name: str | None = None,
    status: Literal["ok", "error", "pending"] = "ok",
) -> Message:
    """A tool message that answers one call."""
    return Message.tool([ToolResult(call_id, name, content, status)])


def draft(
    message: MessageLike,
    *,
    id: str | None = None,
    timestamp: InstantLike | None = None,
    branch: str | None = None,
    metadata: Mapping[str, JsonValue] | None = None,
) -> EventDraft:
    """An event to append, where the message alone is not all there is to say.

    Without ``id`` the client makes one when it is sent; without ``timestamp`` the server's clock
    counts. Give an ``id`` of your own when something upstream already has one: appended again, it
    is a replay.

    Raises:
        MalformedJson: the message or the metadata holds something that is not JSON.
        InvalidRequest: the timestamp has no zone or does not exist.
    """
    return EventDraft(
        message=message_of(message, "/message"),
        id=id,
        timestamp=None if timestamp is None else instant_of(timestamp, "/timestamp"),
        branch=branch,
        metadata=EMPTY if metadata is None else object_of(metadata, "/metadata"),
    )


def draft_of(event: EventLike, pointer: str) -> EventDraft:
    """Any appendable value as a draft."""
    return event if isinstance(event, EventDraft) else EventDraft(message_of(event, pointer + "/message"))


def message_of(value: object, pointer: str) -> Message:
    """Any message value as a message. The shape of a mapping is for the server to judge: it may
    know blocks that this client does not."""
    if isinstance(value, Message):
        return value
    if isinstance(value, Mapping):
        return Message(object_of(value, pointer))
    raise TypeError(f"expected a message, a mapping or a draft, not {type(value).__name__}")


def object_of(value: Mapping[str, JsonValue], pointer: str) -> JsonObject:
    """A mapping as JSON; what is wrong inside is reported below ``pointer``."""
    try:
        return JsonObject.of(value)
    except MalformedJson as bad:
        errors = [FieldError(pointer + e.pointer, e.detail) for e in bad.errors] or [FieldError(pointer, bad.detail)]
        raise MalformedJson(bad.detail, errors=errors) from None


def instant_of(value: InstantLike, pointer: str) -> Instant:
    """Any point in time as an instant."""
    if isinstance(value, Instant):
        return value
    return Instant.parse(value.isoformat() if isinstance(value, datetime) else value, pointer=pointer)


def text_of(value: str, pointer: str) -> str:
    """The JSON text of a string; raises ``MalformedJson`` for a lone surrogate."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        detail = "a lone surrogate is not text"
        raise MalformedJson(f"{pointer}: {detail}", errors=[FieldError(pointer, detail)]) from None
    return dumps(value)
