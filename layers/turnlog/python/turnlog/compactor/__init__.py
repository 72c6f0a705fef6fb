"""Compaction as an application service: passes that callers ask for, passes that a session's own
policy asks for, and the steps of a pass that a model writes the summary of.

It stands on the ports of the domain and on :mod:`turnlog.compaction`; who calls it is wired elsewhere.
"""

from .answers import CompactCommand, CompactionAnswer, CompactionStatus
from .compactor import Compactor
from .jobs import ModelBook, PartRef, PartStore, SummaryJob, SummaryModel, SummaryStarter
from .policies import Policies
from .summaries import StepAnswer, Summaries

__all__ = [
    "CompactCommand",
    "CompactionAnswer",
    "CompactionStatus",
    "Compactor",
    "ModelBook",
    "PartRef",
    "PartStore",
    "Policies",
    "StepAnswer",
    "Summaries",
    "SummaryJob",
    "SummaryModel",
    "SummaryStarter",
]
