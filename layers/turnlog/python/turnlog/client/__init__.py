"""The HTTP SDK. Needs ``pip install "turnlog[client]"``: httpx and nothing else.

from turnlog.client import Client, assistant, user

with Client.from_local() as client:
    session = client.session()
    session.append(user("What is a turn?"), assistant("A question and its answer."), create_if_missing=True)
    for event in session.events():
        print(event.seq, event.message.role, event.message.text)
"""

from ..domain.event import EventDraft, SessionEvent
from ..domain.exactjson import JsonNumber, JsonObject
from ..domain.instant import Instant
from ..domain.message import Message, ToolCall, ToolResult
from ..domain.ports import Appended
from ._client import Client
from ._messages import assistant, draft, system, tool_call, tool_result, user
from ._models import UNSET, AppendResult, Page, SessionInfo, SessionSummary
from ._pager import Pager
from ._session import Session
from .errors import (
    ApiError,
    ClientError,
    Conflict,
    ConnectionFailed,
    CorruptLog,
    EventIdReused,
    EventNotFound,
    FieldError,
    Forbidden,
    IdempotencyKeyReused,
    InvalidRequest,
    MalformedJson,
    NotFound,
    PayloadTooLarge,
    PreconditionFailed,
    Problem,
    RateLimited,
    SessionExists,
    SessionNotFound,
    StoreUnavailable,
    TimedOut,
    TooFragmented,
    TurnlogError,
    Unauthorized,
    UnexpectedResponse,
)

__all__ = [
    "UNSET",
    "ApiError",
    "AppendResult",
    "Appended",
    "Client",
    "ClientError",
    "Conflict",
    "ConnectionFailed",
    "CorruptLog",
    "EventDraft",
    "EventIdReused",
    "EventNotFound",
    "FieldError",
    "Forbidden",
    "IdempotencyKeyReused",
    "Instant",
    "InvalidRequest",
    "JsonNumber",
    "JsonObject",
    "MalformedJson",
    "Message",
    "NotFound",
    "Page",
    "Pager",
    "PayloadTooLarge",
    "PreconditionFailed",
    "Problem",
    "RateLimited",
    "Session",
    "SessionEvent",
    "SessionExists",
    "SessionInfo",
    "SessionNotFound",
    "SessionSummary",
    "StoreUnavailable",
    "TimedOut",
    "TooFragmented",
    "ToolCall",
    "ToolResult",
    "TurnlogError",
    "Unauthorized",
    "UnexpectedResponse",
    "assistant",
    "draft",
    "system",
    "tool_call",
    "tool_result",
    "user",
]
