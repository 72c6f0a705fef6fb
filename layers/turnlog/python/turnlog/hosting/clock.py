"""The clock of whatever runs in production."""

from __future__ import annotations

import time

from ..domain.instant import Instant


class SystemClock:
    """The machine's clock, in whole milliseconds."""

    def now(self) -> Instant:
        """The present instant."""
        return Instant.of_ms(time.time_ns() // 1_000_000)
