"""What a request and an answer hold, as plain text: all that the port carries for now."""

from __future__ import annotations

from collections.abc import Iterable

from ..domain.errors import InvalidRequest
from ..domain.models import ModelRejected, ModelRequest


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


def said(parts: Iterable[object]) -> str | None:
    """The texts among the parts of an answer, joined; None when there is none.

    Raises:
        ModelRejected: it holds a lone surrogate, which no session keeps (DESIGN 10).
    """
    texts = [part for part in parts if isinstance(part, str)]
    text = "".join(texts)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ModelRejected("the answer is no text: it holds a lone surrogate") from None
    return text if texts else None


def whole(value: object) -> int | None:
    """A count of tokens, if it is one."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
