"""MessageFilter: which messages a memory stores (spec/session 5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .errors import InvalidRequest
from .event import has_text
from .message import Message, Role


@dataclass(frozen=True)
class MessageFilter:
    """A predicate over a message about to be stored. It does not touch the outgoing prompt, and
    neither service nor repository applies it. Combine with ``&``, ``|`` and ``~``."""

    accepts: Callable[[Message], bool]

    @classmethod
    def all(cls) -> MessageFilter:
        """Everything."""
        return cls(lambda message: True)

    @classmethod
    def skip_empty(cls) -> MessageFilter:
        """Everything but an assistant message without text, calls and media (the default)."""
        return cls(lambda m: m.role != "assistant" or has_text(m.text) or bool(m.tool_calls) or m.has_media)

    @classmethod
    def by_type(cls, *types: Role) -> MessageFilter:
        """Messages of the given roles.

        Raises:
            InvalidRequest: no role is given.
        """
        if not types:
            raise InvalidRequest.at("types", "at least one type is required")
        wanted = frozenset(types)
        return cls(lambda m: m.role in wanted)

    @classmethod
    def contains(cls, keyword: str) -> MessageFilter:
        """Messages whose text holds the keyword, whatever its case; never one without text.

        Raises:
            InvalidRequest: the keyword is blank.
        """
        if not has_text(keyword):
            raise InvalidRequest.at("keyword", "must have text")
        lowered = keyword.lower()
        return cls(lambda m: m.text is not None and lowered in m.text.lower())

    def __and__(self, other: MessageFilter) -> MessageFilter:
        return MessageFilter(lambda m: self.accepts(m) and other.accepts(m))

    def __or__(self, other: MessageFilter) -> MessageFilter:
        return MessageFilter(lambda m: self.accepts(m) or other.accepts(m))

    def __invert__(self) -> MessageFilter:
        return MessageFilter(lambda m: not self.accepts(m))
