"""Drives `make run` from the outside: start it, read what it says, call it over HTTP, send it signals."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from infra.local.engine import free_port
from infra.local.environments import ROOT
from infra.local.home import Home
from infra.local.issuer import Issuer
from tests.support.environment import ORIGINAL

START_SECONDS = 300.0
STOP_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What an HTTP call came back with."""

    status: int
    body: Any


class LocalStack:
    """`make run` with a state folder and a port of its own, beside whatever the developer runs."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.home = Home(folder / "home")
        self.port = free_port()
        self._output = folder / "output.txt"
        self._process: subprocess.Popen[bytes] | None = None

    def environment(self, **variables: str) -> dict[str, str]:
        """The shell's own environment, as a user has it, with this stack's folder and port."""
        unwanted = ("FRESH", "PORT", "TENANT", "USER")
        kept = {name: value for name, value in ORIGINAL.items() if name not in unwanted}
        return {**kept, "TURNLOG_HOME": str(self.home.path), "PORT": str(self.port), **variables}

    def start(self, **variables: str) -> None:
        """Start it and wait until it says that it is ready; `variables` as on make's command line."""
        self.stop()
        before = self.home.read_ready_file()
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "infra/local/bootstrap.py", "run"],
                cwd=ROOT,
                env=self.environment(**variables),
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while self.home.read_ready_file() in (None, before):
            status = self._process.poll()
            assert status is None, f"make run ended with status {status}:\n{self.output}"
            assert time.monotonic() < deadline, f"make run is not ready:\n{self.output}"
            time.sleep(0.05)

    def run_to_its_end(self, **variables: str) -> subprocess.CompletedProcess[str]:
        """Start it where it is expected to give up, and answer what it said."""
        return subprocess.run(
            [sys.executable, "infra/local/bootstrap.py", "run"],
            cwd=ROOT,
            env=self.environment(**variables),
            capture_output=True,
            text=True,
            timeout=STOP_SECONDS,
            check=False,
        )

    def signal(self, number: signal.Signals) -> int:
        """Send a signal to the process that `local.json` names and wait for the end of make run; its exit status."""
        os.kill(self.ready["pid"], number)
        return self.wait()

    def wait(self) -> int:
        """Wait for the end of make run; its exit status."""
        assert self._process is not None
        return self._process.wait(STOP_SECONDS)

    def stop(self) -> None:
        """End it if it runs."""
        if self.is_running and self._process is not None:
            self._process.terminate()
            self.wait()

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def ready(self) -> Mapping[str, Any]:
        """The content of `local.json`."""
        content = self.home.read_ready_file()
        assert content is not None
        return content

    @property
    def output(self) -> str:
        """Everything that make run has printed since its last start."""
        return self._output.read_text(errors="replace")

    @property
    def issuer(self) -> Issuer:
        """The stack's own issuer, to sign tokens of any kind with."""
        return Issuer.load(self.home)

    def call(self, method: str, path: str, *, token: str | None, body: Any = None) -> Answer:
        """One HTTP call of the API; no `token` means no Authorization header."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        with httpx.Client(trust_env=False, timeout=60) as client:
            answer = client.request(method, self.ready["url"] + path, headers=headers, json=body)
        return Answer(answer.status_code, json.loads(answer.text) if answer.text else None)
