"""Messages and their content blocks (DESIGN 3).

A message is its JSON text: what comes back equals what went in, unknown keys included. The
properties here read that text; none of them changes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, cast

from .errors import InvalidRequest
from .exactjson import JsonObject, JsonValue, canonical
from .uploads import MediaRef, media_refs

Role = Literal["user", "assistant", "system", "tool"]
ROLES: Final[tuple[Role, ...]] = ("user", "assistant", "system", "tool")
STATUSES: Final = ("ok", "error", "pending")


@dataclass(frozen=True)
class ToolCall:
    """A request of the model to run a tool; ``arguments`` is the JSON *string* as given."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class ToolResult:
    """The answer to a tool call; ``data`` is its text (text blocks joined), whatever its shape."""

    call_id: str
    name: str | None
    data: str
    status: Literal["ok", "error", "pending"]


@dataclass(frozen=True)
class Message:
    """One message of a conversation.

    Build one with :meth:`parse` (validated JSON), :meth:`of` (a mapping) or the factories
    :meth:`user`, :meth:`assistant`, :meth:`system` and :meth:`tool`.
    """

    json: JsonObject

    @classmethod
    def of(cls, value: Mapping[str, JsonValue], *, pointer: str = "/message") -> Message:
        """From a parsed mapping.

        Raises:
            InvalidRequest: the role, a block or one of its fields is not valid; the pointer says
                which, below ``pointer``.
        """
        check(value, pointer)
        message = cls(JsonObject.of(value))
        # What it says is at hand here; later it would have to be parsed from the text.
        role, content = value["role"], value["content"]
        vars(message).update(
            role=role,
            text=_text(role, content),
            tool_calls=_tool_calls(content),
            media_refs=tuple(media_refs(content)),
        )
        if role == "tool":
            vars(message)["tool_results"] = _tool_results(content)
        return message

    @classmethod
    def parse(cls, text: str | bytes) -> Message:
        """From JSON text; raises ``MalformedJson`` or ``InvalidRequest``."""
        return cls.of(JsonObject.parse(text).to_python())

    @classmethod
    def user(cls, text: str) -> Message:
        """A user message of plain text."""
        return cls.of({"role": "user", "content": text})

    @classmethod
    def system(cls, text: str) -> Message:
        """A system message of plain text."""
        return cls.of({"role": "system", "content": text})

    @classmethod
    def assistant(cls, text: str | None = None, *, calls: Iterable[ToolCall] = ()) -> Message:
        """An assistant message: text, tool calls, or both."""
        blocks: list[dict[str, Any]] = [] if text is None else [{"type": "text", "text": text}]
        blocks.extend(
            {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments} for call in calls
        )
        return cls.of({"role": "assistant", "content": blocks})

    @classmethod
    def tool(cls, results: Iterable[ToolResult]) -> Message:
        """The answers to tool calls."""
        blocks = []
        for result in results:
            block: dict[str, Any] = {"type": "tool_result", "call_id": result.call_id}
            if result.name is not None:
                block["name"] = result.name
            blocks.append({**block, "content": result.data, "status": result.status})
        return cls.of({"role": "tool", "content": blocks})

    @property
    def raw(self) -> str:
        """The JSON text, as stored and answered."""
        return self.json.raw

    @cached_property
    def role(self) -> Role:
        """Who speaks."""
        return cast(Role, self.json["role"])

    @cached_property
    def blocks(self) -> tuple[Mapping[str, JsonValue], ...]:
        """The content as blocks; plain text is one text block."""
        content = self.json["content"]
        if isinstance(content, str):
            return ({"type": "text", "text": content},)
        return tuple(content)

    @cached_property
    def text(self) -> str | None:
        """The text blocks joined; None when there is none, except "" for a tool message."""
        return _text(self.role, self.json["content"])

    @cached_property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls of an assistant message, in order."""
        return _tool_calls(self.json["content"])

    @cached_property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The results of a tool message, in order."""
        return _tool_results(self.json["content"])

    @cached_property
    def has_media(self) -> bool:
        """Whether any block is media."""
        return any(b["type"] == "media" for b in self.blocks)

    @cached_property
    def media_refs(self) -> tuple[MediaRef, ...]:
        """The refs of uploads that it names, wherever they stand."""
        return tuple(media_refs(self.json["content"]))

    @cached_property
    def _identity(self) -> str:
        value = dict(self.json)
        value["content"] = list(self.blocks)
        return canonical(value)

    def __eq__(self, other: object) -> bool:
        """Same canonical JSON; ``"hi"`` and its one-block form are the same message."""
        if not isinstance(other, Message):
            return NotImplemented
        return self.raw == other.raw or self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)


def _text(role: Role, content: JsonValue) -> str | None:
    if role == "tool":
        return ""
    if isinstance(content, str):
        return content
    texts = [b["text"] for b in content if b["type"] == "text"]
    return "".join(texts) if texts else None


def _tool_calls(content: JsonValue) -> tuple[ToolCall, ...]:
    if isinstance(content, str):
        return ()
    return tuple(ToolCall(b["id"], b["name"], b["arguments"]) for b in content if b["type"] == "tool_call")


