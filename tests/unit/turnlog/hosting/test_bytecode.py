"""What was compiled at a start: noticed whether it happened before the watch or during it."""

from __future__ import annotations

import importlib
import os
import py_compile
import sys
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from importlib.util import cache_from_source
from pathlib import Path
from py_compile import PycInvalidationMode as Mode

import pytest

from turnlog.hosting.bytecode import Watch, asset_roots


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path, in which Python writes no bytecode: as in Lambda."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def module(root: Path, name: str, mode: Mode | None) -> Path:
    """A module, with bytecode of a kind or without; answers the source's place."""
    source = root / f"{name}.py"
    source.write_text("x = 1\n")
    if mode is not None:
        py_compile.compile(str(source), invalidation_mode=mode, doraise=True)
    return source


def load(root: Path, *names: str) -> tuple[str, ...]:
    """What a watch over ``root`` reports after these imports."""
    importlib.invalidate_caches()
    with Watch([str(root)]) as watch:
        for name in names:
            importlib.import_module(name)
    return watch.compiled


@pytest.mark.parametrize("mode", list(Mode))
def test_a_module_from_bytecode_is_not_reported(root: Path, mode: Mode) -> None:
    """Whichever way its bytecode is held against the source."""
    module(root, "hosted_a", mode)

    assert () == load(root, "hosted_a")


def test_a_module_without_bytecode_is_reported_and_no_other(root: Path) -> None:
    """By its name."""
    module(root, "hosted_a", Mode.UNCHECKED_HASH)
    module(root, "hosted_b", None)
    module(root, "hosted_c", Mode.UNCHECKED_HASH)

    assert ("hosted_b",) == load(root, "hosted_a", "hosted_b", "hosted_c")


def test_bytecode_of_another_python_is_no_bytecode(root: Path) -> None:
    """Its magic number is not ours."""
    source = module(root, "hosted_a", Mode.UNCHECKED_HASH)
    compiled = Path(cache_from_source(str(source)))
    compiled.write_bytes(b"\0\0\r\n" + compiled.read_bytes()[4:])

    assert ("hosted_a",) == load(root, "hosted_a")


def test_bytecode_whose_date_is_not_the_sources_is_no_bytecode(root: Path) -> None:
    """What a zip file makes of ordinary bytecode."""
    source = module(root, "hosted_a", Mode.TIMESTAMP)
    os.utime(source, (315532800, 315532800))

    assert ("hosted_a",) == load(root, "hosted_a")


def test_a_module_elsewhere_is_nobodys_business(root: Path) -> None:
    """Only the assets are watched; a folder with the same beginning is another folder."""
    module(root, "hosted_a", None)
    importlib.invalidate_caches()
    with Watch([str(root / "assets"), str(root)[:-1]]) as watch:
        importlib.import_module("hosted_a")

    assert () == watch.compiled


@pytest.mark.parametrize("mode", [None, *Mode])
def test_a_module_loaded_before_the_watch_is_judged_by_its_file(root: Path, mode: Mode | None) -> None:
    """The handler's own packages come before anything of theirs can run."""
    module(root, "hosted_a", mode)
    importlib.invalidate_caches()
    importlib.import_module("hosted_a")

    assert (("hosted_a",) if mode is None else ()) == load(root)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"\0\0\r\n" + data[4:],  # another Python's
        lambda data: data[:7],  # cut off
        lambda data: data[:8] + bytes(8) + data[16:],  # neither the hash nor the date of the source
    ],
    ids=["magic", "short", "stale"],
)
@pytest.mark.parametrize("mode", [Mode.TIMESTAMP, Mode.CHECKED_HASH])
def test_a_file_that_python_would_not_take_counts_as_none(root: Path, mode: Mode, spoil: object) -> None:
    """For a module that was loaded before the watch."""
    source = module(root, "hosted_a", mode)
    importlib.invalidate_caches()
    importlib.import_module("hosted_a")
    compiled = Path(cache_from_source(str(source)))
    assert callable(spoil)
    compiled.write_bytes(spoil(compiled.read_bytes()))

    assert ("hosted_a",) == load(root)


def test_the_loader_is_as_it_was_afterwards(root: Path) -> None:
    """Also after an error, and when watches are nested."""
    before = SourceFileLoader.source_to_code
    (root / "hosted_a.py").write_text("1 / 0")
    outer, inner = Watch([str(root)]), Watch([str(root)])
    with pytest.raises(ZeroDivisionError), outer, inner:
        importlib.import_module("hosted_a")

    assert ("hosted_a",) == outer.compiled == inner.compiled
    assert before is SourceFileLoader.source_to_code
    assert "source_to_code" not in vars(SourceFileLoader)


def test_the_roots_are_the_functions_and_the_layers_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lambda says where the function is; where this package is, there is a layer."""
    monkeypatch.setenv("LAMBDA_TASK_ROOT", "/somewhere/task")
    library = Path(sys.modules["turnlog"].__file__ or "").parents[1]

    assert ("/somewhere/task", "/opt/python", str(library)) == asset_roots()
    monkeypatch.delenv("LAMBDA_TASK_ROOT")
    assert "/var/task" == asset_roots()[0]
