"""The project's distributions, and clean environments that hold one of them with one extra."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.environment import ORIGINAL
from tests.support.tree import ROOT


@dataclass(frozen=True)
class Clean:
    """A virtual environment without pip, and how programs are run in it."""

    folder: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    def run(self, *words: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run the interpreter outside the checkout, with nothing of this session's environment but the PATH."""
        return subprocess.run(
            [self.python, *words],
            cwd=self.folder,
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **(environment or {})},
            capture_output=True,
            text=True,
            check=False,
        )

    def importable(self, *names: str) -> list[str]:
        """Those of the modules that can be found."""
        code = f"import importlib.util as u; print(*[n for n in {names!r} if u.find_spec(n)])"
        return self.run("-I", "-c", code).stdout.split()


def build(target: str, folder: Path, source: Path = ROOT) -> Path:
    """Build one distribution with the build backend of this environment."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (built,) = [path for path in folder.iterdir() if path.suffix in (".whl", ".gz")]
    return built


def install(place: Path, wheel: Path, extra: str, *, beside: tuple[str, ...] = ()) -> Clean:
    """A new environment with the wheel, one extra (or none) and what stands ``beside`` it.

    pip resolves what the wheel's own metadata asks for; the versions are those of the lock file.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    versions = place / "versions.txt"
    locked = (ROOT / "requirements-dev.lock").read_text().splitlines()
    versions.write_text("\n".join(line.rstrip(" \\") for line in locked if line[:1].isalnum()))
    clean = Clean(place)
    command = [sys.executable, "-m", "pip", "--python", str(clean.python), "install", "--quiet", "--no-input"]
    command += ["--no-compile", "--only-binary", ":all:", "--constraint", str(versions), *beside]
    environment = {name: value for name, value in ORIGINAL.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(
        [*command, f"{wheel}[{extra}]" if extra else str(wheel)],
        env={**environment, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    return clean
