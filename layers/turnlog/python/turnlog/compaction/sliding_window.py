"""Keeps the newest events, in whole turns (spec 7.6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .boundary import Boundaries
from .checks import positive
from .request import CompactionRequest
from .result import CompactionResult, archiving


@dataclass(frozen=True)
class SlidingWindow:
    """Keeps at most ``max_events`` root events. The cut moves forward to the next turn, so that
    fewer may remain; branch events go with their turn; the preamble is ordinary and goes first.

    Raises:
        InvalidRequest: ``max_events`` is not above 0.
    """

    name: ClassVar[str] = "sliding_window"
    max_events: int = 20

    def __post_init__(self) -> None:
        positive("max_events", self.max_events)

    def compact(self, request: CompactionRequest) -> CompactionResult:
        """Archive what is older than the newest ``max_events``."""
        boundaries = Boundaries(request)
        raw = boundaries.newest(self.max_events)
        return archiving(request, None if raw is None else boundaries.cut(raw))
