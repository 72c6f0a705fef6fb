"""The request bodies (DESIGN 5, "Wire shapes"). Unknown keys are refused except inside
``message`` and ``metadata``, and nothing is coerced: ``true`` is no integer, ``"1"`` neither.
A whole number may be written as ``1.0``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from turnlog.domain.event import EventDraft, has_text
from turnlog.domain.exactjson import EMPTY, JsonObject
from turnlog.domain.uploads import MAX_BYTES, UploadRequest

from .fields import (
    WHOLE,
    Branch,
    EventId,
    MediaType,
    Metadata,
    SessionId,
    Sha256,
    StoredMessage,
    Timestamp,
    bounded_object,
    refusal,
)

if TYPE_CHECKING:
    from turnlog.compactor import CompactCommand

from .limits import BATCH, MAX_TTL_SECONDS, MIN_TTL_SECONDS, POLICY_BYTES, PROMPT_CHARS

Ttl = Annotated[int, Field(ge=MIN_TTL_SECONDS, le=MAX_TTL_SECONDS), WHOLE]
TTL_NOTE = "Seconds from now until the session expires, from 60 seconds to 100 years; "
Count = Annotated[int, Field(ge=1, le=1_000_000_000), WHOLE]


class Body(BaseModel):
    """What every object of a request has in common."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


# --------------------------------------------------------------------------- compaction policy


def _prompt(value: str) -> str:
    if not has_text(value):
        raise refusal("must have text")
    return value


Prompt = Annotated[str, AfterValidator(_prompt), Field(min_length=1, max_length=PROMPT_CHARS)]


class TurnCountTrigger(Body):
    """Fires when the active window has more than ``max_turns`` turns."""

    type: Literal["turn_count"]
    max_turns: Count


class TokenCountTrigger(Body):
    """Fires when the active window has ``threshold`` tokens or more."""

    type: Literal["token_count"]
    threshold: Count


class NeverTrigger(Body):
    """Never fires: passes run only when they are asked for. For a session that is to do without its
    stage's policy."""

    type: Literal["never"]


class AnyOfTrigger(Body):
    """Fires when one of its triggers does."""

    type: Literal["any_of"]
    triggers: Annotated[list[Trigger], Field(min_length=1, max_length=10)]


Trigger = Annotated[TurnCountTrigger | TokenCountTrigger | NeverTrigger | AnyOfTrigger, Field(discriminator="type")]


class SlidingWindow(Body):
    """Keeps about the newest ``max_events`` events, whole turns."""

    type: Literal["sliding_window"]
    max_events: Count


class TurnWindow(Body):
    """Keeps the newest ``max_turns`` turns."""

    type: Literal["turn_window"]
    max_turns: Count


class TokenCount(Body):
    """Keeps the newest events that fit into ``max_tokens`` tokens, whole turns."""

    type: Literal["token_count"]
    max_tokens: Count


class RecursiveSummarization(Body):
    """Replaces what it archives by a summary that a model writes; ``overlap_size`` is less than
    ``max_events_to_keep``."""

    type: Literal["recursive_summarization"]
    max_events_to_keep: Count
    overlap_size: Annotated[int, Field(ge=0, le=1_000_000_000), WHOLE]
    model: Annotated[str, Field(min_length=1, max_length=256, description="A model of the stage, by its name")]
    system_prompt: Annotated[
        Prompt | None, Field(description="What the model is told; without one, the default (docs/compaction.md)")
    ] = None
    shadow_prompt: Annotated[
        Prompt | None, Field(description="The user message that a summary stands as the answer to")
    ] = None

    @model_validator(mode="after")
    def _overlap_is_kept(self) -> RecursiveSummarization:
        if self.overlap_size >= self.max_events_to_keep:
            raise refusal("must be less than max_events_to_keep", pointer="/overlap_size")
        return self


Strategy = Annotated[SlidingWindow | TurnWindow | TokenCount | RecursiveSummarization, Field(discriminator="type")]


def _of_bounded_size(value: object) -> object:
    bounded_object(value, POLICY_BYTES)
    return value


