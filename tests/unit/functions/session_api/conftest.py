"""The API over a fresh memory store."""

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from session_api.observability import logger
from tests.support.session_api import Api


@pytest.fixture
def api() -> Api:
    """Alice of acme."""
    return Api()


@pytest.fixture
def session(api: Api) -> Api:
    """Alice of acme, who has a session "s"."""
    assert api.create().status == 201
    return api


@pytest.fixture
def written(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[dict[str, Any]]]:
    """What the function wrote to standard output since the last look: log lines and metrics."""
    # The logger took the stream at its import; pytest changes it for each test, and within it.
    monkeypatch.setattr(logger.registered_handler, "stream", _PresentStdout())
    return lambda: [json.loads(line) for line in capsys.readouterr().out.splitlines()]


class _PresentStdout:
    """Whatever standard output is at the moment of writing."""

    def write(self, text: str) -> None:
        sys.stdout.write(text)

    def flush(self) -> None:
        sys.stdout.flush()
