"""What is uploaded: read once for length and checksum, then in pieces. Plain, blocking file work."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias

Source: TypeAlias = bytes | bytearray | memoryview | str | PathLike[str] | BinaryIO
"""Content in memory, the path of a file, or a file that is open for reading."""

PIECE: Final = 256 * 1024


@dataclass
class Content:
    """A content that can be read again from its ``start``."""

    file: BinaryIO
    start: int
    size: int
    sha256: str
    owned: bool

    def pieces(self) -> Iterator[bytes]:
        """The content, a piece at a time, from its start."""
        self.file.seek(self.start)
        left = self.size
        while left > 0:
            piece = self.file.read(min(PIECE, left))
            if not piece:
                return
            left -= len(piece)
            yield piece

    def close(self) -> None:
        """Close the file if it was opened here; leave another one at the end of its content."""
        if self.owned:
            self.file.close()


def open_content(source: Source) -> Content:
    """Open a source and take its measure.

    Raises:
        OSError: the file cannot be read.
        TypeError: no content, path or binary file.
    """
    file, owned = _file_of(source)
    try:
        if not file.seekable():
            copy = tempfile.TemporaryFile()  # noqa: SIM115  (closed by close)
            shutil.copyfileobj(file, copy, PIECE)
            copy.seek(0)
            file, owned = copy, True
        start = file.tell()
        digest, size = hashlib.sha256(), 0
        while piece := file.read(PIECE):
            if not isinstance(piece, bytes):
                raise TypeError("the file is open for text; open it with mode 'rb'")
            digest.update(piece)
            size += len(piece)
    except BaseException:
        if owned:
            file.close()
        raise
    return Content(file, start, size, digest.hexdigest(), owned)


def _file_of(source: Source) -> tuple[BinaryIO, bool]:
    if isinstance(source, (bytes, bytearray, memoryview)):
        return io.BytesIO(source), True
    if isinstance(source, (str, PathLike)):
        return Path(source).open("rb"), True
    if not hasattr(source, "read"):
        raise TypeError(f"expected bytes, a path or a binary file, not {type(source).__name__}")
    return source, False


class Sink:
    """A file that appears whole, under its name, or not at all."""

    def __init__(self, path: Path) -> None:
        self._path = path
        handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        self._file = os.fdopen(handle, "wb")
        self._made = Path(name)

    def write(self, piece: bytes) -> None:
        """Add a piece."""
        self._file.write(piece)

    def restart(self) -> None:
        """Begin again."""
        self._file.seek(0)
        self._file.truncate()

    def keep(self) -> None:
        """It is whole: give it its name. Who may read it is what the umask says, as for any new file."""
        self._file.close()
        mask = os.umask(0)
        os.umask(mask)
        self._made.chmod(0o666 & ~mask)
        self._made.replace(self._path)

    def drop(self) -> None:
        """Leave nothing."""
        self._file.close()
        self._made.unlink(missing_ok=True)
