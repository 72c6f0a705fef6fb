"""The first file that anybody runs: it must speak clearly on any Python, and find a better one."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from infra.local import bootstrap


@pytest.fixture
def old_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make this process look like an old Python with nothing on its PATH but the folder that is answered."""
    monkeypatch.setattr(sys, "version_info", (3, 9, 2, "final", 0))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(bootstrap.GUARD, raising=False)
    return tmp_path


def program(path: Path, script: str) -> Path:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def replaced(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Records what this process would have become."""
    calls: list[list[str]] = []

    def become(path: str, words: list[str]) -> None:
        calls.append(words)
        raise SystemExit

    monkeypatch.setattr("os.execv", become)
    monkeypatch.setattr(sys, "argv", ["bootstrap.py", "run"])
    return calls


def test_a_new_enough_python_goes_on(replaced: list[list[str]]) -> None:
    bootstrap.use_newer_python()
    assert replaced == []


def test_an_old_python_without_a_newer_one_says_what_to_do(old_python: Path) -> None:
    with pytest.raises(SystemExit, match=r"needs Python 3\.11 or newer; this is Python 3\.9"):
        bootstrap.use_newer_python()


def test_the_newest_python_that_works_takes_over(old_python: Path, replaced: list[list[str]]) -> None:
    """A version manager's shim may stand for a version that it does not have."""
    program(old_python / "python3.13", "exit 127")
    program(old_python / "python3.12", "exit 0")
    program(old_python / "python3.11", "exit 0")
    with pytest.raises(SystemExit):
        bootstrap.use_newer_python()
    assert replaced == [[str(old_python / "python3.12"), bootstrap.__file__, "run"]]


def test_it_is_not_tried_for_ever(old_python: Path, replaced: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """A `python3.12` that is an old Python in truth would start itself again and again."""
    program(old_python / "python3.12", "exit 0")
    monkeypatch.setenv(bootstrap.GUARD, "1")
    with pytest.raises(SystemExit, match="none of"):
        bootstrap.use_newer_python()
    assert replaced == []


def test_old_pythons_can_read_the_file() -> None:
    """It is parsed as Python 3.7's grammar would; whatever it imports at the top exists there as well."""
    source = Path(bootstrap.__file__).read_text()
    tree = ast.parse(source, feature_version=(3, 7))
    top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [alias.name for node in top for alias in node.names] == ["os", "sys"]


def test_it_needs_nothing_but_the_standard_library(tmp_path: Path) -> None:
    """-S -I: no site-packages, no project on the path, another folder."""
    done = subprocess.run(
        [sys.executable, "-S", "-I", bootstrap.__file__, "--help"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "run" in done.stdout


@pytest.mark.parametrize("words", [[], ["exec"], ["exec", "--"], ["dance"]])
def test_a_command_that_makes_no_sense_is_refused(words: list[str]) -> None:
    done = subprocess.run([sys.executable, bootstrap.__file__, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "error:" in done.stderr


def test_exec_keeps_the_process_and_the_exit_status() -> None:
    code = "import os, sys; print(os.getpid()); sys.exit(7)"
    with subprocess.Popen(
        [sys.executable, bootstrap.__file__, "exec", "--", "python", "-c", code], stdout=subprocess.PIPE, text=True
    ) as process:
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 7
    assert int(output) == process.pid


def test_exec_runs_inside_the_projects_environment() -> None:
    code = "import sys; print(sys.prefix)"
    done = subprocess.run(
        [sys.executable, bootstrap.__file__, "exec", "--", "python", "-c", code],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == str(Path(bootstrap.ROOT) / ".venv")
