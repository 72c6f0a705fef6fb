"""Active windows for compaction, written as histories; a token is a character."""

from collections.abc import Iterable
from typing import Any

from turnlog.compaction import CompactionRequest
from turnlog.domain.event import SessionEvent
from turnlog.testing.builders import START, a_session, history


class CharacterCounter:
    """A token is a character."""

    name = "characters"
    version = 1

    def count(self, text: str) -> int:
        """The number of characters."""
        return len(text)


def call(id: str, *calls: str) -> dict[str, Any]:
    """An assistant event that makes calls of these ids."""
    return {"id": id, "type": "assistant", "tool_calls": [{"id": c, "name": "tool", "arguments": "{}"} for c in calls]}


def result(id: str, call_id: str, status: str = "ok") -> dict[str, Any]:
    """A tool event that answers a call."""
    return {"id": id, "type": "tool", "responses": [{"id": call_id, "name": "tool", "data": "x", "status": status}]}


def window(events: str | Iterable[Any]) -> CompactionRequest:
    """The window of a session that holds exactly this history, nothing of it archived."""
    told = [
        SessionEvent(e.id, "s", e.draft.message, START, e.draft.branch, e.draft.metadata, seq=seq)
        for seq, e in enumerate(history(events), start=1)
    ]
    return CompactionRequest(a_session(), tuple(told), CharacterCounter())
