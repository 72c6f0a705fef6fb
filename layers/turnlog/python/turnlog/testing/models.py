"""A model that tests hold in their hands."""

from __future__ import annotations

from collections import deque
from threading import Event
from typing import Final

from ..domain.models import ModelError, ModelReply, ModelRequest, Usage

WAIT_SECONDS: Final = 30.0
"""How long a held question waits before it gives up: a failing test has to end."""


class PlayedModel:
    """A :class:`~turnlog.domain.models.ModelClient` that answers what it is given, in order: a text
    stands for a whole reply, an error is raised. Safe to be asked by several threads.

    After :meth:`hold` a question waits for :meth:`release`; ``asked`` is set as soon as one is there,
    so that a test can do what happens meanwhile. ``requests`` are those that came, in order.
    """

    def __init__(self, *answers: str | ModelReply | ModelError, name: str = "scripted") -> None:
        self._answers = deque(answers)
        self._name = name
        self._open = Event()
        self._open.set()
        self.asked = Event()
        self.requests: list[ModelRequest] = []

    @property
    def name(self) -> str:
        """The provider's name."""
        return self._name

    def hold(self) -> None:
        """Let every question wait from now on."""
        self._open.clear()

    def release(self) -> None:
        """Answer those that wait, and those that come."""
        self._open.set()

    def complete(self, request: ModelRequest) -> ModelReply:
        """The next answer.

        Raises:
            ModelError: it was given in place of one.
            AssertionError: none is left, or nobody releases the question.
        """
        self.requests.append(request)
        self.asked.set()
        if not self._open.wait(WAIT_SECONDS):
            raise AssertionError("the question was held, and nobody released it")
        if not self._answers:
            raise AssertionError("the model was asked more often than the test has answers for")
        answer = self._answers.popleft()
        if isinstance(answer, ModelError):
            raise answer
        return ModelReply(answer, "stop", Usage(), "played") if isinstance(answer, str) else answer
