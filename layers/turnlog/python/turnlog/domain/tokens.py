"""Counting tokens: the text of an event for counting (spec/session 7.9), and the default estimate."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from .event import has_text
from .message import Message

NO_TEXT: Final = "[no text content]"


def format_message(message: Message) -> str:
    """One message as text, the way that counting and summarising see it (spec 7.9).

    Ids, media, metadata, thinking and provider blocks are not rendered (DESIGN 11).
    """
    role = message.role.capitalize()
    if message.role == "tool":
        answers = ", ".join(f"{r.name or ''} -> {r.data}" for r in message.tool_results)
        return f"{role} [responses: {answers}]"
    if message.tool_calls:
        calls = ", ".join(f"{c.name}({c.arguments})" for c in message.tool_calls)
        said = f": {message.text}" if has_text(message.text) else ""
        return f"{role}{said} [tool calls: {calls}]"
    return f"{role}: {NO_TEXT if message.text is None else message.text}"


@cache
def _wide() -> re.Pattern[str]:
    """The characters that make a token each. Compiled when the first text beyond ASCII comes: it takes 4 ms."""
    return re.compile(
        r"[\u0e00-\u0eff\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef]|[^\u0000-\uffff]"
    )


class EstimatingCounter:
    """The default :class:`~turnlog.domain.ports.TokenCounter`: a calibrated estimate that needs no
    network and no table.

    About four characters of alphabetic text make one token; a CJK, Thai, Hangul or astral
    character makes about one by itself. Its name and version are stored beside counts.
    """

    name: Final = "estimate"
    version: Final = 1

    def count(self, text: str) -> int:
        """The estimated number of tokens of ``text``, rounded up; 0 for no text."""
        wide = 0 if text.isascii() else len(_wide().findall(text))
        return wide + (len(text) - wide + 3) // 4
