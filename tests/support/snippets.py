"""The code on a page, run as a reader would: block after block, in one shell and one interpreter.

A block that follows ``<!-- run: bash -->`` or ``<!-- run: python -->`` is run. A block that follows ``<!-- prints -->``
is what the block before it printed; in it ``...`` stands for anything.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MARKED = re.compile(
    r"^<!-- (run: (?P<language>bash|python)|prints) -->\n```\w+\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)
RUNNABLE = re.compile(r"^```(?:bash|sh|python)$", re.MULTILINE)
NOT_RUN = re.compile(r"^<!-- not run: .+ -->\n```(?:bash|sh|python)$", re.MULTILINE)
COMMANDS: Mapping[str, Sequence[str]] = {
    "bash": ("bash", "-eu", "-o", "pipefail"),
    "python": (sys.executable, "-"),
}
MARK = "\x1e"
"""Printed after each block; no page has it."""
SAY_MARK = {"bash": r"printf '\036\n'", "python": r"print('\x1e')"}
TIMEOUT_SECONDS = 120


@dataclass(frozen=True)
class Block:
    """One block that is run. ``prints`` is the output that the page shows, None when it shows none."""

    language: str
    code: str
    prints: str | None = None


def blocks(page: str) -> list[Block]:
    """The blocks of a page that are run, in order.

    Raises:
        ValueError: an output stands where nothing is run before it.
    """
    found: list[Block] = []
    for match in MARKED.finditer(page):
        language, code = match["language"], match["code"]
        if language:
            found.append(Block(language, code))
        elif not found or found[-1].prints is not None:
            raise ValueError(f"nothing is run that could print {code!r}")
        else:
            found[-1] = Block(found[-1].language, found[-1].code, code)
    return found


def unmarked(page: str) -> int:
    """How many blocks could be run but neither are nor say why not."""
    run = sum(match["language"] is not None for match in MARKED.finditer(page))
    return len(RUNNABLE.findall(page)) - run - len(NOT_RUN.findall(page))


def run(code: Sequence[Block], *, folder: Path, environment: Mapping[str, str]) -> list[str]:
    """Run blocks of one language one after another in one process; what each of them printed.

    Raises:
        AssertionError: the process fails or complains; the message has its output.
    """
    (language,) = {block.language for block in code}
    text = "".join(f"{block.code}\n{SAY_MARK[language]}\n" for block in code)
    done = subprocess.run(
        COMMANDS[language],
        input=text,
        cwd=folder,
        env=dict(environment),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert (0, "") == (done.returncode, done.stderr), f"{done.stderr}\n{done.stdout}"
    return done.stdout.split(f"{MARK}\n")[:-1]


def shows(shown: str, printed: str) -> bool:
    """Whether an output is the one that a page shows, with ``...`` for anything."""
    pattern = ".*".join(re.escape(part) for part in shown.strip().split("..."))
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None
