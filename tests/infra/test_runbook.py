"""docs/operations.md: what an alarm's notification points to is there, and says what the alarm does."""

from __future__ import annotations

import re

import pytest

from infra.alarms import ALARMS, RUNBOOK, Alarm
from tests.support.markdown import anchors
from tests.support.tree import ROOT

PAGE = ROOT / RUNBOOK
SECTIONS = dict(
    re.findall(r"^### Alarm: (\S+)\n(.*?)(?=^##)", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
)


def test_each_alarm_has_a_section_and_no_section_is_left_over() -> None:
    """In the order of the table."""
    assert [alarm.name for alarm in ALARMS] == list(SECTIONS)


@pytest.mark.parametrize("alarm", ALARMS, ids=lambda alarm: alarm.name)
def test_a_notification_leads_to_its_section(alarm: Alarm) -> None:
    """The anchor is one that a renderer makes, and the description names it."""
    assert alarm.anchor in anchors(PAGE)
    assert alarm.description.endswith(f"{RUNBOOK}#{alarm.anchor}")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("api-errors", "1 in 100"),
        ("api-latency", "3 seconds"),
        ("function-duration", "four fifths"),
        ("function-concurrency", "800 requests"),
        ("table-throttles", "ten or more"),
    ],
)
def test_a_section_says_the_threshold(name: str, said: str) -> None:
    """In words: whoever changes a number in the table comes past this list."""
    (alarm,) = [alarm for alarm in ALARMS if alarm.name == name]
    words = {1.0: "1 in 100", 3000.0: "3 seconds", 0.8: "four fifths", 800.0: "800 requests", 10.0: "ten or more"}

    assert said == words[alarm.threshold]
    assert said in SECTIONS[name]


MINUTES = {2: "ten minutes of fifteen", 3: "fifteen minutes of twenty-five"}


@pytest.mark.parametrize("name", ["api-errors", "api-latency", "function-throttles", "table-throttles"])
def test_a_section_says_how_long(name: str) -> None:
    """So many periods of five minutes of the last so many."""
    (alarm,) = [alarm for alarm in ALARMS if alarm.name == name]

    assert {2: (5, 3), 3: (5, 5)}[alarm.datapoints] == (alarm.minutes, alarm.periods)
    assert MINUTES[alarm.datapoints] in SECTIONS[name]
