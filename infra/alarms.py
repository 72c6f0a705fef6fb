"""What the cloud stage raises alarms for: one table, without the CDK, so that docs can be held against it.

A threshold is a value of the metric of the same name in :mod:`infra.constructs.monitoring`.
"""

from __future__ import annotations

from dataclasses import dataclass

RUNBOOK = "docs/operations.md"


@dataclass(frozen=True)
class Alarm:
    """When to call somebody, and what to tell.

    The alarm rings when ``datapoints`` of the last ``periods`` periods, each ``minutes`` long, are
    at ``threshold`` or above. A period without data counts as quiet.
    """

    name: str
    means: str
    threshold: float
    minutes: int = 5
    datapoints: int = 1
    periods: int = 1

    @property
    def anchor(self) -> str:
        """The heading in the runbook."""
        return f"alarm-{self.name}"

    @property
    def description(self) -> str:
        """What the notification says."""
        return f"{self.means} What to do: {RUNBOOK}#{self.anchor}"


ALARMS: tuple[Alarm, ...] = (
    Alarm(
        "api-errors",
        "More than 1 percent of at least 100 requests were answered with 5xx.",
        threshold=1,
        datapoints=2,
        periods=3,
    ),
    Alarm(
        "api-latency",
        "One request in a hundred took 3 seconds or more.",
        threshold=3000,
        datapoints=3,
        periods=5,
    ),
    Alarm("function-errors", "A function ended without an answer.", threshold=1),
    Alarm(
        "function-throttles",
        "Lambda refused to start a function: the account's concurrency is used up.",
        threshold=1,
        datapoints=2,
        periods=3,
    ),
    Alarm(
        "function-duration", "A function ran for four fifths of its time limit.", threshold=0.8, datapoints=2, periods=3
    ),
    Alarm("function-concurrency", "800 requests at once; an account starts with room for 1000.", threshold=800),
    Alarm(
        "table-throttles",
        "DynamoDB refused reads or writes of the table.",
        threshold=10,
        datapoints=2,
        periods=3,
    ),
    Alarm("table-errors", "DynamoDB failed on its own side.", threshold=5, datapoints=2, periods=3),
    Alarm(
        "compaction-age",
        "The oldest record that the compaction worker has to look at is 2 minutes old.",
        threshold=120_000,
        datapoints=2,
        periods=3,
    ),
    Alarm("compaction-queue", "Stream records could not be worked off and lie in the on-failure queue.", threshold=1),
    Alarm("compaction-errors", "The compaction worker, or a step of a summary, failed.", threshold=5),
    Alarm(
        "compaction-summaries",
        "Summarising compactions failed or ran out of time; their sessions are tried again, later each time.",
        threshold=3,
        datapoints=2,
        periods=3,
    ),
    Alarm("compiled-at-start", "A function had to compile modules when it started: cold starts are slow.", threshold=1),
)
