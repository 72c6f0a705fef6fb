"""What can be asked about compactions: each request, and how its answer is read. No I/O."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from ..domain.exactjson import JsonValue
from ._answers import Answer, Subject, parsed
from ._calls import Call
from ._fields import NotOurs, etag, instant, needed, optional, optional_instant, optional_object, page
from ._messages import object_of, value_of
from ._models import Compaction, CompactionAttempt, CompactionInfo, Page, Range
from ._parts import header, part, query_of, session_path, written

CompactionLike = str | Compaction | CompactionInfo | CompactionAttempt
"""What names a compaction."""

_ID: Final = re.compile(r"[A-Za-z0-9.]{1,64}", re.ASCII)
_TRIED: Final = ("running", "failed", "futile", "held")
"""What only a try says of itself, and no compaction that counts."""


def compact(
    session_id: str,
    *,
    trigger: Mapping[str, JsonValue] | None,
    strategy: Mapping[str, JsonValue] | None,
    force: bool,
    dry_run: bool,
    if_match: str | None,
) -> Call[Compaction]:
    """POST /v1/sessions/{sid}/compactions"""
    fields: dict[str, str] = {}
    if trigger is not None:
        fields["trigger"] = object_of(trigger, "/trigger").raw
    if strategy is not None:
        fields["strategy"] = object_of(strategy, "/strategy").raw
    for name, flag in (("force", force), ("dry_run", dry_run)):
        if flag is not False:
            fields[name] = value_of(flag, f"/{name}")
    return Call(
        "POST",
        f"{session_path(session_id)}/compactions",
        lambda answer: parsed(answer, _compaction),
        Subject(session_id),
        headers=header("If-Match", if_match),
        body=written(fields),
    )


def list_compactions(session_id: str, *, page_size: int | None, cursor: str | None) -> Call[Page[CompactionInfo]]:
    """GET /v1/sessions/{sid}/compactions"""
    return Call(
        "GET",
        f"{session_path(session_id)}/compactions",
        lambda answer: parsed(answer, lambda body, _: page(body, cursor, _info)),
        Subject(session_id),
        query=query_of(limit=page_size, cursor=cursor),
    )


def newest_attempt(session_id: str) -> Call[CompactionAttempt | None]:
    """GET /v1/sessions/{sid}/compactions, for what stands beside the list"""
    return Call(
        "GET",
        f"{session_path(session_id)}/compactions",
        lambda answer: parsed(answer, _attempt_beside),
        Subject(session_id),
        query=query_of(limit=1),
    )


def get_compaction(session_id: str, compaction: CompactionLike) -> Call[CompactionInfo | CompactionAttempt]:
    """GET /v1/sessions/{sid}/compactions/{cid}"""
    pass_id = id_of(compaction)
    return Call(
        "GET",
        _path(session_id, pass_id),
        lambda answer: parsed(answer, _found),
        Subject(session_id, pass_id=pass_id),
    )


def undo(session_id: str, compaction: CompactionLike) -> Call[CompactionInfo]:
    """POST /v1/sessions/{sid}/compactions/{cid}/undo"""
    pass_id = id_of(compaction)
    return Call(
        "POST",
        f"{_path(session_id, pass_id)}/undo",
        lambda answer: parsed(answer, lambda body, _: _info(body)),
        Subject(session_id, pass_id=pass_id),
    )


def id_of(compaction: CompactionLike) -> str:
    """The id of a compaction, or an id. One that has none leads to nothing that could be asked for, and is
    refused like any other that no path can hold."""
    return compaction if isinstance(compaction, str) else compaction.id or ""


def _path(session_id: str, pass_id: str) -> str:
    return f"{session_path(session_id)}/compactions/{part(_ID, pass_id, 'cid')}"


# --------------------------------------------------------------------------- readers


def _compaction(body: dict[str, Any], answer: Answer) -> Compaction:
    return Compaction(
        id=optional(body, "id", str),
        status=needed(body, "status", str),
        dry_run=needed(body, "dry_run", bool),
        archived=_ranges(body, "archived"),
        tokens_saved=needed(body, "tokens_saved", int),
        kept_reason=optional(body, "kept_reason", str),
        abandoned_calls=_texts(body, "abandoned_calls"),
        over_budget=needed(body, "over_budget", bool),
        reason=optional(body, "reason", str),
        retry_at=optional_instant(body, "retry_at"),
        generation=needed(body, "generation", int),
        version=needed(body, "version", int),
        etag=etag(answer.headers),
    )


def _info(body: Mapping[str, Any]) -> CompactionInfo:
    return CompactionInfo(
        id=needed(body, "id", str),
        status=needed(body, "status", str),
        generation=needed(body, "generation", int),
        created_at=instant(body, "created_at"),
        asked_by=needed(body, "asked_by", str),
        user_id=optional(body, "user_id", str),
        undoes=optional(body, "undoes", str),
        archived=_ranges(body, "archived"),
        restored=_ranges(body, "restored"),
        inserted=_texts(body, "inserted"),
        model=optional(body, "model", str),
        tokens_before=optional(body, "tokens_before", int),
        tokens_saved=needed(body, "tokens_saved", int),
        counter=optional(body, "counter", str),
        kept_reason=optional(body, "kept_reason", str),
        abandoned_calls=_texts(body, "abandoned_calls"),
        over_budget=needed(body, "over_budget", bool),
        trigger=optional_object(body, "trigger"),
        strategy=optional_object(body, "strategy"),
    )


def _attempt(body: Mapping[str, Any]) -> CompactionAttempt:
    return CompactionAttempt(
        id=optional(body, "id", str),
        status=needed(body, "status", str),
        number=needed(body, "number", int),
        at=instant(body, "at"),
        reason=optional(body, "reason", str),
        detail=optional(body, "detail", str),
        retry_at=optional_instant(body, "retry_at"),
    )


def _attempt_beside(body: dict[str, Any], _: Answer) -> CompactionAttempt | None:
    attempt = optional(body, "attempt", dict)
    return None if attempt is None else _attempt(attempt)


def _found(body: dict[str, Any], _: Answer) -> CompactionInfo | CompactionAttempt:
    return _attempt(body) if needed(body, "status", str) in _TRIED else _info(body)


def _texts(body: Mapping[str, Any], key: str) -> tuple[str, ...]:
    found = needed(body, key, list)
    if not all(isinstance(text, str) for text in found):
        raise NotOurs(f"{key!r} holds something that is no string")
    return tuple(found)


def _ranges(body: Mapping[str, Any], key: str) -> tuple[Range, ...]:
    return tuple(map(_range, needed(body, key, list)))


def _range(value: object) -> Range:
    if isinstance(value, list) and len(value) == 2 and all(type(seq) is int for seq in value):
        return value[0], value[1]
    raise NotOurs(f"{value!r} is no stretch of the log")
