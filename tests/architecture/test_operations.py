"""docs/operations.md: its sums are right, and what it says of the access log is what the gateway is told to write."""

from __future__ import annotations

import json
import re

import pytest

from infra.constructs.http_api import ACCESS_LOG_FORMAT
from tests.benchmarks.meter import USD_PER_RRU, USD_PER_WRU
from tests.support.logs import fields_of_table, queries
from tests.support.tree import ROOT

PAGE = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
NUMBER = r"(\d+(?:\.\d+)?)(?: to (\d+(?:\.\d+)?))?"
COSTS = re.findall(rf"^\| ([^|]+) \| \d \| {NUMBER} \| {NUMBER} \| {NUMBER} \|$", PAGE, re.MULTILINE)
EXAMPLE = re.search(r"^\| per million turns (.*?)^$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("row", COSTS, ids=[row[0] for row in COSTS])
def test_the_dollars_of_an_operation_follow_from_its_units(row: tuple[str, ...]) -> None:
    """By the prices that the benchmark's meter uses; a range has two ends."""
    _, *units = row
    wu, ru, dollars = ([float(low), float(high or low)] for low, high in zip(units[::2], units[1::2], strict=True))

    for end in (0, 1):
        assert dollars[end] == pytest.approx((wu[end] * USD_PER_WRU + ru[end] * USD_PER_RRU) * 1e6, abs=0.0051)


def test_the_table_of_costs_is_read_whole() -> None:
    """Ten operations: a row that is written otherwise would not be checked."""
    assert 10 == len(COSTS)


def test_the_worked_example_adds_up() -> None:
    """The last row is the sum of those above it."""
    assert EXAMPLE is not None
    *parts, total = (float(cell) for cell in re.findall(r"\| \**(\d+\.\d\d)\** \|$", EXAMPLE[1], re.MULTILINE))

    assert len(parts) == 6
    assert total == pytest.approx(sum(parts))


def test_the_access_log_has_the_fields_that_the_page_lists() -> None:
    assert fields_of_table(PAGE, "**The access log**") == json.loads(ACCESS_LOG_FORMAT).keys()


def test_queries_of_the_access_log_ask_for_its_fields() -> None:
    """A name that no line has would find nothing, and say so to nobody."""
    fields = json.loads(ACCESS_LOG_FORMAT).keys()

    assert queries(PAGE, "access")
    assert [] == [name for query in queries(PAGE, "access") for name in query.fields if name not in fields]
