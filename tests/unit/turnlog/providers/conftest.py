"""An endpoint on this machine, and no connection of one test left for the next."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.endpoint import Endpoint, serving
from turnlog.providers import http


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """A provider."""
    with serving() as endpoint:
        yield endpoint
        http._pool().clear()
