"""What is in the wheel and in the source distribution, and what they say about themselves."""

from __future__ import annotations

import tarfile
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

import turnlog
from tests.support.distributions import build
from tests.support.tree import LIBRARY, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("packaging")]

MODULES = {f"turnlog/{path.relative_to(LIBRARY).as_posix()}" for path in LIBRARY.rglob("*.py")}


def names(wheel: Path) -> set[str]:
    """The files of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_holds_the_library_and_its_metadata_only(wheel: Path) -> None:
    """Every module, the typing marker and the licence; no function, test or infrastructure."""
    found = names(wheel)

    assert {*MODULES, "turnlog/py.typed"} == {name for name in found if name.startswith("turnlog/")}
    assert all(name.startswith(("turnlog/", "turnlog-")) for name in found)
    assert any(name.endswith("/licenses/LICENSE") for name in found)


def test_the_wheels_metadata_says_what_a_user_may_ask_for(wheel: Path) -> None:
    """The extras are the published ones: what only this checkout needs is in dependency groups."""
    (place,) = [name for name in names(wheel) if name.endswith(".dist-info/METADATA")]
    with zipfile.ZipFile(wheel) as archive:
        told = HeaderParser().parsestr(archive.read(place).decode())

    assert ("turnlog", turnlog.__version__, ">=3.11") == (told["Name"], told["Version"], told["Requires-Python"])
    assert ("Apache-2.0", "LICENSE") == (told["License-Expression"], told["License-File"])
    assert ["aws", "client", "lambda"] == sorted(told.get_all("Provides-Extra", []))
    assert [] == [line for line in told.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert "Typing :: Typed" in told.get_all("Classifier", [])


def test_the_source_distribution_builds_the_same_wheel(sdist: Path, wheel: Path, tmp_path: Path) -> None:
    """It holds the library and what the build reads, nothing else of the checkout."""
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    beside = {"PKG-INFO", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", ".gitignore"}
    files = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    library = LIBRARY.relative_to(ROOT).as_posix()

    assert beside == {name for name in files if not name.startswith(f"{library}/")}
    again = build("wheel", tmp_path / "again", source)
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(again) as second:
        assert {name: first.read(name) for name in first.namelist()} == {
            name: second.read(name) for name in second.namelist()
        }
