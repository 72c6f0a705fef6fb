"""The settings of one event source mapping, as Lambda's API tells them."""

from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass
from typing import Any

from infra.local.pump.filters import Pattern

FOR_EVER = -1


class MappingError(ValueError):
    """A mapping with a setting that the pump does not keep; the text says which."""


@dataclass(frozen=True, slots=True)
class Mapping:
    """Which function gets which records, and what happens to those that fail.

    Times are in seconds; `FOR_EVER` for retries and age means no limit.
    """

    stream: str
    function: str
    patterns: tuple[Pattern, ...] = ()
    batch_size: int = 100
    window: float = 0
    lanes: int = 1
    retries: int = FOR_EVER
    max_age: float = FOR_EVER
    bisects: bool = False
    reports_items: bool = False
    on_failure: str | None = None

    @classmethod
    def read(cls, found: AnyMapping[str, Any]) -> "Mapping":
        """From an entry of ListEventSourceMappings.

        Raises:
            PatternError: a filter cannot be judged.
            MappingError: a setting is none of those that the pump keeps.
        """
        if found.get("StartingPosition", "TRIM_HORIZON") != "TRIM_HORIZON":
            raise MappingError(f"{found['FunctionArn']}: the pump begins at TRIM_HORIZON only")
        if found.get("TumblingWindowInSeconds"):
            raise MappingError(f"{found['FunctionArn']}: the pump has no tumbling windows")
        filters = (found.get("FilterCriteria") or {}).get("Filters") or []
        destination = ((found.get("DestinationConfig") or {}).get("OnFailure") or {}).get("Destination")
        return cls(
            stream=found["EventSourceArn"],
            function=found["FunctionArn"],
            patterns=tuple(Pattern.parse(one["Pattern"]) for one in filters),
            batch_size=int(found.get("BatchSize") or 100),
            window=float(found.get("MaximumBatchingWindowInSeconds") or 0),
            lanes=int(found.get("ParallelizationFactor") or 1),
            retries=int(_given(found, "MaximumRetryAttempts")),
            max_age=float(_given(found, "MaximumRecordAgeInSeconds")),
            bisects=bool(found.get("BisectBatchOnFunctionError")),
            reports_items="ReportBatchItemFailures" in (found.get("FunctionResponseTypes") or []),
            on_failure=destination,
        )

    def wants(self, record: AnyMapping[str, Any]) -> bool:
        """Whether the function gets the record: some pattern matches, or there is none."""
        return not self.patterns or any(pattern.matches(record) for pattern in self.patterns)


def _given(found: AnyMapping[str, Any], name: str) -> int:
    value = found.get(name)
    return FOR_EVER if value is None else int(value)
