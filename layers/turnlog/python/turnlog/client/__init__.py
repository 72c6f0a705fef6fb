"""The HTTP SDK. Needs ``pip install "turnlog[client]"``: httpx and nothing else. ``AsyncClient`` is the
same under ``async`` and ``await``.

from turnlog.client import Client, assistant, user

with Client.from_local() as client:
    session = client.session()
    session.append(user("What is a turn?"), assistant("A question and its answer."), create_if_missing=True)
    for event in session.events():
        print(event.seq, event.message.role, event.message.text)
"""

try:
    import httpx as _httpx  # noqa: F401
except ImportError as _missing:
    _missing.add_note('The client needs httpx: pip install "turnlog[client]"')
    raise

from ..domain.event import EventDraft, SessionEvent
from ..domain.exactjson import JsonNumber, JsonObject
from ..domain.instant import Instant
from ..domain.message import Message, ToolCall, ToolResult
from ..domain.ports import Appended
from ._async.client import AsyncClient
from ._async.pager import AsyncPager
from ._async.session import AsyncSession
from ._messages import assistant, draft, system, tool_call, tool_result, user
from ._models import (
    UNSET,
    AppendResult,
    Compaction,
    CompactionAttempt,
    CompactionInfo,
    Page,
    SessionInfo,
    SessionSummary,
    Upload,
)
from ._sync.client import Client
from ._sync.pager import Pager
from ._sync.session import Session
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
    NotNewestPass,
    PassNotFound,
    PayloadTooLarge,
    PreconditionFailed,
    Problem,
    RateLimited,
    SessionExists,
    SessionNotFound,
    StoreUnavailable,
    TimedOut,
    TooFragmented,
    TransferFailed,
    TurnlogError,
    Unauthorized,
    UnexpectedResponse,
    UploadNotFound,
)

__all__ = [
    "UNSET",
    "ApiError",
    "AppendResult",
    "Appended",
    "AsyncClient",
    "AsyncPager",
    "AsyncSession",
    "Client",
    "ClientError",
    "Compaction",
    "CompactionAttempt",
    "CompactionInfo",
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
    "NotNewestPass",
    "Page",
    "Pager",
    "PassNotFound",
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
    "TransferFailed",
    "TurnlogError",
    "Unauthorized",
    "UnexpectedResponse",
    "Upload",
    "UploadNotFound",
    "assistant",
    "draft",
    "system",
    "tool_call",
    "tool_result",
    "user",
]
