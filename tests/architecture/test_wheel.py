"""The wheel: what a user gets from the index, without this checkout and without development dependencies."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.support.tree import LIBRARY, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built once."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, installed alone. It is pure Python, so unpacking it is all that an installer does."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def requirements(dist: Distribution, extras: Iterable[str]) -> Iterator[Distribution]:
    """The installed distributions that ``dist`` needs with these extras, and what they need in turn."""
    for requirement in map(Requirement, dist.requires or ()):
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            needed = distribution(requirement.name)
            if needed.name != "turnlog":
                yield needed
            yield from requirements(needed, requirement.extras)


def place_extra(extra: str, folder: Path) -> None:
    """Copy what the extra brings, and nothing else, into ``folder``."""
    for needed in requirements(distribution("turnlog"), [extra]):
        for file in needed.files or ():
            source = Path(str(needed.locate_file(file)))
            if ".." not in file.parts and source.suffix != ".pyc" and source.is_file():
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, folder / file)


def run_alone(code: str, *path: Path) -> subprocess.CompletedProcess[str]:
    """Run ``code`` with the standard library and the given folders on the path."""
    setup = f"import sys; sys.path[:0] = {[str(folder) for folder in path]!r}\n"
    return subprocess.run([sys.executable, "-I", "-S", "-c", setup + code], capture_output=True, text=True, check=False)


def test_it_holds_the_library_and_its_metadata_only(wheel: Path) -> None:
    """Every module, the typing marker and the licence; no function, test or infrastructure."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())

    expected = {f"turnlog/{path.relative_to(LIBRARY).as_posix()}" for path in LIBRARY.rglob("*.py")}
    assert {*expected, "turnlog/py.typed"} == {name for name in names if name.startswith("turnlog/")}
    assert all(name.startswith(("turnlog/", "turnlog-")) for name in names)
    assert any(name.endswith("/licenses/LICENSE") for name in names)


def test_alone_it_gives_the_library_with_the_store_in_memory(installed: Path) -> None:
    """No extra: domain, service and the reference store run on the standard library."""
    answer = run_alone(
        "import turnlog, turnlog.service, turnlog.stores.memory, turnlog.domain.ports\nprint(turnlog.__version__)",
        installed,
    )

    assert (0, "") == (answer.returncode, answer.stderr)
    assert distribution("turnlog").version == answer.stdout.strip()


@pytest.mark.parametrize(
    ("extra", "module"), [("client", "turnlog.client"), ("aws", "turnlog.stores.dynamodb")], ids=["client", "aws"]
)
def test_an_extra_brings_what_its_module_needs(extra: str, module: str, installed: Path, tmp_path: Path) -> None:
    """Each extra alone is enough, and it is needed."""
    without = run_alone(f"import {module}", installed)
    place_extra(extra, tmp_path)
    with_it = run_alone(f"import {module}", installed, tmp_path)

    assert (0, "") == (with_it.returncode, with_it.stderr)
    assert "ModuleNotFoundError" in without.stderr, "the extra is not needed any more"
