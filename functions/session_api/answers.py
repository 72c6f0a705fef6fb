"""The shapes of messages and answers, for the OpenAPI document and the tests.

The function itself never imports this: answers are joined from stored text (``wire.py``).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel
from pydantic.json_schema import SkipJsonSchema

from turnlog.domain.uploads import REF_PATTERN

from .fields import Sha256, Timestamp

AnyObject = dict[str, Any]
Url = Annotated[str, Field(json_schema_extra={"format": "uri"})]
Ref = Annotated[
    str,
    Field(
        pattern=f"^{REF_PATTERN}$",
        examples=["mkq1x2y3-e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
    ),
]


class _Open(BaseModel):
    """Keys that are not listed are kept and come back."""

    model_config = ConfigDict(extra="allow")


class Closed(BaseModel):
    """Every key is listed."""

    model_config = ConfigDict(extra="forbid")


# --------------------------------------------------------------------------- messages


class TextBlock(_Open):
    """Plain text."""

    type: Literal["text"]
    text: str


class MediaBlock(_Open):
    """An image, a file or a sound: exactly one of ``data`` (base64), ``url`` and ``ref``. A ``ref``
    is one that this session's uploads gave; a ``url`` is kept and never fetched."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "oneOf": [{"required": [name], "properties": {name: {"type": "string"}}} for name in ("data", "url", "ref")]
        },
    )

    type: Literal["media"]
    media_type: Annotated[str, Field(min_length=1, examples=["image/png"])]
    data: str | None = None
    url: str | None = None
    ref: Ref | None = None
    name: str | None = None


class ToolCallBlock(_Open):
    """A request of the model to run a tool; only in assistant messages."""

    type: Literal["tool_call"]
    id: str
    name: str
    arguments: Annotated[str, Field(description="The JSON text as the model gave it, never parsed.")]


class ProviderBlock(_Open):
    """Anything that one provider alone understands, kept verbatim."""

    type: Literal["provider"]
    provider: Annotated[str, Field(min_length=1)]
    data: Any


PlainBlock = Annotated[TextBlock | MediaBlock | ProviderBlock, Field(discriminator="type")]
"""What a tool's result, a person's and the system's message are made of."""


class ToolResultBlock(_Open):
    """The answer to a tool call; only in tool messages."""

    type: Literal["tool_result"]
    call_id: str
    name: str | None = None
    content: str | list[PlainBlock]
    status: Literal["ok", "error", "pending"] = "ok"


class ThinkingBlock(_Open):
    """The model's reasoning with its signature, byte for byte; only in assistant messages."""

    type: Literal["thinking"]
    text: str | None = None
    signature: str | None = None
    provider: str | None = None
    model: str | None = None


AssistantBlock = Annotated[
    TextBlock | MediaBlock | ToolCallBlock | ThinkingBlock | ProviderBlock, Field(discriminator="type")
]


class PlainMessage(_Open):
    """What a person or the system says."""

    role: Literal["user", "system"]
    content: str | list[PlainBlock]


class AssistantMessage(_Open):
    """What the model says, thinks and asks of tools."""

    role: Literal["assistant"]
    content: str | list[AssistantBlock]


class ToolMessage(_Open):
    """What tools answer."""

    role: Literal["tool"]
    content: list[ToolResultBlock]


class Message(RootModel[Annotated[PlainMessage | AssistantMessage | ToolMessage, Field(discriminator="role")]]):
    """One message of a conversation; it comes back exactly as it was sent, numbers included.

    ``content`` as text is the same as one text block.
    """


# --------------------------------------------------------------------------- answers


def _message_or_link(schema: AnyObject) -> None:
    """Exactly one of the two is there, and neither is ever null."""
    schema["oneOf"] = [{"required": ["message"]}, {"required": ["link"]}]
    for name in ("message", "link"):
        del schema["properties"][name]["default"]


class SessionRecord(Closed):
    """What a session is, without its counters."""

    id: str
    user_id: str
    created_at: Timestamp
    expires_at: Timestamp | None
    metadata: AnyObject
    compaction: AnyObject | None
    allow_system_messages: Annotated[bool | None, Field(description="null: the stage's default holds")]


