"""``make fuzz``: tries the API that `make run` serves, with a token, without one, and with bytes that no client sends.

EXAMPLES=400    go deeper: cases for each operation, and the number of probes; 40 unless given
TIME=900        go longer: at least this many seconds of schemathesis with a token
SEED=7          go elsewhere; a run says its seed, and the same seed makes the same requests
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Final

from tests.fuzz import probes
from tests.fuzz.api import SEEDS_VARIABLE, Seed, Target, Told, sow
from tests.fuzz.ledger import Ledger, is_plain_id
from tests.fuzz.wire import Request, send
from tests.support.stack import LocalStack

ROOT: Final = Path(__file__).parents[2]
CONFIG: Final = Path(__file__).parent / "schemathesis.toml"
SEED: Final = 20260131
EXAMPLES: Final = 40
PROBES: Final = 20
"""Probes for each example: one costs a fortieth of what an example of every operation does."""

MOST_SHOWN: Final = 5


def main() -> int:
    """Start the stack, sow, try; the exit status is how many of the three parts found something."""
    seed, examples = int(os.environ.get("SEED") or SEED), int(os.environ.get("EXAMPLES") or EXAMPLES)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stack = LocalStack(folder / "stack")
        try:
            stack.start()
            target = Target(stack.ready["url"], stack.ready["token"])
            seeds = sow(target)
            parts = {
                "schemathesis with a token": schemathesis(folder, target, seeds, seed, examples, has_token=True),
                "schemathesis without a token": schemathesis(folder, target, seeds, seed, examples, has_token=False),
                "probes": probe(target, seeds, seed, examples * PROBES),
            }
        finally:
            stack.stop()
    print(f"\nseed {seed}, {examples} examples")
    for part, is_clean in parts.items():
        print(f"{'clean' if is_clean else 'FOUND SOMETHING':16}{part}")
    return sum(not is_clean for is_clean in parts.values())


def schemathesis(
    folder: Path, target: Target, seeds: tuple[Seed, ...], seed: int, examples: int, *, has_token: bool
) -> bool:
    """One run of schemathesis; whether it found nothing."""
    told = folder / "told.json"
    Told(target.url, target.token, has_token, seeds).write(told)
    words = ["--url", target.url, "--seed", str(seed), "--max-examples", str(examples)]
    if has_token:
        words += ["-H", f"Authorization: Bearer {target.token}"]
        words += ["--max-time", os.environ["TIME"]] if os.environ.get("TIME") else []
    else:
        # Hardly anything is answered, as it has to be: there is nothing to warn about, and no link to follow.
        words += ["--warnings", "off", "--phases", "examples,coverage,fuzzing"]
    print(f"\n----- with{'' if has_token else 'out'} a token\n", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "schemathesis.cli", "--config-file", CONFIG, "run", *words, "docs/openapi.json"],
        cwd=ROOT,
        env={**os.environ, SEEDS_VARIABLE: str(told)},
        check=False,
    )
    return done.returncode == 0


def probe(target: Target, seeds: tuple[Seed, ...], seed: int, count: int) -> bool:
    """Send the probes; whether every answer was as it has to be."""
    started, ledger, found = time.monotonic(), Ledger(target.read), 0
    for request in islice(probes.requests(seed, target.token, seeds), count):
        wrong = list(_wrong_with(target, ledger, request))
        if wrong and (found := found + 1) <= MOST_SHOWN:
            print("\n".join(["", *wrong, "", request.as_curl(target.url)]))
    print(f"\n----- {count} probes in {time.monotonic() - started:.0f} s, {found} with a wrong answer")
    return not found


def _wrong_with(target: Target, ledger: Ledger, request: Request) -> list[str]:
    session_id = request.target.split("?")[0].removeprefix("/v1/sessions/").split("/")[0]
    is_watched = request.method in ("POST", "PATCH", "DELETE") and is_plain_id(session_id)
    before = ledger.look(session_id) if is_watched else None
    exchange = send(target.url, request)
    return [*probes.wrong_with(exchange), *probes.wrong_after(exchange, ledger, before)]


if __name__ == "__main__":
    sys.exit(main())
