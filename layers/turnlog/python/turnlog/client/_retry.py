"""When to try again, and for how long. No I/O: the caller sends and sleeps.

Every call may be repeated: events carry their ids and a create its key before the first attempt,
so what a lost answer had already done is found again instead of being done twice.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from ._answers import Answer, refusal
from ._calls import Call
from .errors import ApiError, ClientError, SessionNotFound, UnexpectedResponse

T = TypeVar("T")
RETRIED_STATUSES: Final = frozenset({429, 502, 503, 504})
_log = logging.getLogger("turnlog.client")


@dataclass(frozen=True)
class RetryPolicy:
    """``max_attempts`` counts the first one. No attempt starts later than ``total_seconds``
    after the first. Pauses are random between 0 and ``first_pause * 2 ** n``, at most
    ``longest_pause``, plus what ``Retry-After`` asks for."""

    max_attempts: int = 5
    total_seconds: float = 60.0
    first_pause: float = 0.2
    longest_pause: float = 5.0


@dataclass(frozen=True)
class Lost:
    """An attempt without an answer. ``reached``: the server may have got the request."""

    error: ClientError
    reached: bool
    retry: bool = True


@dataclass(frozen=True)
class Pause:
    """Sleep so many seconds, then send again."""

    seconds: float


@dataclass(frozen=True)
class Done(Generic[T]):
    """The call has succeeded."""

    value: T


class Attempts(Generic[T]):
    """The attempts of one call."""

    def __init__(
        self,
        call: Call[T],
        policy: RetryPolicy,
        *,
        clock: Callable[[], float] = time.monotonic,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self._call = call
        self._policy = policy
        self._clock = clock
        self._uniform = uniform
        self._started = clock()
        self._made = 0
        self._maybe_done = False

    def judge(self, outcome: Answer | Lost) -> Done[T] | Pause:
        """What the outcome of an attempt means.

        Raises:
            ClientError: the call has failed for good; the error says how.
        """
        self._made += 1
        if isinstance(outcome, Answer) and 200 <= outcome.status < 300:
            return self._read(outcome)
        failure = outcome if isinstance(outcome, Lost) else self._refused(outcome)
        if self._call.gone_is_done and self._maybe_done and isinstance(failure.error, SessionNotFound):
            assert isinstance(outcome, Answer)
            return self._read(outcome)
        pause = self._pause(failure.error) if failure.retry else None
        if pause is None:
            raise self._final(failure.error)
        self._maybe_done = self._maybe_done or failure.reached
        _log.info(
            "%s %s: %s (attempt %d of %d); again in %.2f s",
            self._call.method,
            self._call.path,
            failure.error.code,
            self._made,
            self._policy.max_attempts,
            pause,
        )
        return Pause(pause)

    def _read(self, answer: Answer) -> Done[T]:
        try:
            return Done(self._call.read(answer))
        except UnexpectedResponse as error:
            raise self._final(error) from None

    def _refused(self, answer: Answer) -> Lost:
        error = refusal(answer, self._call.subject)
        # A 5xx may come from the gateway while the function goes on working.
        return Lost(error, reached=answer.status >= 500, retry=_may_retry(error))

    def _pause(self, error: ClientError) -> float | None:
        if self._made >= self._policy.max_attempts:
            return None
        ceiling = min(self._policy.longest_pause, self._policy.first_pause * 2 ** (self._made - 1))
        asked = error.problem.retry_after if isinstance(error, ApiError) else None
        pause = (asked or 0.0) + self._uniform(0.0, ceiling)
        spent = self._clock() - self._started
        return pause if spent + pause <= self._policy.total_seconds else None

    def _final(self, error: ClientError) -> ClientError:
        error.idempotency_key = self._call.subject.idempotency_key
        if self._maybe_done:
            error.add_note("An earlier attempt of this call got no clear answer and may have been carried out.")
        return error


def _may_retry(error: ApiError | UnexpectedResponse) -> bool:
    if isinstance(error, UnexpectedResponse):
        return False
    said = error.problem.retryable
    return error.status in RETRIED_STATUSES if said is None else said
