"""What a request holds, as plain text: all that the port carries for now."""

from __future__ import annotations

from ..domain.errors import InvalidRequest
from ..domain.models import ModelRequest


def turns_of(request: ModelRequest) -> list[tuple[str, str]]:
    """Role and text of each message.

    Raises:
        InvalidRequest: a message is neither a user's nor an assistant's, or is not all text.
    """
    found: list[tuple[str, str]] = []
    for i, message in enumerate(request.messages):
        if message.role not in ("user", "assistant"):
            raise InvalidRequest.at(f"/messages/{i}/role", "must be user or assistant")
        if message.text is None or message.tool_calls or message.tool_results:
            raise InvalidRequest.at(f"/messages/{i}/content", "must be text")
        found.append((message.role, message.text))
    return found


def whole(value: object) -> int | None:
    """A count of tokens, if it is one."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
