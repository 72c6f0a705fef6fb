"""Zip files for Lambda, made by ourselves: no Docker, no bundling callbacks, built once per content.

An asset is named by the digest of what it is made *from*. Synthesis therefore gives the same
names each time, although neither pip nor the compiler promises the same bytes twice, and a second
synthesis builds nothing.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

EPOCH = (1980, 1, 1, 0, 0, 0)
"""The date of every zip entry: the format's oldest."""

KEPT_BUILDS = 4
"""How many builds of one asset stay in the cache."""


class BundleError(RuntimeError):
    """An asset could not be built; the message says which and why."""


@dataclass(frozen=True)
class Asset:
    """A zip file ready for upload.

    ``digest`` identifies its sources and target; ``compiled`` tells whether it carries bytecode
    that its runtime will use.
    """

    path: Path
    digest: str
    compiled: bool


def source_files(folder: Path, *, without: Iterable[str] = ()) -> Iterator[Path]:
    """The files below ``folder`` that belong to a source tree, sorted: no bytecode, no dot-files.

    ``without`` names folders, relative to ``folder``, that are left out.
    """
    left_out = {folder / name for name in without}
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        hidden = any(part.startswith(".") or part == "__pycache__" for part in parts)
        if path.is_file() and not hidden and path.suffix != ".pyc" and left_out.isdisjoint(path.parents):
            yield path


def digest(*parts: str | bytes) -> str:
    """The SHA-256, in hex, of parts that cannot run into one another."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        whole.update(len(data).to_bytes(8, "big"))
        whole.update(data)
    return whole.hexdigest()


def digest_files(folder: Path, files: Iterable[Path]) -> str:
    """The digest of files: their paths relative to ``folder`` and their content."""
    parts: list[str | bytes] = []
    for path in files:
        parts += [path.relative_to(folder).as_posix(), path.read_bytes()]
    return digest(*parts)


def copy_files(folder: Path, files: Iterable[Path], target: Path) -> None:
    """Copy files to the same places below ``target``."""
    for path in files:
        copy = target / path.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)


def cached_zip(cache: Path, name: str, key: str, fill: Callable[[Path], None]) -> Path:
    """The zip file for ``key`` out of the cache; made there first when it is missing.

    ``fill`` puts the files into the empty folder that it is given. Safe against a crash and
    against another process that does the same: the file appears whole or not at all.

    Raises:
        BundleError: ``fill`` left the folder empty. A function would deploy, and fail when called.
    """
    path = cache / f"{name}-{key[:20]}.zip"
    if path.exists():
        path.touch()
        return path
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix=f".{name}-") as scratch:
        content = Path(scratch) / "content"
        content.mkdir()
        fill(content)
        made = Path(scratch) / "made.zip"
        if _write_zip(content, made) == 0:
            raise BundleError(f"{name}: nothing to put into the asset")
        made.replace(path)
    _prune(cache, name)
    return path


def _write_zip(folder: Path, path: Path) -> int:
    """Zip a folder reproducibly: sorted, one date, readable for Lambda's user. Returns the count."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            entry = zipfile.ZipInfo(file.relative_to(folder).as_posix(), EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, or the permissions below mean nothing
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, file.read_bytes())
    return len(files)


def _prune(cache: Path, name: str) -> None:
    """Remove all but the latest used builds of one asset."""
    key_length = 20
    builds = [path for path in cache.glob(f"{name}-*.zip") if len(path.stem) == len(name) + 1 + key_length]
    builds.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in builds[KEPT_BUILDS:]:
        path.unlink(missing_ok=True)
