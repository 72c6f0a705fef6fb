"""The checkout as a reader sees it: its own files, without what tools have made."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "layers/turnlog/python/turnlog"
_IGNORED = (
    ".git",
    *(line.rstrip("/") for line in (ROOT / ".gitignore").read_text().split("\n") if line and line[0] not in "#!"),
)


def project_files(folder: Path = ROOT) -> Iterator[Path]:
    """Every file below ``folder`` that ``.gitignore`` does not name, in a stable order."""
    for entry in sorted(folder.iterdir()):
        place = entry.relative_to(ROOT).as_posix()
        if any(fnmatch(entry.name, pattern) or fnmatch(f"/{place}", pattern) for pattern in _IGNORED):
            continue
        if entry.is_dir():
            yield from project_files(entry)
        else:
            yield entry


def make_targets() -> dict[str, str]:
    """The targets of the Makefile that have a help text, and that text."""
    found = re.findall(r"^([a-z]+):.*?## (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    return dict(found)
