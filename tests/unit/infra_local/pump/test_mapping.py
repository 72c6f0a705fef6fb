"""A mapping's settings, from Lambda's answer."""

from typing import Any

import pytest

from infra.local.pump import Mapping, MappingError, PatternError

BARE: dict[str, Any] = {"EventSourceArn": "stream", "FunctionArn": "function"}


def test_a_bare_mapping_has_lambdas_defaults() -> None:
    """100 records, no window, one lane, retries and age without end, no halving."""
    assert Mapping("stream", "function", (), 100, 0, 1, -1, -1, False, False, None) == Mapping.read(BARE)


def test_every_setting_is_kept() -> None:
    """Zero retries are zero, not the default."""
    read = Mapping.read(
        {
            **BARE,
            "BatchSize": 7,
            "MaximumBatchingWindowInSeconds": 2,
            "ParallelizationFactor": 3,
            "MaximumRetryAttempts": 0,
            "MaximumRecordAgeInSeconds": 60,
            "BisectBatchOnFunctionError": True,
            "FunctionResponseTypes": ["ReportBatchItemFailures"],
            "DestinationConfig": {"OnFailure": {"Destination": "queue"}},
            "FilterCriteria": {"Filters": [{"Pattern": '{"eventName": ["INSERT"]}'}, {"Pattern": '{"x": [1]}'}]},
        }
    )

    assert (7, 2, 3, 0, 60) == (read.batch_size, read.window, read.lanes, read.retries, read.max_age)
    assert (True, True, "queue") == (read.bisects, read.reports_items, read.on_failure)
    wanted = [read.wants(one) for one in ({"eventName": "INSERT"}, {"eventName": "REMOVE"}, {"x": 1})]
    assert [True, False, True] == wanted
    assert Mapping.read(BARE).wants({"eventName": "REMOVE"})


@pytest.mark.parametrize(
    ("setting", "error", "told"),
    [
        ({"StartingPosition": "LATEST"}, MappingError, "TRIM_HORIZON only"),
        ({"TumblingWindowInSeconds": 5}, MappingError, "no tumbling windows"),
        ({"FilterCriteria": {"Filters": [{"Pattern": '{"a": [{"numeric": ["=", 1]}]}'}]}}, PatternError, "numeric"),
    ],
)
def test_what_the_pump_does_not_keep_is_refused(setting: dict[str, Any], error: type[Exception], told: str) -> None:
    """Rather than run the laptop by other rules than the cloud."""
    with pytest.raises(error, match=told):
        Mapping.read({**BARE, **setting})
