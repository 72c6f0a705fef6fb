# Made from ../_async/pager.py by .ci/unasync.py: change that one.
"""Listings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from .._models import Page
from ..errors import UnexpectedResponse

T = TypeVar("T")


class Pager(Generic[T]):
    """A listing. Loop over it for every item, over :meth:`pages` for page by page, or call
    :meth:`page` with a cursor that you kept. Requests are made as they are needed, and each loop
    starts anew."""

    def __init__(self, fetch: Callable[[str | None], Page[T]]) -> None:
        """Use :meth:`Session.events`, :meth:`Session.compactions` or :meth:`Client.sessions`."""
        self._fetch = fetch

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            yield from page.items

    def pages(self, cursor: str | None = None) -> Iterator[Page[T]]:
        """Page by page, from a cursor on; a page may be empty."""
        seen: set[str] = set()
        while True:
            page = self._fetch(cursor)
            yield page
            cursor = page.next_cursor
            if cursor is None:
                return
            if cursor in seen:
                raise UnexpectedResponse("The pages lead in a circle, so reading on would never end.")
            seen.add(cursor)

    def page(self, cursor: str | None = None) -> Page[T]:
        """The first page, or the one that a ``next_cursor`` points at."""
        return self._fetch(cursor)
