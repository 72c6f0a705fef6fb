"""Compaction: when a window is too long (triggers), what leaves it (strategies), and the boundary rules
that no strategy may break (spec/session 7, DESIGN 6 and 7). Pure: nothing here reads or writes a store.
"""

from .boundary import KeptReason
from .policy import CompactionPolicy, parse_strategy, parse_trigger
from .recursive_summarization import RecursiveSummarization, Selection, SummaryPrompt
from .request import CompactionRequest
from .result import CompactionResult
from .sliding_window import SlidingWindow
from .strategy import CompactionStrategy
from .token_count import TokenCount
from .triggers import (
    AlwaysTrigger,
    AnyTrigger,
    CompactionTrigger,
    NeverTrigger,
    TokenCountTrigger,
    TurnCountTrigger,
    Watermark,
)
from .turn_window import TurnWindow

__all__ = [
    "AlwaysTrigger",
    "AnyTrigger",
    "CompactionPolicy",
    "CompactionRequest",
    "CompactionResult",
    "CompactionStrategy",
    "CompactionTrigger",
    "KeptReason",
    "NeverTrigger",
    "RecursiveSummarization",
    "Selection",
    "SlidingWindow",
    "SummaryPrompt",
    "TokenCount",
    "TokenCountTrigger",
    "TurnCountTrigger",
    "TurnWindow",
    "Watermark",
    "parse_strategy",
    "parse_trigger",
]
