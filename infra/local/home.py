"""The folder of one local stack: its state, its issuer and the file that says that it runs."""

import fcntl
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.local.engine import STOP_SECONDS
from infra.local.environments import CACHE

VARIABLE = "TURNLOG_HOME"
"""Moves the folder, so that a second stack (the end-to-end tests') can run beside the developer's."""


class AlreadyRunningError(Exception):
    """Another process runs the stack of this folder; the text says where."""


@dataclass(frozen=True, slots=True)
class Home:
    """Paths below the folder of one local stack."""

    path: Path

    @classmethod
    def chosen(cls) -> "Home":
        """`.turnlog` of the checkout, or what the variable `TURNLOG_HOME` names."""
        return cls(Path(os.environ.get(VARIABLE) or CACHE).absolute())

    @property
    def ready_file(self) -> Path:
        """`local.json`: there while the stack runs."""
        return self.path / "local.json"

    @property
    def header_file(self) -> Path:
        """The development token as an HTTP header, for `curl -H @file`; there while the stack runs."""
        return self.path / "authorization.header"

    @property
    def state(self) -> Path:
        """Table, objects and deployed stacks, as the engine keeps them."""
        return self.path / "state"

    @property
    def pump_log(self) -> Path:
        """What the stream pump has done since the last start: a line for each invocation."""
        return self.path / "pump.log"

    @property
    def issuer(self) -> Path:
        """The key that signs tokens, and the address that the key is published at."""
        return self.path / "issuer"

    @property
    def assembly(self) -> Path:
        """The synthesised CDK app of the local stage."""
        return self.path / "cdk.out"

    def read_ready_file(self) -> Mapping[str, Any] | None:
        """The content of `local.json`, or None when it is missing or torn."""
        try:
            content = json.loads(self.ready_file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return content if isinstance(content, dict) else None

    def write_ready(self, content: Mapping[str, Any]) -> None:
        """Say that the stack runs. Both files are readable by their owner only, and `local.json` comes last."""
        write_private(self.header_file, f"Authorization: Bearer {content['token']}\n")
        write_private(self.ready_file, json.dumps(content, indent=2) + "\n")

    def forget_ready(self) -> None:
        """Take back what `write_ready` said."""
        self.header_file.unlink(missing_ok=True)
        self.ready_file.unlink(missing_ok=True)

    @contextmanager
    def only_one(self, patience: float = STOP_SECONDS) -> Iterator[int]:
        """Be the one process that runs this stack; answers the descriptor of the lock.

        The system lifts the lock when every process that has the descriptor is gone, however they end. A run that
        is just ending is given `patience` seconds.

        Raises:
            AlreadyRunningError: another process runs it.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / "run.lock").open("w") as lock:
            deadline = time.monotonic() + patience
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if self._says_that_it_runs() or time.monotonic() > deadline:
                        raise AlreadyRunningError(self._where_it_runs()) from None
                    time.sleep(0.1)
            yield lock.fileno()

    def _says_that_it_runs(self) -> bool:
        """Whether `local.json` names a living process. After kill -9 it does not, and the engine is still saving."""
        ready = self.read_ready_file()
        try:
            os.kill(int((ready or {}).get("pid", 0)), 0)
        except (ProcessLookupError, ValueError, TypeError):
            return False
        except PermissionError:
            return True
        return ready is not None

    def _where_it_runs(self) -> str:
        ready = self.read_ready_file()
        if ready is None:
            return f"another make run is starting or ending with the data in {self.path}; wait for it, or stop it"
        return (
            f"make run is already running: {ready.get('url')} (process {ready.get('pid')}).\n"
            f"Stop it with Ctrl-C in its terminal or with: kill {ready.get('pid')}"
        )


def write_private(path: Path, content: str) -> None:
    """Write a file that only its owner may read, all at once: a reader sees the old content or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # created with mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(content)
        Path(unfinished).replace(path)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise
