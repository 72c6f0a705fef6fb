"""The same API's edge written the usual way, which the cold import of ours is measured against.

boto3, Powertools with Logger, Metrics and Tracer, its resolver with validation, and one plain pydantic model for each
object of a request or an answer. There is nothing behind the routes: what a store would add is left out, so the
comparison is kind to this side.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import boto3
from aws_lambda_powertools import Logger, Metrics, Tracer
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import BaseModel, Field

logger = Logger(service="session_api")
metrics = Metrics(namespace="Turnlog", service="session_api")
tracer = Tracer(service="session_api")
app = APIGatewayHttpResolver(enable_validation=True)
table = boto3.client("dynamodb")

Id = Annotated[str, Field(min_length=1, max_length=128)]
Ttl = Annotated[int, Field(ge=60)]
AnyObject = dict[str, Any]


class Trigger(BaseModel):
    """When to compact."""

    type: Literal["turn_count", "token_count", "any_of"]
    max_turns: int | None = None
    threshold: int | None = None
    triggers: list[Trigger] | None = None


class Strategy(BaseModel):
    """How to compact."""

    type: Literal["sliding_window", "turn_window", "token_count", "recursive_summarization"]
    max_events: int | None = None
    max_turns: int | None = None
    max_tokens: int | None = None


class Policy(BaseModel):
    """Trigger and strategy."""

    trigger: Trigger
    strategy: Strategy


class CreateSession(BaseModel):
    """A new session."""

    id: Id | None = None
    ttl_seconds: Ttl | None = None
    metadata: AnyObject = Field(default_factory=dict)
    compaction: Policy | None = None
    allow_system_messages: bool | None = None


class PatchSession(BaseModel):
    """What to change."""

    ttl_seconds: Ttl | None = None
    metadata: AnyObject | None = None
    compaction: Policy | None = None
    allow_system_messages: bool | None = None


class Message(BaseModel):
    """One message; its blocks are not told apart."""

    role: Literal["user", "assistant", "system", "tool"]
    content: str | list[AnyObject]


class NewEvent(BaseModel):
    """An event to append."""

    id: Id | None = None
    timestamp: datetime | None = None
    branch: str | None = None
    metadata: AnyObject = Field(default_factory=dict)
    message: Message


class Append(BaseModel):
    """A batch."""

    events: Annotated[list[NewEvent], Field(min_length=1, max_length=100)]
    create_if_missing: bool = False


class Session(BaseModel):
    """A session."""

    id: str
    user_id: str
    created_at: datetime
    expires_at: datetime | None
    metadata: AnyObject
    compaction: AnyObject | None
    version: int
    last_seq: int
    generation: int


class SessionPage(BaseModel):
    """A page of sessions."""

    data: list[Session]
    next_cursor: str | None
    has_more: bool


class Event(BaseModel):
    """An event of the log."""

    id: str
    seq: int | None
    timestamp: datetime
    branch: str | None
    synthetic: bool
    archived: bool
    metadata: AnyObject
    message: Message


class EventPage(BaseModel):
    """A page of events."""

    data: list[Event]
    next_cursor: str | None
    has_more: bool


class Appended(BaseModel):
    """Where the events of a batch stand."""

    events: list[AnyObject]
    version: int
    last_seq: int


class Health(BaseModel):
    """The function runs."""

    status: str


@app.post("/v1/sessions")
@tracer.capture_method
def create(body: CreateSession) -> Session:
    """Create a session."""
    raise NotImplementedError


@app.get("/v1/sessions")
@tracer.capture_method
def list_sessions(limit: int = 20, cursor: str | None = None) -> SessionPage:
    """List the caller's sessions."""
    raise NotImplementedError


@app.get("/v1/sessions/<sid>")
@tracer.capture_method
def get(sid: Id) -> Session:
    """A session."""
    raise NotImplementedError


@app.patch("/v1/sessions/<sid>")
@tracer.capture_method
def patch(sid: Id, body: PatchSession) -> Session:
    """Change a session."""
    raise NotImplementedError


@app.delete("/v1/sessions/<sid>")
@tracer.capture_method
def delete(sid: Id) -> None:
    """Delete a session."""
    raise NotImplementedError


@app.post("/v1/sessions/<sid>/events")
@tracer.capture_method
def append(sid: Id, body: Append) -> Appended:
    """Append a batch."""
    raise NotImplementedError


@app.get("/v1/sessions/<sid>/events")
@tracer.capture_method
def list_events(sid: Id, limit: int = 50, cursor: str | None = None) -> EventPage:
    """A page of events."""
    raise NotImplementedError


@app.get("/v1/sessions/<sid>/events/<eid>")
@tracer.capture_method
def event(sid: Id, eid: Id) -> Event:
    """An event."""
    raise NotImplementedError


@app.get("/v1/health")
def health() -> Health:
    """The function runs."""
    return Health(status="ok")


@logger.inject_lambda_context
@tracer.capture_lambda_handler
@metrics.log_metrics
def lambda_handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one request."""
    return app.resolve(event, context)
