"""Operations that need no store."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from turnlog.domain import branch
from turnlog.domain.event import SessionEvent
from turnlog.domain.filter import EventFilter
from turnlog.domain.instant import Instant
from turnlog.domain.message_filter import MessageFilter
from turnlog.domain.tokens import format_message
from turnlog.testing.builders import START, message

from .cases import Case, only

Facts = Mapping[str, Any]

_FIELDS = {
    "from": "from_",
    "to": "to",
    "messageTypes": "types",
    "excludeSynthetic": "exclude_synthetic",
    "excludeArchived": "archived",
    "lastN": "last_n",
    "keyword": "keyword",
    "keywords": "keywords",
    "matchMode": "match",
    "pattern": "pattern",
    "page": "page",
    "pageSize": "page_size",
    "branch": "branch",
}


def a_filter(spelled: Mapping[str, Any]) -> EventFilter:
    """An EventFilter from the vectors' spelling."""
    return EventFilter(**{_FIELDS[name]: _field(name, value) for name, value in spelled.items()})


def _field(name: str, value: Any) -> Any:
    match name:
        case "from" | "to":
            return Instant.parse(value)
        case "messageTypes":
            return frozenset(value)
        case "keywords":
            return tuple(value)
        case "pattern":
            return re.compile(value)
        case "excludeArchived":
            return False if value else None
        case _:
            return value


def _shown(filter: EventFilter, names: Mapping[str, Any]) -> dict[str, Any]:
    """The named fields of a filter in the vectors' spelling."""
    shown: dict[str, Any] = {name: getattr(filter, _FIELDS[name]) for name in names}
    for name, value in shown.items():
        if name == "excludeArchived":
            shown[name] = value is False
        elif isinstance(value, (tuple, frozenset)):
            shown[name] = sorted(value) if name == "messageTypes" else list(value)
    return shown


def _normalize_filter(case: Case) -> Facts:
    when = only(case.when, "op", "filter")
    return {"filter": _shown(a_filter(when["filter"]), case.then.get("filter", {}))}


def _merge_filters(case: Case) -> Facts:
    when = only(case.when, "op", "base", "other")
    merged = a_filter(when["base"]).merge(a_filter(when["other"]))
    return {"filter": _shown(merged, case.then.get("filter", {}))}


def _visible(case: Case) -> Facts:
    when = only(case.when, "op", "agentBranch", "eventBranches")
    return {"visible": [b for b in when["eventBranches"] if branch.is_visible(b, when["agentBranch"])]}


def _build_event(case: Case) -> Facts:
    spelled = only(only(case.when, "op", "event")["event"], "id", "session", "message", "branch")
    event = SessionEvent.build(
        id=spelled.get("id"),
        session_id=spelled.get("session"),
        message=message(spelled["message"]) if "message" in spelled else None,
        timestamp=START,
        branch=spelled.get("branch"),
    )
    return {
        "root": event.is_root,
        "synthetic": event.synthetic,
        "archived": event.archived,
        "branch": event.branch,
        "hasToolCalls": event.has_tool_calls,
        "idIsUuid": re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", event.id) is not None,
    }


def _message_filter(spelled: Mapping[str, Any]) -> MessageFilter:
    match only(spelled, "type", "types", "keyword", "of"):
        case {"type": "skip_empty"}:
            return MessageFilter.skip_empty()
        case {"type": "by_type", "types": types}:
            return MessageFilter.by_type(*types)
        case {"type": "contains", "keyword": keyword}:
            return MessageFilter.contains(keyword)
        case {"type": "and", "of": [left, right]}:
            return _message_filter(left) & _message_filter(right)
        case {"type": "or", "of": [left, right]}:
            return _message_filter(left) | _message_filter(right)
        case {"type": "not", "of": inner}:
            return ~_message_filter(inner)
        case _:
            raise AssertionError(f"the runner does not know the filter {spelled}")


def _persist(case: Case) -> Facts:
    when = only(case.when, "op", "filter", "messages")
    accepts = _message_filter(when["filter"]).accepts
    return {"persisted": [accepts(message(spelled)) for spelled in when["messages"]]}


def _format(case: Case) -> Facts:
    return {"text": format_message(message(only(case.when, "op", "event")["event"]))}


OPERATIONS: Mapping[str, Callable[[Case], Facts]] = {
    "normalize_filter": _normalize_filter,
    "merge_filters": _merge_filters,
    "visible": _visible,
    "build_event": _build_event,
    "persist": _persist,
    "format": _format,
}
