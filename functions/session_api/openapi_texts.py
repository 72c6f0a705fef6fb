"""What the OpenAPI document says in words, and what each operation takes and gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import BaseModel

from turnlog.domain.branch import MAX_LENGTH
from turnlog.domain.errors import (
    EventIdReused,
    EventNotFound,
    NotNewestPass,
    PassNotFound,
    PreconditionFailed,
    SessionExists,
    SessionNotFound,
    TooFragmented,
    TurnlogError,
    UploadNotFound,
)
from turnlog.domain.uploads import REF_PATTERN
from turnlog.service import MAX_LAST_N

from . import answers, compaction_answers, schemas
from .fields import EVENT_ID_PATTERN, PASS_ID_PATTERN
from .headers import IF_MATCH_PATTERN
from .limits import (
    BODY_BYTES,
    CURSOR_CHARS,
    ENVELOPE_BYTES,
    EVENTS_LIMIT,
    ID_PATTERN,
    IDEMPOTENCY_KEY_CHARS,
    LAMBDA_PAYLOAD_BYTES,
    MAX_LIMIT,
    PASSES_LIMIT,
    SESSIONS_LIMIT,
)

Json = dict[str, Any]
_BLANKS: Final = r"\t-\r\x1c- \u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000"
NOT_BLANK_PATTERN: Final = f"[^{_BLANKS}]"
"""What ``has_text`` looks for, in the words of JSON Schema: the classes of its regular expressions differ."""

WORD_PATTERN: Final = f"^[^,]*[^,{_BLANKS}][^,]*$"
"""One of several words that commas separate; an escaped comma separates, too."""

DESCRIPTION: Final = """\
Sessions are logs of events. Appending never loses, doubles, alters or re-orders an event: each gets
the next `seq` of its session, and the same event id with the same content is a replay.

Tenant and user come from the token. A session of somebody else is told like one that does not exist.

Errors are RFC 9457 problems. 400 is for what is not well-formed, 422 for what is not valid, and
`errors` points at each wrong field: with a JSON pointer into the body, or with `query:`, `header:`
or `path:` and a name. An unknown path is 404. On every path, a method that it does not have is 405 with
`Allow`.

