# Made from ../_async/files.py by .ci/unasync.py: change that one.
"""Files, without holding up anybody else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .._sources import Content, Sink, Source, open_content
from .io import in_thread


@contextmanager
def opened(source: Source) -> Iterator[Content]:
    """The content of a source, closed again afterwards."""
    content = in_thread(open_content, source)
    try:
        yield content
    finally:
        content.close()


def pieces_of(content: Content) -> Iterator[bytes]:
    """The content from its start, a piece at a time."""
    pieces = content.pieces()
    while piece := in_thread(next, pieces, b""):
        yield piece


@contextmanager
def written(path: Path) -> Iterator[Sink]:
    """A file that appears only if everything goes well."""
    sink = in_thread(Sink, path)
    try:
        yield sink
        in_thread(sink.keep)
    finally:
        sink.drop()
