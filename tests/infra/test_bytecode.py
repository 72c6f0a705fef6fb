"""Bytecode: valid whatever the file dates, and only from a Python that fits."""

import importlib.util
import marshal
import sys
from pathlib import Path

import pytest

from infra import bytecode
from infra.bundle import BundleError

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"


def _script(folder: Path, text: str) -> None:
    path = folder / "python3.99"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def _fresh_search() -> None:
    bytecode.find_interpreter.cache_clear()


def test_the_running_python_serves_its_own_version() -> None:
    found = bytecode.find_interpreter(HERE)
    assert bytecode.Interpreter(sys.executable, importlib.util.MAGIC_NUMBER.hex()) == found


@pytest.mark.usefixtures("_fresh_search")
@pytest.mark.parametrize(
    "script", ["exit 127", "echo cpython 3.98 aa /x", "echo pypy 3.99 aa /x", "echo", "echo cpython"], ids=str
)
def test_a_shim_or_another_python_under_the_name_is_not_taken(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _script(tmp_path, script)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert bytecode.find_interpreter("3.99") is None


@pytest.mark.usefixtures("_fresh_search")
def test_a_python_on_the_path_is_taken_when_it_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _script(tmp_path, "echo cpython 3.99 c0ffee /opt/python 3.99/bin/python")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert bytecode.Interpreter("/opt/python 3.99/bin/python", "c0ffee") == bytecode.find_interpreter("3.99")


@pytest.fixture
def interpreter() -> bytecode.Interpreter:
    found = bytecode.find_interpreter(HERE)
    assert found is not None
    return found


def test_bytecode_has_an_unchecked_hash_and_names_the_place_in_lambda(
    tmp_path: Path, interpreter: bytecode.Interpreter
) -> None:
    """Flags 0b01: by hash, and never compared with the source (PEP 552)."""
    source = tmp_path / "python" / "pkg" / "module.py"
    source.parent.mkdir(parents=True)
    source.write_text("x = 1\n")
    bytecode.compile_tree(interpreter, tmp_path, runs_at="/opt")
    data = Path(importlib.util.cache_from_source(str(source))).read_bytes()
    assert (importlib.util.MAGIC_NUMBER, 0b01) == (data[:4], int.from_bytes(data[4:8], "little"))
    assert "/opt/python/pkg/module.py" == marshal.loads(data[16:]).co_filename


def test_a_module_that_does_not_compile_stops_the_build(tmp_path: Path, interpreter: bytecode.Interpreter) -> None:
    (tmp_path / "broken.py").write_text("def\n")
    with pytest.raises(BundleError, match=r"(?s)bytecode for /opt: .*broken\.py"):
        bytecode.compile_tree(interpreter, tmp_path, runs_at="/opt")
