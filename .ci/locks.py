"""Write the lock files, or check that they still belong to their inputs: ``locks.py write|check``.

Each lock is made for all platforms and Python 3.11 and newer, with the hash of every file that may be installed. It
names no index, so any mirror serves. Its first line holds a digest of its inputs; checking that needs no network.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PREFIX = "# made by make lock from inputs "
COMPILE = (
    "uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--python-version", "3.11",
    "--no-emit-index-url", "--no-emit-find-links", "--no-header", "--no-annotate",
)  # fmt: skip


@dataclass(frozen=True)
class Lock:
    """One lock file: its name, and what it resolves: extras and dependency groups of pyproject.toml, or the ``.in``
    file of its name when there are none.
    """

    name: str
    extras: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The lock file."""
        return ROOT / f"requirements-{self.name}.lock"

    @property
    def source(self) -> Path:
        """The file that holds the constraints."""
        return ROOT / ("pyproject.toml" if self.extras else f"requirements-{self.name}.in")

    def digest(self) -> str:
        """A digest of everything that decides what the lock contains, versions on the index aside."""
        if self.extras:
            tables = tomllib.loads((ROOT / "pyproject.toml").read_text())
            project = tables["project"]
            wanted = {*project["dependencies"]}
            wanted.update(line for extra in self.extras for line in of_extra(project, extra))
            wanted.update(line for group in self.groups for line in of_group(tables["dependency-groups"], group))
            inputs = json.dumps([project["requires-python"], sorted(wanted)])
        else:
            inputs = self.source.read_text()
        return hashlib.sha256(f"{' '.join(COMPILE)}\n{inputs}".encode()).hexdigest()[:32]

    def is_current(self) -> bool:
        """Whether the lock was made from the inputs as they are now."""
        return self.path.exists() and self.path.read_text().startswith(f"{PREFIX}{self.digest()}\n")

    def write(self) -> None:
        """Resolve again, with the newest versions that the constraints allow."""
        chosen = [word for extra in self.extras for word in ("--extra", extra)]
        chosen += [word for group in self.groups for word in ("--group", group)]
        made = subprocess.run(
            [*COMPILE, "--upgrade", *chosen, self.source.name], cwd=ROOT, check=True, capture_output=True, text=True
        )
        self.path.write_text(f"{PREFIX}{self.digest()}\n{made.stdout}")


def of_extra(project: Mapping[str, Any], extra: str) -> list[str]:
    """What an extra asks for, through the extras that it names in turn."""
    found: list[str] = []
    for line in project["optional-dependencies"][extra]:
        own = re.fullmatch(rf"{project['name']}\[(.+)\]", line)
        found += [part for name in own[1].split(",") for part in of_extra(project, name)] if own else [line]
    return found


def of_group(groups: Mapping[str, list[Any]], group: str) -> list[str]:
    """What a dependency group asks for, through the groups that it includes in turn (PEP 735)."""
    found: list[str] = []
    for entry in groups[group]:
        found += [entry] if isinstance(entry, str) else of_group(groups, entry["include-group"])
    return found


LOCKS = (
    Lock("dev", extras=("client", "lambda"), groups=("dev",)),
    Lock("lambda", extras=("lambda",)),
    Lock("engine"),
    Lock("node"),
)


def main(words: list[str]) -> int:
    """Do what the one word says; answers the exit status."""
    if words == ["write"]:
        for lock in LOCKS:
            lock.write()
            print(f"{lock.path.name}: written")
        return 0
    if words == ["check"]:
        stale = [lock.path.name for lock in LOCKS if not lock.is_current()]
        print(f"stale: {', '.join(stale)}; run make lock" if stale else f"{len(LOCKS)} lock files are current")
        return 1 if stale else 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
