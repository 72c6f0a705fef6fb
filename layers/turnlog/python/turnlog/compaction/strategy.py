"""The port of strategies."""

from __future__ import annotations

from typing import Protocol

from .request import CompactionRequest
from .result import CompactionResult


class CompactionStrategy(Protocol):
    """Decides what leaves the active window. Stateless, writes nothing (spec 7.11)."""

    @property
    def name(self) -> str:
        """Its name in policies and in the history of passes."""
        ...

    def compact(self, request: CompactionRequest) -> CompactionResult:
        """What a pass over this window should do; neutral when there is nothing to do."""
        ...
