"""When to try again, and for how long. No I/O: the caller sends and sleeps.

Every call may be repeated: events carry their ids and a create its key before the first attempt,
so what a lost answer had already done is found again instead of being done twice.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from threading import Lock
from typing import Final, Generic, Self, TypeVar

from ._answers import Answer, refusal
from ._calls import Call
from .errors import ApiError, ClientError, SessionNotFound, TimedOut, UnexpectedResponse

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

    def __post_init__(self) -> None:
        if self.max_attempts < 1:
            raise ValueError(f"max_attempts must be at least 1, not {self.max_attempts}")

    def with_attempts(self, max_attempts: int | None) -> Self:
        """The same policy with another number of attempts, unless that is None."""
        return self if max_attempts is None else replace(self, max_attempts=max_attempts)


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


class RetryBudget:
    """What all calls of one client together may spend on retries, so that an outage is not made
    worse by everybody asking five times (the retry quota of the AWS SDKs' standard mode).

    A retry costs 5 of at most 500, after a time-out 10. A call that succeeds gives back what its
    last retry cost, and one that succeeded at once gives 1. With nothing left a call is not
    repeated. Safe to share between threads.
    """

    CAPACITY: Final = 500
    COST: Final = 5
    COST_OF_TIMEOUT: Final = 10

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = self._left = capacity
        self._lock = Lock()

    @property
    def left(self) -> int:
        """What is left of it."""
        return self._left

    def take(self, cost: int) -> bool:
        """Spend, if so much is left."""
        with self._lock:
            if self._left < cost:
                return False
            self._left -= cost
            return True

    def give(self, amount: int) -> None:
        """Give back, up to what there was at first."""
        with self._lock:
            self._left = min(self._capacity, self._left + amount)


class Pacer:
    """When the next attempt of one call may start, if at all."""

    def __init__(
        self,
        policy: RetryPolicy,
        budget: RetryBudget,
        *,
        clock: Callable[[], float] = time.monotonic,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self._policy = policy
        self._budget = budget
        self._clock = clock
        self._uniform = uniform
        self._started = clock()
        self._cost = 0
        self.made = 0
        """How many attempts have failed."""

    def pause(self, asked: float | None = None, *, timed_out: bool = False) -> float | None:
        """After a failed attempt: seconds until the next one; None when there is none. ``asked`` is
        what the server wants at least."""
        self.made += 1
        if self.made >= self._policy.max_attempts:
            return None
        ceiling = min(self._policy.longest_pause, self._policy.first_pause * 2 ** (self.made - 1))
        pause = (asked or 0.0) + self._uniform(0.0, ceiling)
        if self._clock() - self._started + pause > self._policy.total_seconds:
            return None
        cost = self._budget.COST_OF_TIMEOUT if timed_out else self._budget.COST
        if not self._budget.take(cost):
            return None
        self._cost = cost
        return pause

    def succeeded(self) -> None:
        """The call has come to its end."""
        self._budget.give(self._cost or 1)


class Attempts(Generic[T]):
    """The attempts of one call."""

    def __init__(
        self,
        call: Call[T],
        policy: RetryPolicy,
        budget: RetryBudget | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self._call = call
        self._policy = policy
        self._pacer = Pacer(policy, budget or RetryBudget(), clock=clock, uniform=uniform)
        self._maybe_done = False

    def judge(self, outcome: Answer | Lost) -> Done[T] | Pause:
        """What the outcome of an attempt means.

        Raises:
            ClientError: the call has failed for good; the error says how.
        """
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
            self._pacer.made,
            self._policy.max_attempts,
            pause,
        )
        return Pause(pause)

    def _read(self, answer: Answer) -> Done[T]:
        self._pacer.succeeded()
        try:
            return Done(self._call.read(answer))
        except UnexpectedResponse as error:
            raise self._final(error) from None

    def _refused(self, answer: Answer) -> Lost:
        error = refusal(answer, self._call.subject)
        # A 5xx may come from the gateway while the function goes on working.
        return Lost(error, reached=answer.status >= 500, retry=_may_retry(error))

    def _pause(self, error: ClientError) -> float | None:
        asked = error.problem.retry_after if isinstance(error, ApiError) else None
        return self._pacer.pause(asked, timed_out=isinstance(error, TimedOut))

    def left(self, error: BaseException) -> None:
        """The caller gives up in the middle: a cancelled task, an interrupt. Its error then says how
        to go on."""
        key = self._call.subject.idempotency_key
        if key is not None and not isinstance(error, Exception):
            error.add_note(
                f"{self._call.method} {self._call.path} may have been carried out, or may yet be; the same call with "
                f"idempotency_key={key!r} doubles nothing."
            )

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
