"""A question to a model, and what must never be told of it."""

from __future__ import annotations

import traceback

import pytest

from turnlog.domain.message import Message
from turnlog.domain.models import ModelClient, ModelError, ModelRequest

KEY = "sk-proj-Zm9v4711-the-key"
PROMPT = "the patient's name is Ada Lovelace"
SYSTEM = "You keep the memory of a conversation."

REQUEST = ModelRequest(SYSTEM, (Message.user(PROMPT), Message.assistant("Noted."), Message.user("Go on.")), 300)


def failing(model: ModelClient, request: ModelRequest = REQUEST) -> ModelError:
    """The error that the question ends in; neither it nor its traceback holds the key or the prompt."""
    with pytest.raises(ModelError) as caught:
        model.complete(request)
    error = caught.value
    told = "".join([str(error), repr(error), error.detail, *traceback.format_exception(error)])
    for secret in (KEY, PROMPT, "Ada", SYSTEM):
        assert secret not in told
    return error


def outcome(error: ModelError) -> tuple[str, bool, float | None]:
    """What a caller acts on: the word, whether to ask again, and after how many seconds."""
    return error.reason, error.retryable, error.retry_after_seconds
