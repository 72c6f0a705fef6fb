"""A clock that tests hold in their hands."""

from __future__ import annotations

from ..domain.instant import Instant

START = "2026-01-01T00:00:00.000Z"


class ManualClock:
    """A :class:`~turnlog.domain.ports.Clock` that stands still until it is moved.

    With ``tick_ms`` it moves on by so much after every look, so that no two looks are equal.
    """

    def __init__(self, start: str | Instant = START, *, tick_ms: int = 0) -> None:
        self._now = start if isinstance(start, Instant) else Instant.parse(start)
        self._tick_ms = tick_ms

    def now(self) -> Instant:
        """The present instant."""
        now = self._now
        self.advance(ms=self._tick_ms)
        return now

    def set(self, moment: str | Instant) -> None:
        """Move to an instant, forwards or backwards."""
        self._now = moment if isinstance(moment, Instant) else Instant.parse(moment)

    def advance(self, seconds: int = 0, *, ms: int = 0) -> None:
        """Move on by a while; a negative one moves back."""
        self._now = Instant.of_ns(self._now.ns + seconds * 1_000_000_000 + ms * 1_000_000)