The gateway answers some requests by itself: 401, 403 for a missing scope, 429; and 413, 500 or 503 when it
cannot hand the request on. These are no problems, and they have no `X-Request-Id`.
"""

STATUSES: Final[Mapping[int, str]] = {
    400: "Not well-formed: the JSON, its encoding, or the encoding of the URL",
    401: "The gateway found no valid token",
    403: "The gateway misses a scope in the token (no X-Request-Id then), or the token names no tenant and user",
    404: "No such session, event, upload or compaction, or not the caller's",
    409: "The id is taken, or the present state refuses it",
    412: "A precondition does not hold",
    413: (
        f"Over a size limit; the body: {BODY_BYTES} bytes as sent, and {LAMBDA_PAYLOAD_BYTES - ENVELOPE_BYTES} once it "
        "is escaped as a JSON string (base64 where the gateway encodes it)"
    ),
    415: "The body is not declared as JSON",
    422: "Not valid; errors names each wrong field",
    429: "The gateway's rate limit",
    500: "A fault of the service",
    503: "The store is unavailable or too contended just now; try again",
}

HEADERS: Final[Json] = {
    "ETag": {
        "description": "The version: of the log on events, of the whole resource on a session. Strong.",
        "required": True,
        "schema": {"type": "string", "examples": ['"1767225600000.4.0"', '"1767225600000.4.0.1"']},
    },
    "Location": {
        "description": "What has come into being, relative to the URL of the request",
        "required": True,
        "schema": {"type": "string", "format": "uri-reference"},
    },
    "Link": {
        "description": 'The next page, relative to the URL of the request, with rel="next"; absent on the last one',
        "schema": {"type": "string"},
    },
    "Retry-After": {"description": "Seconds to wait", "schema": {"type": "integer", "minimum": 0}},
    "X-Request-Id": {
        "description": "The id under which the log has this request",
        "required": True,
        "schema": {"type": "string"},
    },
}


def _query(name: str, description: str, schema: Json, **more: Any) -> Json:
    return {"name": name, "in": "query", "required": False, "description": description, "schema": schema, **more}


def _header(name: str, description: str, schema: Json) -> Json:
    return {"name": name, "in": "header", "required": False, "description": description, "schema": schema}


def _path(name: str, description: str, pattern: str) -> Json:
    schema = {"type": "string", "pattern": f"^(?!\\.{{1,2}}$){pattern}$"}
    return {"name": name, "in": "path", "required": True, "description": description, "schema": schema}


_BOOLEAN: Final[Json] = {"type": "boolean"}
_TIME: Final[Json] = {"type": "string", "format": "date-time"}
_TEXT: Final[Json] = {"type": "string", "minLength": 1, "pattern": NOT_BLANK_PATTERN}
_LIST: Final[Json] = {"style": "form", "explode": False}
_ORDER: Final[Json] = {"type": "string", "enum": ["asc", "desc"]}

PARAMETERS: Final[Json] = {
    "sid": _path("sid", "The session's id", ID_PATTERN),
    "eid": _path("eid", "The event's id, the caller's own or one that the server made", EVENT_ID_PATTERN),
    "ref": _path("ref", "The ref that an upload got", REF_PATTERN),
    "cid": _path("cid", "The compaction's id", PASS_ID_PATTERN),
    "if_match": _header(
        "If-Match",
        "Go on only at one of these versions: quoted ETags, or `*`. A weak one never matches.",
        {"type": "string", "pattern": f"^{IF_MATCH_PATTERN}$", "examples": ['"1767225600000.4.0"', "*"]},
    ),
    "if_none_match": _header(
        "If-None-Match", "`*`: a taken id is 412 instead of 409.", {"type": "string", "const": "*"}
    ),
    "idempotency_key": _header(
        "Idempotency-Key",
        "The same key with the same request is answered again, with another request it is 422. A key belongs to its "
        "user and session. On creating without an id, the id follows from user and key; the answer shows the session "
        "as it is now, and a key whose session has been deleted is 409.",
        {"type": "string", "minLength": 1, "maxLength": IDEMPOTENCY_KEY_CHARS, "pattern": "^[!-~]+$"},
    ),
    "limit_events": _query(
        "limit",
        "How many at most; a page may be shorter. Not together with last_n.",
        {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": EVENTS_LIMIT},
    ),
    "limit_sessions": _query(
        "limit",
        "How many at most; a page may be shorter.",
        {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": SESSIONS_LIMIT},
    ),
    "limit_compactions": _query(
        "limit",
        "How many at most.",
        {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": PASSES_LIMIT},
    ),
    "cursor": _query(
        "cursor",
        "`next_cursor` of the page before, with an unchanged query",
        {"type": "string", "minLength": 1, "maxLength": CURSOR_CHARS, "pattern": "^[A-Za-z0-9_-]+$"},
    ),
    "order_events": _query("order", "Oldest or newest first", {**_ORDER, "default": "asc"}),
    "order_sessions": _query("order", "Oldest or newest first", {**_ORDER, "default": "desc"}),
    "order_by": _query(
        "order_by",
        "Which time orders. The last activity is not kept yet: it is the creation, for now.",
        {"type": "string", "enum": ["created", "activity"], "default": "created"},
    ),
    "types": _query(
        "types",
        "Roles, separated by commas",
        {"type": "array", "minItems": 1, "items": {"enum": ["user", "assistant", "system", "tool"]}},
        **_LIST,
    ),
    "from": _query("from", "Events stamped at this time or later", _TIME),
    "to": _query("to", "Events stamped at this time or earlier", _TIME),
    "exclude_synthetic": _query("exclude_synthetic", "Without the events that compactions made", _BOOLEAN),
    "archived": _query("archived", "false: the active window only; true: the archived only; both without", _BOOLEAN),
    "branch": _query(
        "branch",
        "What an agent on this branch sees: the root, the branch and its ancestors",
        {"type": "string", "pattern": r"^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$", "maxLength": MAX_LENGTH},
    ),
    "keyword": _query(
        "keyword",
        "What the message's text has to hold, in any case. Its text blocks count, nothing else: no tool calls and "
        "results, no thinking, no media and no provider blocks.",
        _TEXT,
    ),
    "keywords": _query(
        "keywords",
        "Words, separated by commas, to be found like keyword; none holds a comma itself",
        {"type": "array", "minItems": 1, "items": {**_TEXT, "pattern": WORD_PATTERN}},
        **_LIST,
    ),
    "match": _query("match", "Whether any or all of keywords", {"enum": ["any", "all"], "default": "any"}),
    "last_n": _query(
        "last_n",
        "Exactly the newest n matches. Not together with limit.",
        {"type": "integer", "minimum": 1, "maximum": MAX_LAST_N},
    ),
}


@dataclass(frozen=True)
class Operation:
    """One operation in words. ``errors`` are those beyond what every route of its kind can give."""

    tag: str
    summary: str
    description: str
    successes: Mapping[int, str]
    answer: type[BaseModel | Json] | None = None
    body: type[BaseModel] | None = None
    parameters: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    errors: tuple[type[TurnlogError], ...] = field(default=())


OPERATIONS: Final[Mapping[str, Operation]] = {
    "sessions_create": Operation(
        tag="sessions",
        summary="Create a session",
        description="Without an id the server makes one. A taken id is a conflict, whoever holds it.",
        successes={201: "Created"},
        body=schemas.CreateSessionBody,
        answer=answers.SessionAnswer,
        parameters=("if_none_match", "idempotency_key"),
        headers=("ETag", "Location"),
        errors=(SessionExists, PreconditionFailed),
    ),
    "list_sessions": Operation(
        tag="sessions",
        summary="List the caller's sessions",
        description="Live sessions only, newest first.",
        successes={200: "A page"},
        answer=answers.SessionPageAnswer,
        parameters=("limit_sessions", "cursor", "order_sessions", "order_by"),
        headers=("Link",),
    ),
    "sessions_get": Operation(
        tag="sessions",
        summary="Get a session",
        description="The record and the counters; the events are at `/events`.",
        successes={200: "The session"},
        answer=answers.SessionAnswer,
        parameters=("sid",),
        headers=("ETag",),
        errors=(SessionNotFound,),
    ),
    "sessions_patch": Operation(
        tag="sessions",
        summary="Change a session",
        description="Metadata is replaced as a whole. null clears: no metadata, no expiry, no policy, no flag.",
        successes={200: "The session as it is now"},
        body=schemas.PatchSessionBody,
        answer=answers.SessionAnswer,
        parameters=("sid", "if_match"),
        headers=("ETag",),
        errors=(SessionNotFound, PreconditionFailed),
    ),
    "sessions_delete": Operation(
        tag="sessions",
        summary="Delete a session",
        description="Ends the session and its log. A second DELETE is 404.",
        successes={204: "Deleted"},
        parameters=("sid", "if_match"),
        errors=(SessionNotFound, PreconditionFailed),
    ),
    "events_append": Operation(
        tag="events",
        summary="Append events",
        description=(
            "1 to 100 events, all or nothing, in their order. An id that is in the log with the same content is a "
            "replay and keeps its seq; with other content it is a conflict. `create_if_missing` creates the session "
            "with the stage's defaults. A stored system message needs `allow_system_messages`. A media `ref` has to "
            "be one that this session's uploads gave; its content may arrive later."
        ),
        successes={201: "Appended", 200: "Every event was in the log before"},
        body=schemas.AppendBody,
        answer=answers.AppendAnswer,
        parameters=("sid", "if_match", "idempotency_key"),
        headers=("ETag",),
        errors=(SessionNotFound, EventIdReused, PreconditionFailed),
    ),
    "list_events": Operation(
        tag="events",
        summary="List events",
        description=(
            "In log order. Criteria add up. A page is cut at `limit` events or about 5 MB and may be short or even "
            "empty: `has_more` alone says whether there is more. An event that is larger than that by itself has a "
            "`link` in place of its `message`."
        ),
        successes={200: "A page"},
        answer=answers.EventPageAnswer,
        parameters=(
            "sid",
            "types",
            "from",
            "to",
            "exclude_synthetic",
            "archived",
            "branch",
            "keyword",
            "keywords",
            "match",
            "last_n",
            "limit_events",
            "cursor",
            "order_events",
        ),
        headers=("ETag", "Link"),
        errors=(SessionNotFound,),
    ),
    "events_get": Operation(
        tag="events",
        summary="Get an event",
        description="Archived events are found, too. A very large event has a `link` in place of its `message`.",
        successes={200: "The event"},
        answer=answers.EventAnswer,
        parameters=("sid", "eid"),
        headers=("ETag",),
        errors=(EventNotFound,),
    ),
    "uploads_create": Operation(
        tag="uploads",
        summary="Ask for leave to upload",
        description=(
            "Answers a URL that takes one PUT of exactly this content, with exactly the answered headers, for 5 "
            "minutes. The ref follows from the content and stands in media blocks from then on; asking again gives "
            "the same one. Nothing is stored by asking."
        ),
        successes={201: "Go on with the PUT"},
        body=schemas.CreateUploadBody,
        answer=answers.UploadGrantAnswer,
        parameters=("sid",),
        errors=(SessionNotFound,),
    ),
    "uploads_get": Operation(
        tag="uploads",
        summary="Get an upload",
        description=(
            "What has arrived under a ref, and a URL that answers it as an attachment for 5 minutes. 404 until then, "
            "and for a ref of another session."
        ),
        successes={200: "It has arrived"},
        answer=answers.UploadAnswer,
        parameters=("sid", "ref"),
        errors=(SessionNotFound, UploadNotFound),
    ),
    "compact": Operation(
        tag="compactions",
        summary="Compact the active window",
        description=(
            "Archives old events, so that they no longer go to the model; nothing is deleted or moved. Without a "
            "`strategy` the session's policy, or its stage's, is carried out. The newest turn always stays, and calls "
            "stay with their results. Appends meanwhile do not hinder it; with `If-Match` they do, and the answer is "
            "`coalesced`. A strategy that asks a model answers 202 and lands later. A lost answer needs no key: the "
            "same again has nothing to do."
        ),
        successes={
            200: "Nothing has changed; the status says why",
            201: "Compacted",
            202: "Started: a model writes the summary",
        },
        body=schemas.CompactBody,
        answer=compaction_answers.CompactionAnswer,
        parameters=("sid", "if_match"),
        headers=("ETag", "Location"),
        errors=(SessionNotFound, TooFragmented, PreconditionFailed),
    ),
    "list_compactions": Operation(
        tag="compactions",
        summary="List compactions",
        description="The newest first. `attempt` tells of the newest try, if that has changed nothing.",
        successes={200: "A page"},
        answer=compaction_answers.PassPageAnswer,
        parameters=("sid", "limit_compactions", "cursor"),
        headers=("ETag", "Link"),
        errors=(SessionNotFound,),
    ),
    "compactions_get": Operation(
        tag="compactions",
        summary="Get a compaction",
        description="One that has landed, or the newest try, while it is being made or after it has failed.",
        successes={200: "The compaction, or the try"},
        answer=compaction_answers.FoundPassAnswer,
        parameters=("sid", "cid"),
        headers=("ETag",),
        errors=(PassNotFound,),
    ),
    "compactions_undo": Operation(
        tag="compactions",
        summary="Undo the newest compaction",
        description=(
            "Restores the active window as it was before, with what has been appended since. An undo is a compaction "
            "itself: undoing it does the first one again. Until the window has grown by a fifth no trigger runs "
            "another one. Repeating it answers the same undo."
        ),
        successes={200: "The undo"},
        answer=compaction_answers.PassAnswer,
        parameters=("sid", "cid"),
        headers=("ETag",),
        errors=(PassNotFound, NotNewestPass),
    ),
    "health": Operation(
        tag="meta",
        summary="Whether the function runs",
        description="Asks no other service.",
        successes={200: "It runs"},
        answer=answers.HealthAnswer,
    ),
    "openapi": Operation(
        tag="meta",
        summary="This document",
        description="OpenAPI 3.1.",
        successes={200: "The document"},
        answer=dict,
    ),
}

EXAMPLES: Final[Mapping[str, Json]] = {
    "uploads_create": {
        "image": {
            "value": {
                "media_type": "image/png",
                "bytes": 52344,
                "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            }
        }
    },
    "sessions_create": {
        "named": {"value": {"id": "support-4711", "metadata": {"channel": "chat"}, "ttl_seconds": 86400}},
        "anonymous": {"value": {}},
        "with_policy": {
            "value": {
                "compaction": {
                    "trigger": {
                        "type": "any_of",
                        "triggers": [
                            {"type": "turn_count", "max_turns": 20},
                            {"type": "token_count", "threshold": 8000},
                        ],
                    },
                    "strategy": {"type": "sliding_window", "max_events": 20},
                }
            }
        },
    },
    "compact": {
        "policy": {"value": {}},
        "now": {"value": {"strategy": {"type": "turn_window", "max_turns": 10}}},
        "what_if": {"value": {"strategy": {"type": "token_count", "max_tokens": 4000}, "dry_run": True}},
    },
    "sessions_patch": {
        "metadata": {"value": {"metadata": {"channel": "phone"}}},
        "never_expires": {"value": {"ttl_seconds": None}},
    },
    "events_append": {
        "turn": {
            "value": {
                "events": [
                    {"id": "msg-1", "message": {"role": "user", "content": "What is the weather in Bonn?"}},
                    {
                        "id": "msg-2",
                        "message": {
                            "role": "assistant",
                            "content": [
                                {
                                    "type": "tool_call",
                                    "id": "call-1",
                                    "name": "weather",
                                    "arguments": '{"city": "Bonn"}',
                                }
                            ],
                        },
                    },
                    {
                        "id": "msg-3",
                        "message": {
                            "role": "tool",
                            "content": [{"type": "tool_result", "call_id": "call-1", "content": "12 degrees, rain"}],
                        },
                    },
                ]
            }
        }
    },
}
