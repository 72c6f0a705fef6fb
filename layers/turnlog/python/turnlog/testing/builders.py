"""Sessions and histories in a few words.

A history is written as tokens, ``[-][~]<kind><label>[@branch][=text]``:

    u1              a user message of text "u1" and id "u1"
    a1=Fine, you?   an assistant message
    c1  t1          a tool call with id "call-1", and the tool message that answers it
    s1              a system message
    u2@orch.r       on a branch
    ~a:sum          synthetic; the "~" belongs to the id
    -u1             archived

The i-th event, counted from 0, is stamped i seconds after the start of 2026.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..domain.event import SYNTHETIC, EventDraft
from ..domain.exactjson import EMPTY, JsonObject
from ..domain.instant import Instant
from ..domain.message import Message, ToolResult
from ..domain.ports import AppendRequest, CompactionPlan, SessionRepository
from ..domain.session import DEFAULT_TTL_SECONDS, Session

START: Final = Instant.parse("2026-01-01T00:00:00Z")
_TOKEN: Final = re.compile(r"(-?)(~?)([uacts])([^@=]*)(?:@([^=]*))?(?:=(.*))?", re.DOTALL)
_ROLES: Final = {"u": "user", "a": "assistant", "c": "assistant", "t": "tool", "s": "system"}

Spelled = Mapping[str, Any]
"""An event spelled out: id, type, text, ts, tool_calls, responses, media, branch, synthetic,
archived."""


@dataclass(frozen=True)
class Scripted:
    """One event of a history, and whether it is archived."""

    draft: EventDraft
    archived: bool = False

    @property
    def id(self) -> str:
        """The event's id; every scripted event has one."""
        assert self.draft.id is not None
        return self.draft.id


def history(events: str | Iterable[str | Spelled]) -> tuple[Scripted, ...]:
    """A history from tokens: in one string apart by spaces, or as a list (then a text may hold
    spaces, and an event may be spelled out).

    Raises:
        ValueError: not a token.
    """
    parts = events.split() if isinstance(events, str) else events
    return tuple(scripted(part, START.plus_seconds(i)) for i, part in enumerate(parts))


def drafts(events: str | Iterable[str | Spelled]) -> tuple[EventDraft, ...]:
    """The drafts of a history."""
    return tuple(event.draft for event in history(events))


def scripted(event: str | Spelled, timestamp: Instant = START) -> Scripted:
    """One event from a token or spelled out; see :func:`history`."""
    if isinstance(event, str):
        return _from_token(event, timestamp)
    draft = EventDraft(
        _spelled_message(event),
        id=event.get("id"),
        timestamp=Instant.parse(event["ts"]) if "ts" in event else timestamp,
        branch=event.get("branch"),
        metadata=_metadata(bool(event.get("synthetic"))),
    )
    return Scripted(draft, bool(event.get("archived")))


def message(event: str | Spelled) -> Message:
    """The message alone."""
    return scripted(event).draft.message


def _from_token(token: str, timestamp: Instant) -> Scripted:
    found = _TOKEN.fullmatch(token)
    if not found:
        raise ValueError(f"{token!r} is not an event token")
    archived, synthetic, kind, label, branch, text = found.groups()
    spelled: dict[str, Any] = {"type": _ROLES[kind], "text": text}
    if kind == "c":
        spelled["tool_calls"] = [{"id": f"call-{label}", "name": "tool", "arguments": "{}"}]
    elif kind == "t":
        spelled["responses"] = [{"id": f"call-{label}", "name": "tool", "data": "ok"}]
    elif text is None:
        spelled["text"] = kind + label
    draft = EventDraft(
        _spelled_message(spelled),
        id=f"{synthetic}{kind}{label}",
        timestamp=timestamp,
        branch=branch,
        metadata=_metadata(bool(synthetic)),
    )
    return Scripted(draft, bool(archived))


def _metadata(synthetic: bool) -> JsonObject:
    return JsonObject.of({SYNTHETIC: True}) if synthetic else EMPTY


def _spelled_message(event: Spelled) -> Message:
    if event["type"] == "tool":
        return Message.tool(
            ToolResult(r["id"], r["name"], r["data"], r.get("status", "ok")) for r in event["responses"]
        )
    text = event.get("text")
    blocks = [] if text is None else [{"type": "text", "text": text}]
    blocks += [{"type": "tool_call", **call} for call in event.get("tool_calls") or ()]
    blocks += [{"type": "media", "media_type": m["mime"], "url": m["url"]} for m in event.get("media") or ()]
    return Message.of({"role": event["type"], "content": blocks})


def a_session(
    id: str = "s",
    *,
    user_id: str = "alice",
    now: Instant = START,
    ttl_seconds: int | None = DEFAULT_TTL_SECONDS,
    metadata: Mapping[str, Any] = EMPTY,
) -> Session:
    """A session's record, ids taken as they are; with ``ttl_seconds`` None it never expires."""
    expires_at = None if ttl_seconds is None else now.plus_seconds(ttl_seconds)
    return Session(id, user_id, now, expires_at, JsonObject.of(metadata))


def tell(
    repository: SessionRepository, events: str | Iterable[str | Spelled], session_id: str = "s", now: Instant = START
) -> None:
    """Append a history to an existing session, then archive in one pass what is marked so."""
    told = history(events)
    if told:
        repository.append(AppendRequest(session_id, tuple(event.draft for event in told), now))
    archived = frozenset(event.id for event in told if event.archived)
    if archived:
        version = repository.version(session_id)
        assert repository.apply_compaction(session_id, CompactionPlan(archived), version, now=now)


def outline(repository: SessionRepository, session_id: str = "s") -> list[str]:
    """The full log as ids in their order, "-" before an archived one."""
    return [("-" if event.archived else "") + event.id for event in repository.read(session_id)]
