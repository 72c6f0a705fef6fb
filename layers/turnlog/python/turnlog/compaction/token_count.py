"""Keeps what fits into a number of tokens, in whole turns (spec 7.6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .boundary import Boundaries
from .checks import positive
from .request import CompactionRequest
from .result import CompactionResult, archiving


@dataclass(frozen=True)
class TokenCount:
    """Keeps the longest run of newest events that fits into ``max_tokens``, beside the summaries
    and the session's system prompt, whose tokens come off first. The preamble goes first, also
    when everything fits.

    Raises:
        InvalidRequest: ``max_tokens`` is not above 0.
    """

    name: ClassVar[str] = "token_count"
    max_tokens: int = 4000

    def __post_init__(self) -> None:
        positive("max_tokens", self.max_tokens)

    def compact(self, request: CompactionRequest) -> CompactionResult:
        """Archive what does not fit; the newest turn stays in any case."""
        kept_system = [] if request.kept_system is None else [request.kept_system]
        budget = self.max_tokens - request.tokens(request.synthetic) - request.tokens(kept_system)
        cut = Boundaries(request).cut(_raw_cut(request, budget))
        return archiving(request, cut, over_budget=request.tokens(request.real[cut.at :]) > budget)


def _raw_cut(request: CompactionRequest, budget: int) -> int:
    """The start of the longest suffix that fits; equality fits, nothing is skipped."""
    cut = len(request.real)
    for event in reversed(request.real):
        budget -= request.tokens([event])
        if budget < 0:
            break
        cut -= 1
    return cut
