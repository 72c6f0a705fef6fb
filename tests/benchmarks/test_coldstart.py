"""The ceiling of a cold start, held by every test run: a share of the usual stack's, measured in the same minute."""

from pathlib import Path

import pytest

from tests.benchmarks import coldstart
from tests.benchmarks.rows import Report

pytestmark = pytest.mark.slow


def test_a_cold_start_takes_at_most_seven_tenths_of_the_usual_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The row of the benchmark, with its verdict; it has been measured again where it missed."""
    report = Report()
    coldstart.measure(tmp_path, report)

    assert [True] == [row.met for row in report.rows], capsys.readouterr().out


def test_the_usual_stack_is_the_usual_one(tmp_path: Path) -> None:
    """It stands alone, and brings what it says; nothing that the SDK of X-Ray would also patch."""
    coldstart.usual(tmp_path / "usual")
    brought = {path.name for path in (tmp_path / "usual").iterdir()}

    assert {"boto3", "botocore", "aws_lambda_powertools", "aws_xray_sdk", "pydantic", "usual_api.py"} <= brought
    assert not {"httpx", "requests", "turnlog", "session_api"} & brought
