"""Keeps the newest turns and the preamble (spec 7.6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .boundary import Boundaries
from .checks import positive
from .request import CompactionRequest
from .result import CompactionResult, archiving


@dataclass(frozen=True)
class TurnWindow:
    """Keeps the newest ``max_turns`` turns, whole, and what came before the first turn for ever.

    Raises:
        InvalidRequest: ``max_turns`` is not above 0.
    """

    name: ClassVar[str] = "turn_window"
    max_turns: int = 10

    def __post_init__(self) -> None:
        positive("max_turns", self.max_turns)

    def compact(self, request: CompactionRequest) -> CompactionResult:
        """Archive all but the newest ``max_turns`` turns."""
        boundaries = Boundaries(request)
        starts = boundaries.starts
        if len(starts) <= self.max_turns:
            return archiving(request, None)
        return archiving(request, boundaries.cut(starts[-self.max_turns], first=starts[0]))
