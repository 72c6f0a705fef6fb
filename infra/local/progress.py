"""Lines that say what is going on and how long it has taken so far."""

import sys
import time
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Progress:
    """Prints to standard error, so that a command's own output stays clean."""

    started: float = field(default_factory=time.time)
    """Unix time: it must survive the change from one process to the next."""

    @property
    def elapsed(self) -> float:
        """Seconds since the command was given."""
        return time.time() - self.started

    def say(self, text: str) -> None:
        """Print one line with the elapsed time in front."""
        print(f"[{self.elapsed:6.1f} s] {text}", file=sys.stderr, flush=True)
