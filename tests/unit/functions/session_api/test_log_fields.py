"""docs/operations.md: the fields, queries and metrics that it names are those that the function writes."""

from collections.abc import Callable
from typing import Any

import pytest

from session_api.observability import report_start
from tests.support.logs import fields_of_table, queries
from tests.support.session_api import Api
from tests.support.tree import ROOT

PAGE = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
Written = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def lines(session: Api, written: Written, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What requests write that succeed, are refused, and meet a fault; and a start without bytecode."""
    written()
    session.append("hi")
    session.append({"id": "a", "message": {"role": "user", "content": "x"}})
    session.append({"id": "a", "message": {"role": "user", "content": "y"}})
    monkeypatch.setattr("turnlog.service.SessionService.append", lambda *_, **__: 1 / 0)
    session.append("hi")
    report_start(["some.module"])
    return written()


def test_the_function_writes_the_fields_that_the_page_lists(lines: list[dict[str, Any]]) -> None:
    """Nothing is listed that no line has; nothing that a request's line has is left out."""
    listed = fields_of_table(PAGE, "**The function's log**")
    requests = [line for line in lines if line.get("message") in ("request", "failed")]

    assert len(requests) == 5
    assert set() == listed - {name for line in requests for name in line}
    assert set() == {name for line in requests for name in line} - listed


def test_queries_of_the_functions_log_ask_for_its_fields() -> None:
    found = queries(PAGE, "function")
    listed = fields_of_table(PAGE, "**The function's log**")

    assert found
    assert [] == [name for query in found for name in query.fields if name not in listed]


def test_the_page_lists_every_metric_with_its_dimensions(lines: list[dict[str, Any]]) -> None:
    """A dashboard that is made from the page finds them."""
    written = {
        metric["Name"]: set(directive["Dimensions"][0])
        for line in lines
        for directive in line.get("_aws", {}).get("CloudWatchMetrics", ())
        for metric in directive["Metrics"]
    }
    rows = [row for row in PAGE[PAGE.index("## Metrics") : PAGE.index("AWS's own metrics")].split("\n") if "`" in row]
    listed = {
        cells[1].strip(" `"): set(cells[2].strip(" `").split("`, `")) for cells in (r.split("|") for r in rows[1:])
    }

    assert written == listed
