"""What is uploaded: read once for length and checksum, then in pieces. Plain, blocking file work."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import secrets
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias

from ..domain.errors import FieldError, InvalidRequest
from ..domain.uploads import MAX_BYTES
from .errors import TransferFailed, refused

Source: TypeAlias = bytes | bytearray | memoryview | str | PathLike[str] | BinaryIO
"""Content in memory, the path of a file, or a file that is open for reading."""

PIECE: Final = 256 * 1024
_TOO_LARGE: Final = f"must be at most {MAX_BYTES}"


@dataclass
class Content:
    """A content that can be read again from its ``start``."""

    file: BinaryIO
    start: int
    size: int
    sha256: str
    owned: bool

    def pieces(self) -> Iterator[bytes]:
        """The content, a piece at a time, from its start; raises ``TransferFailed`` when less is left
        of it than there was."""
        self.file.seek(self.start)
        left = self.size
        while left > 0:
            piece = self.file.read(min(PIECE, left))
            if not piece:
                raise TransferFailed("The file has become shorter while it was sent.")
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
            file, owned = _copied(file), True
        start = file.tell()
        digest, size = hashlib.sha256(), 0
        for piece in _read(file):
            digest.update(piece)
            size += len(piece)
    except BaseException:
        if owned:
            file.close()
        raise
    return Content(file, start, size, digest.hexdigest(), owned)


def _read(file: BinaryIO) -> Iterator[bytes]:
    """Piece after piece, up to the largest upload and not beyond: a device has no end."""
    seen = 0
    while True:
        piece: object = file.read(PIECE)
        if piece is None:
            raise BlockingIOError("the file has no data at the moment; open it so that reading waits")
        if not isinstance(piece, bytes):
            raise TypeError("the file is open for text; open it with mode 'rb'")
        if not piece:
            return
        seen += len(piece)
        if seen > MAX_BYTES:
            raise refused(InvalidRequest, f"/bytes: must be at most {MAX_BYTES}", [FieldError("/bytes", _TOO_LARGE)])
        yield piece


def _copied(file: BinaryIO) -> BinaryIO:
    """A copy that can seek; it has no name, and goes when it is closed."""
    copy = tempfile.TemporaryFile()  # noqa: SIM115  (closed with its content)
    try:
        for piece in _read(file):
            copy.write(piece)
    except BaseException:
        copy.close()
        raise
    copy.seek(0)
    return copy


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
        self._path = path.resolve()
        self._mode: int | None = None
        with contextlib.suppress(FileNotFoundError):
            found = self._path.stat().st_mode
            if stat.S_ISDIR(found):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
            if not stat.S_ISREG(found):
                raise OSError(errno.EINVAL, "only a regular file can be replaced", str(path))
            self._mode = stat.S_IMODE(found)
        self._made = self._path.parent / f".turnlog-{secrets.token_hex(8)}"
        # Made as any new file is: who may read it is what the umask says, or what the old file said.
        handle = os.open(self._made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        self._file = os.fdopen(handle, "wb")

    def write(self, piece: bytes) -> None:
        """Add a piece."""
        self._file.write(piece)

    def restart(self) -> None:
        """Begin again."""
        self._file.seek(0)
        self._file.truncate()

    def keep(self) -> None:
        """It is whole: give it its name."""
        self._file.close()
        if self._mode is not None:
            self._made.chmod(self._mode)
        self._made.replace(self._path)

    def drop(self) -> None:
        """Leave nothing."""
        self._file.close()
        self._made.unlink(missing_ok=True)
