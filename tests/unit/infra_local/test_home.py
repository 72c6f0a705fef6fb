"""The folder of a local stack: private files, and one process at a time."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from infra.local.environments import CACHE
from infra.local.home import VARIABLE, AlreadyRunningError, Home, write_private


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


READY = {"url": "http://127.0.0.1:1/x", "token": "t", "pid": os.getpid()}


def test_the_folder_is_the_checkouts_own_unless_a_variable_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert Home.chosen().path == CACHE
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert Home.chosen().path == tmp_path


def test_a_private_file_is_never_readable_by_others(tmp_path: Path) -> None:
    path = tmp_path / "new" / "secret"
    previous = os.umask(0)
    try:
        write_private(path, "one")
        write_private(path, "two")
    finally:
        os.umask(previous)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() == "two"
    assert list(path.parent.iterdir()) == [path]


def test_a_failed_write_leaves_the_old_content_and_no_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret"
    write_private(path, "old")

    def fail(self: Path, target: Path) -> Path:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_private(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("content", [None, "", "{torn", "[]"])
def test_a_missing_or_torn_ready_file_is_none(home: Home, content: str | None) -> None:
    if content is not None:
        write_private(home.ready_file, content)
    assert home.read_ready_file() is None


def test_what_was_announced_is_taken_back(home: Home) -> None:
    home.write_ready(READY)
    assert home.read_ready_file() == READY
    assert home.header_file.read_text() == "Authorization: Bearer t\n"
    home.forget_ready()
    home.forget_ready()
    assert list(home.path.iterdir()) == []


def test_a_second_process_is_told_where_the_first_one_runs(home: Home) -> None:
    with home.only_one():
        home.write_ready(READY)
        with pytest.raises(AlreadyRunningError, match=rf"(?s){READY['url']}.*process {READY['pid']}"), home.only_one():
            pass


def test_a_second_process_that_comes_during_the_start_is_told_so(home: Home) -> None:
    with home.only_one(), pytest.raises(AlreadyRunningError, match="starting"), home.only_one(patience=0):
        pass


def test_the_lock_lasts_as_long_as_a_child_that_inherited_it(home: Home) -> None:
    """After kill -9 of the runner its engine is still saving."""
    with home.only_one() as lock:
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[lock])
    with child:
        with pytest.raises(AlreadyRunningError), home.only_one(patience=0.2):
            pass
        child.communicate(b"\n")
    with home.only_one(patience=0):
        pass


def test_a_start_waits_for_a_dead_run_that_is_still_saving(home: Home) -> None:
    """The dead process in `local.json` must not pass for a running one."""
    with home.only_one() as lock:
        saving = "import time; time.sleep(0.5)"
        child = subprocess.Popen([sys.executable, "-c", saving], pass_fds=[lock])
    home.write_ready({**READY, "pid": dead_process()})
    with child, home.only_one(patience=30):
        pass


def dead_process() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_the_lock_is_free_again_afterwards(home: Home) -> None:
    for _ in range(2):
        with home.only_one(patience=0):
            pass
