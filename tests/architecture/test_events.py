"""The event files: real shapes, and none that nothing reads."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.tree import ROOT, project_files

EVENTS = [path for path in project_files(ROOT / "events") if path.suffix == ".json"]
TESTS = {path: path.read_text() for path in project_files(ROOT / "tests") if path.suffix == ".py"}


def names(text: str, event: Path) -> bool:
    """Whether a test's text names the file: by its place, or by its name beside that of its folder."""
    place = event.relative_to(ROOT / "events").with_suffix("").as_posix()
    return place in text or (
        event.parent.name in text and re.search(rf"""["']{event.stem}(\.json)?["']""", text) is not None
    )


@pytest.mark.parametrize("event", EVENTS, ids=lambda path: path.relative_to(ROOT / "events").as_posix())
def test_an_event_file_is_json_and_some_test_names_it(event: Path) -> None:
    """An event that no test reads would rot."""
    assert isinstance(json.loads(event.read_text()), dict)
    assert [] != [path for path, text in TESTS.items() if names(text, event)], "no test reads it"


def test_there_are_events_for_the_session_api() -> None:
    """The folder is not empty, so that the test above tests something."""
    assert EVENTS
