"""Short ways to write messages and events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Literal, TypeAlias

from ..domain.errors import FieldError, InvalidRequest, MalformedJson
from ..domain.event import EventDraft
from ..domain.exactjson import EMPTY, JsonObject, JsonValue, dumps, escape_pointer
from ..domain.instant import Instant
from ..domain.message import Message, ToolCall, ToolResult
from ._models import Upload
from .errors import as_client_errors

MessageLike: TypeAlias = Message | Mapping[str, Any]
"""A message: built here, or a mapping in Turnlog's shape, which is sent as it is."""

EventLike: TypeAlias = MessageLike | EventDraft
"""What can be appended: a message alone, or a :func:`draft` with an id, branch or metadata."""

InstantLike: TypeAlias = Instant | datetime | str
"""A point in time: RFC 3339 text or a ``datetime``, either with its zone."""


@as_client_errors()
def user(text: str, *uploads: Upload) -> Message:
    """A user message: text, and what has been uploaded to go with it."""
    if not uploads:
        return Message.user(text)
    if not all(isinstance(upload, Upload) for upload in uploads):
        raise TypeError("what follows the text is what session.upload gave")
    blocks: list[JsonValue] = [{"type": "text", "text": text}, *(upload.block() for upload in uploads)]
    return Message.of({"role": "user", "content": blocks})


@as_client_errors()
def assistant(text: str | None = None, *, calls: Iterable[ToolCall] = ()) -> Message:
    """An assistant message: text, tool calls, or both."""
    return Message.assistant(text, calls=calls)


@as_client_errors()
def system(text: str) -> Message:
    """A system message. Sessions refuse them unless ``allow_system_messages`` is on."""
    return Message.system(text)


@as_client_errors()
def tool_call(id: str, name: str, arguments: str | Mapping[str, JsonValue]) -> ToolCall:
    """A call for ``assistant(calls=…)``. A string of arguments is kept byte for byte, as the
    model wrote it; a mapping is written as compact JSON."""
    return ToolCall(id, name, arguments if isinstance(arguments, str) else object_of(arguments, "/arguments").raw)


@as_client_errors()
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


@as_client_errors()
def object_of(value: Mapping[str, JsonValue], pointer: str) -> JsonObject:
    """A mapping as JSON; what is wrong inside is reported below ``pointer``."""
    if not isinstance(value, Mapping):
        raise InvalidRequest.at(pointer, f"must be a mapping, not {type(value).__name__}")
    try:
        json = JsonObject.of(value)
        _check_keys(value)
    except MalformedJson as bad:
        errors = [FieldError(pointer + e.pointer, e.detail) for e in bad.errors] or [FieldError(pointer, bad.detail)]
        raise MalformedJson(bad.detail, errors=errors) from None
    return json


def _check_keys(value: object, pointer: str = "") -> None:
    """Refuse keys that are no strings: the encoder would write another key in their place."""
    if isinstance(value, (list, tuple)):
        for i, member in enumerate(value):
            _check_keys(member, f"{pointer}/{i}")
    elif isinstance(value, Mapping) and not isinstance(value, JsonObject):
        for key, member in value.items():
            if not isinstance(key, str):
                detail = f"the key {key!r} is not a string"
                raise MalformedJson(f"{pointer or '/'}: {detail}.", errors=[FieldError(pointer, detail)])
            _check_keys(member, f"{pointer}/{escape_pointer(key)}")


@as_client_errors()
def instant_of(value: InstantLike, pointer: str) -> Instant:
    """Any point in time as an instant."""
    if isinstance(value, Instant):
        return value
    return Instant.parse(value.isoformat() if isinstance(value, datetime) else value, pointer=pointer)


@as_client_errors()
def value_of(value: JsonValue, pointer: str) -> str:
    """The JSON text of a number or flag; raises ``MalformedJson`` for what is no JSON value."""
    try:
        return dumps(value)
    except (TypeError, ValueError) as bad:
        raise MalformedJson(f"{pointer}: {bad}.", errors=[FieldError(pointer, str(bad))]) from None


@as_client_errors()
def text_of(value: str, pointer: str) -> str:
    """The JSON text of a string; raises ``MalformedJson`` for a lone surrogate, ``InvalidRequest`` for
    what is no string."""
    if not isinstance(value, str):
        raise InvalidRequest.at(pointer, f"must be a string, not {type(value).__name__}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        detail = "a lone surrogate is not text"
        raise MalformedJson(f"{pointer}: {detail}", errors=[FieldError(pointer, detail)]) from None
    return dumps(value)
