"""Files, without holding up anybody else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from .._sources import Content, Sink, Source, open_content
from .io import in_thread


@asynccontextmanager
async def opened(source: Source) -> AsyncIterator[Content]:
    """The content of a source, closed again afterwards."""
    content = await in_thread(open_content, source)
    try:
        yield content
    finally:
        content.close()


async def pieces_of(content: Content) -> AsyncIterator[bytes]:
    """The content from its start, a piece at a time."""
    pieces = content.pieces()
    while piece := await in_thread(next, pieces, b""):
        yield piece


@asynccontextmanager
async def written(path: Path) -> AsyncIterator[Sink]:
    """A file that appears only if everything goes well."""
    sink = await in_thread(Sink, path)
    try:
        yield sink
        await in_thread(sink.keep)
    finally:
        sink.drop()
