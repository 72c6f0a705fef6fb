"""The shapes of answers about compactions, for the OpenAPI document and the tests, like ``answers.py``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, RootModel

from .answers import AnyObject, Closed
from .fields import PASS_ID_PATTERN, Timestamp

Stretch = Annotated[
    list[int], Field(min_length=2, max_length=2, description="The first and the last seq of a stretch of the log")
]
PassId = Annotated[str, Field(pattern=f"^{PASS_ID_PATTERN}$", examples=["3.5f0c2a9b7e11"])]
KeptReason = Annotated[
    str | None,
    Field(
        description="Why more stays than the strategy asks for: newest_turn, no_turn, waiting_call or late_result",
        examples=["newest_turn"],
    ),
]
TRIED = (
    "What stood in the way: throttled, unavailable, timeout, rejected, blank, refused, tool_call, cut_off, "
    "window_too_small, unknown_model, nothing_to_archive, coalesced, not_started or step_failed where a model was to "
    "be asked; still_over, too_fragmented, undone or a kept_reason where a compaction is of no use; running while one "
    "is being made; the code of an error. There may come more."
)


class CompactionAnswer(Closed):
    """What became of a compaction that was asked for.

    `compacted`: it has landed. `started`: a model writes the summary, and it lands later under this `id`.
    `nothing_to_do`, `not_triggered`: as the names say. `coalesced`: another compaction was first, or is being made.
    `refused`: an earlier try has failed, and it is too early for the next; `force` tries all the same.
    """

    id: PassId | None
    status: Literal["compacted", "started", "nothing_to_do", "not_triggered", "coalesced", "refused"]
    dry_run: bool
    archived: list[Stretch]
    tokens_saved: Annotated[
        int, Field(ge=0, description="Estimated, net of a summary; in a dry run before the summary that a model writes")
    ]
    kept_reason: KeptReason
    abandoned_calls: Annotated[list[str], Field(description="Tool calls in the archived part that never got a result")]
    over_budget: Annotated[bool, Field(description="What stays is still over the strategy's budget")]
    reason: Annotated[str | None, Field(description=TRIED)]
    retry_at: Annotated[Timestamp | None, Field(description="When the session is tried again by itself")]
    generation: Annotated[int, Field(ge=0)]
    version: Annotated[int, Field(ge=0)]


class PassAnswer(Closed):
    """A compaction that counts: what it archived and inserted, by which rules, and who asked for it."""

    id: PassId
    status: Literal["compacted", "undone"]
    generation: Annotated[int, Field(ge=1)]
    created_at: Timestamp
    asked_by: Annotated[
        Literal["trigger", "request", "port"], Field(description="The session's policy, a request, or the library")
    ]
    user_id: str | None
    undoes: Annotated[PassId | None, Field(description="The compaction that this one has undone")]
    archived: list[Stretch]
    restored: Annotated[list[Stretch], Field(description="What an undo has brought back")]
    inserted: Annotated[list[str], Field(description="The ids of the events that it inserted: a summary")]
    model: Annotated[str | None, Field(description="Which of the stage's models has written the summary")]
    tokens_before: Annotated[int | None, Field(ge=0)]
    tokens_saved: Annotated[int, Field(ge=0)]
    counter: Annotated[str | None, Field(description="What counted the tokens, and its version")]
    kept_reason: KeptReason
    abandoned_calls: list[str]
    over_budget: bool
    trigger: AnyObject | None
    strategy: AnyObject | None


class AttemptAnswer(Closed):
    """What became of the newest try, when it has changed nothing.

    `running`: a model writes the summary. `failed`: it gave none; the next try is at `retry_at`. `futile`: a compaction
    would save nothing, or has left the trigger firing, and waits until the window has grown by a fifth. `held`: the
    same after an undo.
    """

    id: PassId | None
    status: Literal["running", "failed", "futile", "held"]
    number: Annotated[int, Field(ge=1)]
    at: Timestamp
    reason: Annotated[str | None, Field(description=TRIED)]
    detail: str | None
    retry_at: Timestamp | None


class FoundPassAnswer(RootModel[PassAnswer | AttemptAnswer]):
    """A compaction, or the try that is to become it."""


class PassPageAnswer(Closed):
    """A page of a session's compactions, and its newest try, if that has changed nothing."""

    data: list[PassAnswer]
    next_cursor: str | None
    has_more: bool
    attempt: AttemptAnswer | None
