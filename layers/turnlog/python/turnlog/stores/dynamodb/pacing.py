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
    Blog, "Exponential Backoff and Jitter")."""

    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic
    uniform: Callable[[float, float], float] = field(default=random.uniform)
    base_seconds: float = 0.02
    cap_seconds: float = 0.64
    deadline_seconds: float = DEADLINE_SECONDS

    def wait(self, attempt: int) -> None:
        """Wait before attempt ``attempt`` (1 is the first retry)."""
        bound = min(self.cap_seconds, self.base_seconds * 2.0 ** (attempt - 1))
        self.sleep(self.uniform(0.0, bound))

    def deadline(self) -> float:
        """When to give up, on this clock."""
        return self.monotonic() + self.deadline_seconds
