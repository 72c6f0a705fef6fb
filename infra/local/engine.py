"""The local engine as a child process: loopback only, in an environment of its own, stopped so that it saves.

The runner of `make run` and the test suite start it the same way. Facts about the engine: docs/local.md.
"""

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Self

HOST = "127.0.0.1"
LAUNCHER = Path(__file__).with_name("engine_launcher.py")
HEALTH = "/_ministack/health"
REGION = "us-east-1"
ACCOUNT = "000000000000"

START_SECONDS = 60.0
STOP_SECONDS = 30.0


# The engine's own words in its log; tests hold them against its behaviour.
READY = ("services available on port",)
FAILED_TO_LOAD = ("Persistence: failed to load", "Failed to restore persisted state", "refusing to load")
FAILED_TO_SAVE = ("Persistence: failed to save", "Persistence: error getting state")


class EngineError(Exception):
    """The engine did not start, or ended by itself; the text holds the end of its log."""


def free_port() -> int:
    """A port of the loopback interface that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(frozen=True, slots=True)
class EngineFolder:
    """Where one engine keeps its things. A `persistent` one loads its state on start and saves it on a normal stop."""

    path: Path
    persistent: bool

    @property
    def log(self) -> Path:
        """What the engine printed in its present life."""
        return self.path / "engine.log"

    def variables(self, port: int) -> dict[str, str]:
        """The engine's whole shell environment. Nothing of the caller's leaks in: functions would inherit it."""
        keep = "1" if self.persistent else "0"
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "HOME": str(self.path / "home"),
            "TMPDIR": str(self.path / "tmp"),
            "GATEWAY_PORT": str(port),
            "BIND_HOST": HOST,
            "MINISTACK_HOST": HOST,
            "MINISTACK_REGION": REGION,
            "MINISTACK_ACCOUNT_ID": ACCOUNT,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ACCOUNT_ID_ENDPOINT_MODE": "disabled",
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
            # A daemon of the user's is none of ours: the engine would look for containers to reclaim in it.
            "DOCKER_HOST": f"unix://{self.path / 'no-docker.sock'}",
            "PERSIST_STATE": keep,
            "STATE_DIR": str(self.path / "services"),
            "S3_PERSIST": keep,
            "S3_DATA_DIR": str(self.path / "s3"),
        }

    def prepare(self) -> None:
        """Make the folders that the engine expects; its temporary files of an earlier life go away."""
        for name in ("home", "tmp", "services", "s3"):
            (self.path / name).mkdir(parents=True, exist_ok=True)


class Engine:
    """One running engine process."""

    def __init__(self, process: "subprocess.Popen[bytes]", lifeline: IO[bytes], port: int, log: Path) -> None:
        self._process = process
        self._lifeline = lifeline
        self._log = log
        self.url = f"http://{HOST}:{port}"

    @classmethod
    def start(cls, python: Path, folder: EngineFolder, port: int, inherited: Sequence[int] = ()) -> Self:
        """Start the engine of the environment that `python` belongs to and wait until it answers.

        It keeps the `inherited` file descriptors open: a lock on its state lasts as long as it does.

        Raises:
            EngineError: it ended or did not answer within a minute.
        """
        folder.prepare()
        with folder.log.open("wb") as log:
            process = subprocess.Popen(
                [str(python), "-I", str(LAUNCHER)],
                env=folder.variables(port),
                cwd=folder.path,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=inherited,
                # Ctrl-C reaches a whole process group; the engine must get one orderly signal from its owner instead.
                start_new_session=True,
            )
        assert process.stdin is not None
        engine = cls(process, process.stdin, port, folder.log)
        try:
            engine._wait_until_healthy()
            engine._require_whole_state(folder)
        except BaseException:
            engine.kill()
            raise
        return engine

    @property
    def pid(self) -> int:
        """The engine's process id."""
        return self._process.pid

    def ended(self) -> int | None:
        """The exit status when the engine has ended by itself, else None."""
        return self._process.poll()

    def stop(self) -> int:
        """Ask the engine to save and end, wait for it, and answer its exit status; killed after half a minute."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
        finally:
            self._lifeline.close()

    def kill(self) -> None:
        """End the engine at once; nothing is saved."""
        self._process.kill()
        self._process.wait()
        self._lifeline.close()

    def failures_to_save(self) -> list[str]:
        """What a stopped engine says it could not save; empty when all is well."""
        return self._log_lines(FAILED_TO_SAVE)

    def tail(self, lines: int = 20) -> str:
        """The last lines of the engine's log."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-lines:])

    def _wait_until_healthy(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            status = self._process.poll()
            if status is not None:
                raise EngineError(f"the local engine ended with status {status} while starting:\n{self.tail()}")
            # An answer alone could come from another engine that has the port.
            if self._log_lines(READY) and _answers(self.url + HEALTH):
                return
            time.sleep(0.05)
        raise EngineError(f"the local engine did not answer within {START_SECONDS:.0f} s:\n{self.tail()}")

    def _require_whole_state(self, folder: EngineFolder) -> None:
        """The engine goes on without what it cannot read, and would overwrite it when it stops. Not with our data."""
        failures = self._log_lines(FAILED_TO_LOAD)
        if failures:
            raise EngineError(
                "the local engine cannot read the state of its last run:\n"
                + "\n".join(failures)
                + f"\nNothing was changed. Move {folder.path} away to keep it, or start with FRESH=1 to forget it."
            )

    def _log_lines(self, signs: tuple[str, ...]) -> list[str]:
        lines = self._log.read_text(errors="replace").splitlines()
        return [line for line in lines if any(sign in line for sign in signs)]


def _answers(url: str) -> bool:
    # No proxy is ever asked for a loopback address, whatever the shell says.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=5) as answer:
            json.load(answer)
    except (OSError, ValueError, urllib.error.URLError):
        return False
    return True
