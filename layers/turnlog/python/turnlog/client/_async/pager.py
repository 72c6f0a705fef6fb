"""Listings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Generic, TypeVar

from .._models import Page
from ..errors import UnexpectedResponse

T = TypeVar("T")


class AsyncPager(Generic[T]):
    """A listing. Loop over it for every item, over :meth:`pages` for page by page, or call
    :meth:`page` with a cursor that you kept. Requests are made as they are needed, and each loop
    starts anew."""

    def __init__(self, fetch: Callable[[str | None], Awaitable[Page[T]]]) -> None:
        """Use :meth:`AsyncSession.events`, :meth:`AsyncSession.compactions` or :meth:`AsyncClient.sessions`."""
        self._fetch = fetch

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for item in page.items:
                yield item

    async def pages(self, cursor: str | None = None) -> AsyncIterator[Page[T]]:
        """Page by page, from a cursor on; a page may be empty."""
        seen: set[str] = set()
        while True:
            page = await self._fetch(cursor)
            yield page
            cursor = page.next_cursor
            if cursor is None:
                return
            if cursor in seen:
                raise UnexpectedResponse("The pages lead in a circle, so reading on would never end.")
            seen.add(cursor)

    async def page(self, cursor: str | None = None) -> Page[T]:
        """The first page, or the one that a ``next_cursor`` points at."""
        return await self._fetch(cursor)
