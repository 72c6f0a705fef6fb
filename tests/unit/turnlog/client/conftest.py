"""A client in front of the fake API, with pauses that take no time."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.support.fake_api import TOKEN, URL, FakeApi
from turnlog.client import Client


@pytest.fixture
def api() -> FakeApi:
    """An empty server."""
    return FakeApi()


@pytest.fixture
def pauses() -> list[float]:
    """How long the client has slept, each time."""
    return []


@pytest.fixture
def client(api: FakeApi, pauses: list[float]) -> Iterator[Client]:
    """A client of that server."""
    with Client(URL, token=TOKEN, transport=httpx.MockTransport(api), sleep=pauses.append) as client:
        yield client
