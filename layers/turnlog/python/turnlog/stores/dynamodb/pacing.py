"""How a writer waits between attempts: injected, so that tests and simulations own time."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

DEADLINE_SECONDS: Final = 10.0
"""How long an append tries to win a slot before it answers 503 (DESIGN 4)."""

_SHORTEST_TRY_SECONDS: Final = 0.02
"""A look and a put take at least about so long together."""
_SPREAD_TRIES: Final = 10
_SPREAD_TRIES_CAP: Final = 20
_SPREAD_SECONDS_CAP: Final = 1.0
_POLITE_SHARE: Final = 0.25
"""The part of its time in which a writer gives way to others."""


@dataclass(frozen=True)
class Pacing:
    """Full jitter: a wait is anywhere between nothing and a bound that doubles (AWS Architecture
    Blog, "Exponential Backoff and Jitter")."""

    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic
    uniform: Callable[[float, float], float] = field(default=random.uniform)
    base_seconds: float = 0.02
    cap_seconds: float = 0.64
    deadline_seconds: float = DEADLINE_SECONDS

    def wait(self, attempt: int) -> None:
        """Wait before attempt ``attempt`` (1 is the first retry)."""
        self.wait_up_to(min(self.cap_seconds, self.base_seconds * 2.0 ** (attempt - 1)))

    def wait_up_to(self, seconds: float) -> None:
        """Wait for any part of this long."""
        self.sleep(self.uniform(0.0, seconds))

    def deadline(self) -> float:
        """When to give up, on this clock."""
        return self.monotonic() + self.deadline_seconds


class Race:
    """One writer on its way to a slot that others want too.

    A refused put costs as much as one that wins, so a crowd has to be spread over many times what
    one try takes; how long a try takes is measured, because it depends on the network. The numbers
    were chosen by simulation (tests/unit/turnlog/stores/dynamodb/test_contention.py).
    """

    def __init__(self, pacing: Pacing, *, crowded: bool = False) -> None:
        """``crowded``: others are known to start at this moment, so begin with a wait."""
        self._pacing = pacing
        self.began = pacing.monotonic()
        self.deadline = pacing.deadline()
        self._lost = 0
        self._slowest = _SHORTEST_TRY_SECONDS
        if crowded:
            self._give_way(1)
        self._tried = pacing.monotonic()

    @property
    def is_over(self) -> bool:
        """Whether it is time to give up."""
        return self._pacing.monotonic() >= self.deadline

    def lose(self) -> bool:
        """Another writer won the slot. Waits where that helps; True when it did wait, so that what
        the writer knows of the log is old.

        Most races are between two, so the first retry follows at once. Who loses again is in a
        crowd and gives way; but only for a while, lest it give way until its time is over: writers
        that retry at once come before those that look first.
        """
        now = self._pacing.monotonic()
        self._lost += 1
        self._slowest = max(self._slowest, now - self._tried)
        polite = now - self.began < self._pacing.deadline_seconds * _POLITE_SHARE
        waits = self._lost > 1 and polite
        if waits:
            self._give_way(self._lost - 1)
        self._tried = self._pacing.monotonic()
        return waits

    def _give_way(self, attempt: int) -> None:
        tries = min(_SPREAD_TRIES_CAP, _SPREAD_TRIES * 2.0 ** (attempt - 1))
        self._pacing.wait_up_to(min(_SPREAD_SECONDS_CAP, tries * self._slowest))