def _tool_results(content: JsonValue) -> tuple[ToolResult, ...]:
    if isinstance(content, str):
        return ()
    return tuple(
        ToolResult(b["call_id"], b.get("name"), _result_text(b.get("content")), b.get("status", "ok"))
        for b in content
        if b["type"] == "tool_result"
    )


def _result_text(content: JsonValue) -> str:
    if isinstance(content, str):
        return content
    return "".join(b["text"] for b in content or () if b["type"] == "text")


# --------------------------------------------------------------------------- validation


def check(value: object, pointer: str) -> None:
    """Validate the shape of a message (DESIGN 3). Unknown keys are left alone.

    Raises:
        InvalidRequest: with a pointer to the field.
    """
    if not isinstance(value, Mapping):
        raise InvalidRequest.at(pointer, "a message is an object with role and content")
    role = value.get("role")
    if role not in ROLES:
        raise InvalidRequest.at(f"{pointer}/role", f"must be one of {', '.join(ROLES)}")
    if "content" not in value:
        raise InvalidRequest.at(f"{pointer}/content", "is required: text or a list of blocks")
    content = value["content"]
    if isinstance(content, str):
        if role == "tool":
            raise InvalidRequest.at(f"{pointer}/content", "a tool message is a list of tool_result blocks")
        return
    if not isinstance(content, list):
        raise InvalidRequest.at(f"{pointer}/content", "must be text or a list of blocks")
    for i, block in enumerate(content):
        _check_block(block, role, f"{pointer}/content/{i}")


_ONLY_IN: Final[dict[str, Role]] = {"tool_call": "assistant", "thinking": "assistant", "tool_result": "tool"}


def _check_block(block: object, role: str, at: str) -> None:
    if not isinstance(block, Mapping):
        raise InvalidRequest.at(at, "a block is an object with a type")
    kind = block.get("type")
    if not isinstance(kind, str) or kind not in _CHECKS:
        raise InvalidRequest.at(f"{at}/type", f"must be one of {', '.join(_CHECKS)}")
    if _ONLY_IN.get(kind, role) != role:
        raise InvalidRequest.at(f"{at}/type", f"a {kind} block belongs in a message of role {_ONLY_IN[kind]}")
    if role == "tool" and kind != "tool_result":
        raise InvalidRequest.at(f"{at}/type", "a tool message holds tool_result blocks only")
    _CHECKS[kind](block, at)


def _string(block: Mapping[str, JsonValue], key: str, at: str, *, required: bool = True, empty: bool = True) -> None:
    if key not in block or block[key] is None:
        if required:
            raise InvalidRequest.at(f"{at}/{key}", "is required")
    elif not isinstance(block[key], str):
        raise InvalidRequest.at(f"{at}/{key}", "must be a string")
    elif not empty and not block[key]:
        raise InvalidRequest.at(f"{at}/{key}", "must not be empty")


def _check_text(block: Mapping[str, JsonValue], at: str) -> None:
    _string(block, "text", at)


def _check_media(block: Mapping[str, JsonValue], at: str) -> None:
    _string(block, "media_type", at, empty=False)
    _string(block, "name", at, required=False)
    given = [k for k in ("data", "url", "ref") if block.get(k) is not None]
    if len(given) != 1:
        raise InvalidRequest.at(at, "media has exactly one of data, url and ref")
    _string(block, given[0], at)


def _check_tool_call(block: Mapping[str, JsonValue], at: str) -> None:
    _string(block, "id", at)
    _string(block, "name", at)
    _string(block, "arguments", at)


def _check_tool_result(block: Mapping[str, JsonValue], at: str) -> None:
    _string(block, "call_id", at)
    _string(block, "name", at, required=False)
    if block.get("status", "ok") not in STATUSES:
        raise InvalidRequest.at(f"{at}/status", f"must be one of {', '.join(STATUSES)}")
    content = block.get("content")
    if content is None:
        raise InvalidRequest.at(f"{at}/content", "is required: text or a list of blocks")
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        raise InvalidRequest.at(f"{at}/content", "must be text or a list of blocks")
    for i, inner in enumerate(content):
        here = f"{at}/content/{i}"
        if not isinstance(inner, Mapping):
            raise InvalidRequest.at(here, "a block is an object with a type")
        if inner.get("type") not in ("text", "media", "provider"):
            raise InvalidRequest.at(f"{here}/type", "a result holds text, media and provider blocks")
        _CHECKS[inner["type"]](inner, here)


def _check_thinking(block: Mapping[str, JsonValue], at: str) -> None:
    for key in ("text", "signature", "provider", "model"):
        _string(block, key, at, required=False)


def _check_provider(block: Mapping[str, JsonValue], at: str) -> None:
    _string(block, "provider", at, empty=False)
    if "data" not in block:
        raise InvalidRequest.at(f"{at}/data", "is required")


_CHECKS: Final = {
    "text": _check_text,
    "media": _check_media,
    "tool_call": _check_tool_call,
    "tool_result": _check_tool_result,
    "thinking": _check_thinking,
    "provider": _check_provider,
}
