"""docs/operations.md: the units that it gives for an operation are those that the benchmark measures."""

from __future__ import annotations

import re

import pytest

from tests.benchmarks import operations
from tests.benchmarks.rig import Rig
from tests.benchmarks.rows import Report
from tests.support.tree import ROOT

pytestmark = [pytest.mark.engine, pytest.mark.slow]

PAGE = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
SAME = {
    "create a session": ["create a session, with its place in the list"],
    "append, item up to 1 KB (1 to 20 short events)": ["append 1 event of 200 B", "append a batch of 20 x 40 B"],
    "append, item of 1.3 KB": ["append a batch of 3 (150 + 2048 + 400 B)"],
    "append after one lost race": ["append after one lost race"],
    "get a session": ["get a session"],
    "a page of 50 events of 1 KB": ["a page of 50 events of the log"],
    "an event by the server's id": ["an event by an id that the server made"],
    "an event by the client's id": ["an event by an id that the client made"],
    "the active window, 45 events of 1 KB": [
        "window: 45 events of 1 KB, after our own append",
        "window: 45 events of 1 KB, consistent",
    ],
}
"""A row of the page, and the benchmark's rows for it: the cheapest first, where the page gives a range."""


@pytest.fixture(scope="module")
def measured(engine: str) -> dict[str, str]:
    """What the benchmark prints for each of its rows: requests, write units, read units."""
    rig, report = Rig(engine), Report()
    for part in (operations._appends, operations._lost_race, operations._client_ids, operations._windows):
        part(rig, report)
    operations._small_reads(rig, report)
    return {row.name.partition(": item")[0]: row.measured for row in report.rows}


def units(text: str) -> list[float]:
    """Requests, write units and read units of a row of the benchmark."""
    return [float(number) for number in re.findall(r"([\d.]+) (?:req|WU|RU)", text)]


@pytest.mark.parametrize("row", SAME)
def test_the_page_gives_what_is_measured(row: str, measured: dict[str, str]) -> None:
    """Requests, write units and read units alike."""
    found = re.search(rf"^\| {re.escape(row)} \| ([^|]+) \| ([^|]+) \| ([^|]+) \|", PAGE, re.MULTILINE)
    assert found is not None

    ends = [[float(number) for number in re.findall(r"[\d.]+", cell)] for cell in found.groups()]
    low, high = ([cell[end] for cell in ends] for end in (0, -1))
    assert low == units(measured[SAME[row][0]])
    assert high == units(measured[SAME[row][-1]])
