"""A client in front of the fake API, with pauses that take no time: the synchronous one, and the asynchronous one
behind the same interface, so that every test holds both to their word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from anyio.from_thread import start_blocking_portal

from tests.support.blocking import Blocking
from tests.support.fake_api import TOKEN, URL, FakeApi
from turnlog.client import AsyncClient, Client


@pytest.fixture
def api() -> FakeApi:
    """An empty server."""
    return FakeApi()


@pytest.fixture
def pauses() -> list[float]:
    """How long the client has slept, each time."""
    return []


@pytest.fixture(params=["sync", "async"])
def client(request: pytest.FixtureRequest, api: FakeApi, pauses: list[float]) -> Iterator[Any]:
    """A client of that server."""
    transport = httpx.MockTransport(api)
    if request.param == "sync":
        with Client(URL, token=TOKEN, transport=transport, sleep=pauses.append) as client:
            yield client
        return

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    with (
        start_blocking_portal() as portal,
        Blocking(AsyncClient(URL, token=TOKEN, transport=transport, sleep=sleep), portal) as blocking,
    ):
        yield blocking


@pytest.fixture(params=["sync", "async"])
def make_client(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Makes clients of either kind, for tests that need other options."""
    if request.param == "sync":
        yield Client
        return
    with start_blocking_portal() as portal:

        def make(*arguments: Any, **options: Any) -> Blocking:
            sleep = options.pop("sleep", None)
            if sleep is not None:

                async def slept(seconds: float) -> None:
                    sleep(seconds)

                options["sleep"] = slept
            return Blocking(AsyncClient(*arguments, **options), portal)

        yield make
