"""From the state machine's events to steps, and from what a step says to plain JSON.

An answer has a ``status``, by which the machine goes on; it looks at no error's name. What a step
cannot say is raised, and the machine tries the step again: every step may be repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from turnlog.compactor import PartRef, StepAnswer, Summaries, SummaryJob
from turnlog.domain.errors import StoreUnavailable, TurnlogError
from turnlog.stores.dynamodb import from_key

from . import observability
from .dependencies import Dependencies

Json = dict[str, Any]


def _load(summaries: Summaries, job: SummaryJob, _event: Json) -> StepAnswer:
    return summaries.load(job)


def _summarise(summaries: Summaries, job: SummaryJob, event: Json) -> StepAnswer:
    return summaries.summarise(job, event["level"], event["index"], _parts(event["below"]))


def _combine(summaries: Summaries, job: SummaryJob, event: Json) -> StepAnswer:
    return summaries.combine(job, _parts(event["parts"]))


def _commit(summaries: Summaries, job: SummaryJob, event: Json) -> StepAnswer:
    return summaries.commit(job, PartRef(**event["part"]))


def _fail(summaries: Summaries, job: SummaryJob, event: Json) -> StepAnswer:
    return summaries.fail(job, event.get("reason") or "step_failed", event.get("detail") or "")


STEPS: Final[Mapping[str, Callable[[Summaries, SummaryJob, Json], StepAnswer]]] = {
    "load": _load,
    "summarise": _summarise,
    "combine": _combine,
    "commit": _commit,
    "fail": _fail,
}


class Steps:
    """The Lambda handler over ``dependencies``."""

    def __init__(self, dependencies: Callable[[], Dependencies]) -> None:
        self._dependencies = dependencies

    def __call__(self, event: Json, context: Any) -> Json:
        """One step.

        Raises:
            StoreUnavailable: not just now; the machine tries again.
            KeyError: there is no such step.
        """
        step, job = STEPS[event["step"]], SummaryJob.from_json(event["job"])
        tenant = from_key(event["tenant"])
        with observability.watching(event["step"], str(tenant), job) as watch:
            try:
                answer = step(self._dependencies().summaries_for(tenant), job, event)
            except StoreUnavailable:
                raise
            except TurnlogError as error:
                answer = StepAnswer("failed", reason=error.code, detail=error.detail)
            watch.answered(answer)
        return _json(answer)


def _parts(refs: list[Json]) -> list[PartRef]:
    return [PartRef(**ref) for ref in refs]


def _json(answer: StepAnswer) -> Json:
    """Everything is there, so that the machine's expressions meet no missing field."""
    part = answer.part
    return {
        "status": answer.status,
        "chunks": answer.chunks,
        "part": None if part is None else {"key": part.key, "sha256": part.sha256, "size": part.size},
        "wait_seconds": answer.wait_seconds,
        "reason": answer.reason or "",
        "detail": answer.detail,
    }
