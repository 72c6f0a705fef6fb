"""docs/operations.md: the fields, queries and metrics that it names are those that the function writes."""

import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from compaction_steps import observability as steps
from compaction_worker import observability as worker
from compaction_worker.worker import SWEEP, Worker
from session_api.observability import logger, report_start
from tests.support.logs import fields_of_table, queries
from tests.support.session_api import Api
from tests.support.tree import ROOT
from turnlog.compactor import CompactionAnswer, StepAnswer, SummaryJob
from turnlog.domain.session import Version
from turnlog.testing.clock import ManualClock

PAGE = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
Written = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def lines(session: Api, written: Written, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What requests write that succeed, are refused, and meet a fault; and a start without bytecode."""
    written()
    session.append("hi")
    session.compact()
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

    assert len(requests) == 6
    assert set() == listed - {as_listed(name) for line in requests for name in line}
    assert set() == {as_listed(name) for line in requests for name in line} - listed


def test_queries_of_the_functions_log_ask_for_its_fields() -> None:
    found = queries(PAGE, "function")
    listed = fields_of_table(PAGE, "**The function's log**")

    assert found
    assert [] == [name for query in found for name in query.fields if name not in listed]


@pytest.fixture
def behind(lines: list[dict[str, Any]], written: Written, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the functions behind the stream and the state machine write."""
    for other in (worker.logger, steps.telemetry.logger):
        monkeypatch.setattr(other.registered_handler, "stream", vars(logger.registered_handler)["stream"])
    written()
    worker.looked_at("acme", "s", CompactionAnswer("nothing_to_do", Version(1, 1, 0)))
    worker.failed(ValueError("x"), "acme", "s")
    worker.unreadable(ValueError("x"), "1")
    nothing = SimpleNamespace(connection=SimpleNamespace(pending=lambda _now, limit: []), clock=ManualClock())
    Worker(lambda: nothing)(SWEEP, None)  # type: ignore[arg-type,return-value]  # a table where nothing waits
    job = SummaryJob("s", 1, 0, 1, 1, "1.5f0c2a9b7e11", "{}")
    for step, answer in (("commit", StepAnswer("landed")), ("fail", StepAnswer("failed", reason="blank"))):
        with steps.watching(step, "acme", job) as watch:
            watch.answered(answer)
    return written()


def as_listed(name: str) -> str:
    """A name as the page has it: one row stands for all outcomes."""
    return re.sub(r"^Compactions_[a-z_]+$", "Compactions_<status>", name)


def test_the_page_lists_every_metric_with_its_dimensions(
    lines: list[dict[str, Any]], behind: list[dict[str, Any]]
) -> None:
    """A dashboard that is made from the page finds them, whichever function writes them."""
    written = {
        as_listed(metric["Name"]): set(directive["Dimensions"][0])
        for line in (*lines, *behind)
        for directive in line.get("_aws", {}).get("CloudWatchMetrics", ())
        for metric in directive["Metrics"]
    }
    rows = [row for row in PAGE[PAGE.index("## Metrics") : PAGE.index("AWS's own metrics")].split("\n") if "`" in row]
    listed = {
        cells[1].strip(" `"): set(cells[2].strip(" `").split("`, `")) for cells in (r.split("|") for r in rows[1:])
    }

    assert written == listed