class SessionAnswer(SessionRecord):
    """A session."""

    version: Annotated[int, Field(ge=0, description="last_seq + generation")]
    last_seq: Annotated[int, Field(ge=0, description="The seq of the newest event, 0 when there is none")]
    generation: Annotated[int, Field(ge=0, description="How many compactions changed the session")]


class SessionEntryAnswer(SessionRecord):
    """A session in a list."""

    last_activity: Annotated[Timestamp, Field(description="Not kept yet: for now the time of creation")]


class PositionAnswer(Closed):
    """Where an event that a compaction inserted stands: right before a logged event."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"required": ["before_seq", "pass", "index"]})

    before_seq: Annotated[int, Field(ge=1)]
    pass_id: Annotated[str, Field(alias="pass")]
    index: Annotated[int, Field(ge=0)]


class LinkAnswer(Closed):
    """Where to read a message that is too large for an answer: one GET, without a token, for 5
    minutes. The content is the message's JSON in UTF-8; length and hash are of exactly that."""

    url: Url
    bytes: Annotated[int, Field(ge=1)]
    sha256: Sha256


class EventAnswer(Closed):
    """An event. ``seq`` is the only order; it is null for events that a compaction inserted,
    which have a ``position`` instead. It has its ``message``, or a ``link`` to it."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=_message_or_link)

    id: str
    seq: Annotated[int | None, Field(ge=1)]
    position: PositionAnswer | None = None
    timestamp: Timestamp
    branch: str | None
    synthetic: bool
    archived: bool
    metadata: AnyObject
    message: Message | SkipJsonSchema[None] = None
    link: LinkAnswer | SkipJsonSchema[None] = None


class UploadGrantAnswer(Closed):
    """Leave to upload: one PUT to ``url`` with exactly ``headers``, before ``expires_at``."""

    ref: Ref
    url: Url
    headers: Annotated[
        dict[str, str],
        Field(
            examples=[
                {
                    "content-length": "52344",
                    "content-type": "image/png",
                    "x-amz-checksum-sha256": "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
                }
            ]
        ),
    ]
    expires_at: Timestamp


class UploadAnswer(Closed):
    """An upload, and a URL to read it at, without a token, before ``expires_at``."""

    ref: Ref
    media_type: str
    bytes: Annotated[int, Field(ge=1)]
    sha256: Sha256
    url: Url
    expires_at: Timestamp


class AppendedAnswer(Closed):
    """Where one event of the batch stands; ``replayed``: it was in the log before."""

    id: str
    seq: Annotated[int, Field(ge=1)]
    replayed: bool


class AppendAnswer(Closed):
    """The events of the batch in its order, and the version right after it."""

    events: list[AppendedAnswer]
    version: Annotated[int, Field(ge=0)]
    last_seq: Annotated[int, Field(ge=0)]


class EventPageAnswer(Closed):
    """A page of events. It may be short, even empty, and still have a next one."""

    data: list[EventAnswer]
    next_cursor: str | None
    has_more: bool


class SessionPageAnswer(Closed):
    """A page of sessions."""

    data: list[SessionEntryAnswer]
    next_cursor: str | None
    has_more: bool


class HealthAnswer(Closed):
    """The function runs."""

    status: Literal["ok"]
    version: str


class FieldProblem(Closed):
    """One wrong field: a JSON pointer into the body, or query:, header: or path: and a name."""

    pointer: str
    detail: str


class Problem(Closed):
    """An RFC 9457 problem."""

    type: Annotated[str, Field(examples=["urn:turnlog:problem:session-not-found"])]
    title: str
    status: int
    detail: str
    instance: Annotated[str, Field(description="The path of the request")]
    code: Annotated[str, Field(description="Stable, for programs")]
    request_id: str
    retryable: Annotated[bool, Field(description="Whether the same request may succeed later")]
    errors: list[FieldProblem]


class PreconditionProblem(Problem):
    """A problem with the current ETag, null when it is not the caller's to know."""

    version: str | None


class ConflictProblem(Problem):
    """A problem with the id that is taken."""

    id: str


class TooLargeProblem(Problem):
    """A problem with the limit, and where large parts of an append's body can go instead: the path
    of the session's uploads. null for a field that is too large by itself."""

    limit_bytes: int
    uploads: Annotated[str | None, Field(examples=["/v1/sessions/support-4711/uploads"])]


class GatewayAnswer(_Open):
    """What the gateway says by itself."""

    message: str
