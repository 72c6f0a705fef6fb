"""The asynchronous client behind the synchronous one's interface, so that one test holds both to their word."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Any, Self

from anyio.from_thread import BlockingPortal

from turnlog.client import AsyncClient, AsyncPager, AsyncSession


class Blocking:
    """Calls what it wraps in a portal's event loop, and wraps in turn what comes back."""

    def __init__(self, wrapped: Any, portal: BlockingPortal) -> None:
        self._wrapped = wrapped
        self._portal = portal

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._wrapped, name)
        return self._call(found) if callable(found) else found

    def __repr__(self) -> str:
        return repr(self._wrapped).removeprefix("Async")

    def _call(self, method: Any) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            if inspect.iscoroutinefunction(method):
                return self._portal.call(lambda: method(*arguments, **named))
            return self._shown(method(*arguments, **named))

        return call

    def _shown(self, value: Any) -> Any:
        if isinstance(value, (AsyncClient, AsyncSession)):
            return Blocking(value, self._portal)
        if isinstance(value, AsyncPager):
            return BlockingPager(value, self._portal)
        if isinstance(value, AsyncIterator):
            return _drained(value, self._portal)
        return value

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._portal.call(self._wrapped.aclose)


class BlockingPager(Blocking):
    """A listing that can be looped over."""

    def __iter__(self) -> Iterator[Any]:
        return _drained(aiter(self._wrapped), self._portal)


def _drained(found: AsyncIterator[Any], portal: BlockingPortal) -> Iterator[Any]:
    while True:
        try:
            item = portal.call(anext, found)
        except StopAsyncIteration:
            return
        yield item
