"""One log line for each step, and a count of how executions end.

Never in the log: message content, summaries, prompts, or the name of a tenant or a session.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from turnlog.compactor import StepAnswer, SummaryJob
from turnlog.hosting.telemetry import Telemetry, hashed

SERVICE: Final = "compaction_steps"
ENDS: Final = ("landed", "coalesced", "gone")

telemetry = Telemetry(SERVICE)


class Watch:
    """Times one step."""

    def __init__(self) -> None:
        self.answer: StepAnswer | None = None

    def answered(self, answer: StepAnswer) -> None:
        """What the step says."""
        self.answer = answer


@contextmanager
def watching(step: str, tenant_key: str, job: SummaryJob) -> Iterator[Watch]:
    """Write the line and the counts of a step when it is over; an error stands in it with its stack."""
    watch, started = Watch(), time.perf_counter()
    line: dict[str, object] = {
        "step": step,
        "tenant_hash": hashed(tenant_key),
        "session_hash": hashed(job.session_id),
        "compaction": job.pass_id,
        "number": job.number,
    }
    try:
        yield watch
    except Exception:
        telemetry.logger.exception("failed", extra=line)
        raise
    answer = watch.answer
    assert answer is not None
    line |= {"status": answer.status, "elapsed_ms": round((time.perf_counter() - started) * 1000, 1)}
    if answer.reason:
        line |= {"reason": answer.reason, "detail": answer.detail}
    telemetry.logger.info("step", extra=line)
    if step == "fail":
        telemetry.count("SummariesFailed", reason=answer.reason or "step_failed")
    elif answer.status in ENDS:
        telemetry.count("Summaries", outcome=answer.status)