class CompactionPolicy(Body):
    """When to compact, and how; at most 4096 bytes. Stored with the session."""

    trigger: Trigger
    strategy: Strategy


Policy = Annotated[CompactionPolicy, BeforeValidator(_of_bounded_size)]

# --------------------------------------------------------------------------- sessions


class CreateSessionBody(Body):
    """A new session. User and tenant come from the token."""

    id: SessionId | None = None
    ttl_seconds: Annotated[Ttl | None, Field(description=TTL_NOTE + "null: the default of the stage, 60 days")] = None
    metadata: Metadata = Field(default_factory=lambda: EMPTY)
    compaction: Policy | None = None
    allow_system_messages: bool | None = None


class PatchSessionBody(Body):
    """What to change; ``null`` clears. ``metadata`` replaces the whole map."""

    # Rare: its validators are built when somebody changes a session, and not at each cold start.
    model_config = ConfigDict(json_schema_extra={"minProperties": 1}, defer_build=True)

    metadata: Metadata | None = None
    ttl_seconds: Annotated[Ttl | None, Field(description=TTL_NOTE + "null: never")] = None
    compaction: Policy | None = None
    allow_system_messages: bool | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> PatchSessionBody:
        if not self.model_fields_set:
            raise refusal(f"must have at least one of {', '.join(type(self).model_fields)}")
        return self


def stored_policy(body: CreateSessionBody | PatchSessionBody) -> JsonObject | None:
    """The policy of a body as it is stored: whole numbers written as such."""
    return _json(body.compaction)


def _json(part: Body | None) -> JsonObject | None:
    return None if part is None else JsonObject.of(part.model_dump(exclude_none=True))


class CompactBody(Body):
    """A pass. Without a strategy the session's policy, or its stage's, is carried out, its trigger included; a strategy
    without a trigger runs in any case. Each of the two has at most 4096 bytes: both stand in the history."""

    # Its validators are built when somebody compacts, and not at each cold start.
    model_config = ConfigDict(defer_build=True)

    trigger: Annotated[Trigger, BeforeValidator(_of_bounded_size)] | None = None
    strategy: Annotated[Strategy, BeforeValidator(_of_bounded_size)] | None = None
    force: Annotated[bool, Field(description="Whatever triggers and earlier tries say")] = False
    dry_run: Annotated[bool, Field(description="Tell what would happen, and write nothing")] = False

    def command(self) -> CompactCommand:
        """The domain's form of it."""
        from turnlog.compactor import CompactCommand  # noqa: PLC0415  (who compacts pays for it, not each cold start)

        return CompactCommand(_json(self.trigger), _json(self.strategy), self.force, self.dry_run)


# --------------------------------------------------------------------------- events


class EventBody(Body):
    """An event to append. Without an id the server makes one from its place in the log, without
    a timestamp it takes the server's clock; ``branch`` null is the root."""

    id: EventId | None = None
    timestamp: Timestamp | None = None
    branch: Branch | None = None
    metadata: Metadata = Field(default_factory=lambda: EMPTY)
    message: StoredMessage

    def draft(self) -> EventDraft:
        """The domain's form of it."""
        return EventDraft(
            message=self.message, id=self.id, timestamp=self.timestamp, branch=self.branch, metadata=self.metadata
        )


class AppendBody(Body):
    """A batch, appended whole or not at all, in its order."""

    events: Annotated[list[EventBody], Field(min_length=1, max_length=BATCH)]
    create_if_missing: bool = False


# --------------------------------------------------------------------------- uploads


class CreateUploadBody(Body):
    """What is to be uploaded; length and hash are part of the URL's signature."""

    model_config = ConfigDict(defer_build=True)  # as above

    media_type: MediaType
    bytes: Annotated[int, Field(ge=1, le=MAX_BYTES), WHOLE]
    sha256: Annotated[Sha256, Field(description="The SHA-256 of the content, in lower-case hex")]

    def request(self) -> UploadRequest:
        """The domain's form of it."""
        return UploadRequest(self.media_type, self.bytes, self.sha256)
