"""How a writer waits between attempts: injected, so that tests and simulations own time."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

DEADLINE_SECONDS: Final = 10.0
"""How long an append tries to win a slot before it answers 503 (DESIGN 4)."""


@dataclass(frozen=True)
class Pacing:
    """Full jitter: a wait is anywhere between nothing and a bound that doubles (AWS Architecture
    Blog, "Exponential Backoff and Jitter").

    There are two bounds. A fault is over when it is over, so the first wait after one is short. A
    crowd of writers has to be spread over many times the 20 ms that a look and a put take, or most
    of their puts are refused, and a refused put costs as much as one that wins. The bounds for
    crowds were chosen by simulation (tests/unit/turnlog/stores/dynamodb/test_contention.py).
    """

    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic
    uniform: Callable[[float, float], float] = field(default=random.uniform)
    base_seconds: float = 0.02
    cap_seconds: float = 0.64
    crowd_base_seconds: float = 0.2
    crowd_cap_seconds: float = 0.4
    deadline_seconds: float = DEADLINE_SECONDS

    def wait(self, attempt: int) -> None:
        """Wait after a fault, before attempt ``attempt`` (1 is the first retry)."""
        self._jitter(self.base_seconds, self.cap_seconds, attempt)

    def give_way(self, attempt: int) -> None:
        """Wait because other writers are at the same thing; 1 is the first time."""
        self._jitter(self.crowd_base_seconds, self.crowd_cap_seconds, attempt)

    def deadline(self) -> float:
        """When to give up, on this clock."""
        return self.monotonic() + self.deadline_seconds

    def _jitter(self, base: float, cap: float, attempt: int) -> None:
        self.sleep(self.uniform(0.0, min(cap, base * 2.0 ** (attempt - 1))))
