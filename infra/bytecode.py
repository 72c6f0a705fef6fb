"""Bytecode that Lambda uses: compiled by the target's own Python, valid whatever the file dates.

An asset's files all carry one old date, so bytecode that records dates is read, refused and made
again at every cold start. Bytecode with an unchecked hash is used as it is, which makes imports
two to three times as fast.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from infra.bundle import BundleError


@dataclass(frozen=True)
class Interpreter:
    """A CPython that can compile: where it is, and the number that marks its bytecode."""

    path: str
    magic: str


_PROBE = (
    "import sys, importlib.util as u;"
    "print(sys.implementation.name, '%d.%d' % sys.version_info[:2], u.MAGIC_NUMBER.hex(), sys.executable)"
)


@cache
def find_interpreter(version: str) -> Interpreter | None:
    """A CPython of this ``major.minor``: the running one if it fits, else ``python<version>`` from
    the PATH; None when there is none.
    """
    for candidate in (sys.executable, shutil.which(f"python{version}")):
        found = _probe(candidate, version) if candidate else None
        if found:
            return found
    return None


def _probe(executable: str, version: str) -> Interpreter | None:
    """Ask an interpreter what it is: a name on the PATH may be a shim with nothing behind it."""
    asked = subprocess.run([executable, "-I", "-c", _PROBE], capture_output=True, text=True, check=False)  # noqa: S603 - our own words, no shell
    words = asked.stdout.strip().split(" ", 3)
    if asked.returncode != 0 or words[:2] != ["cpython", version]:
        return None
    return Interpreter(path=words[3], magic=words[2])


def compile_tree(interpreter: Interpreter, folder: Path, *, runs_at: str) -> None:
    """Put bytecode beside every module below ``folder``.

    ``runs_at`` is where Lambda will have the folder; tracebacks name it.

    Raises:
        BundleError: a module does not compile.
    """
    command = [interpreter.path, "-I", "-m", "compileall", "-q", "-f", "-j", "0"]
    command += ["--invalidation-mode", "unchecked-hash", "-s", str(folder), "-p", runs_at, str(folder)]
    # Sets of constants are written in hash order.
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)  # noqa: S603 - our own words, no shell
    if done.returncode != 0:
        raise BundleError(f"bytecode for {runs_at}: {done.stdout.strip() or done.stderr.strip()}")
