"""What the packages promise by name."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
from pathlib import Path
from types import ModuleType

import pytest

import turnlog
from tests.support.tree import LIBRARY


def modules() -> list[str]:
    """The name of every module of the library, read from the tree: nothing is imported while tests are collected."""
    places = [path.relative_to(LIBRARY.parent).with_suffix("") for path in sorted(LIBRARY.rglob("*.py"))]
    return [".".join(place.parts).removesuffix(".__init__") for place in places]


def public(module: ModuleType) -> list[str]:
    """What the module exports by ``__all__``."""
    return list(getattr(module, "__all__", ()))


@pytest.mark.parametrize("name", modules())
def test_every_exported_name_exists_once(name: str) -> None:
    """``from module import *`` gives what ``__all__`` says."""
    module = importlib.import_module(name)

    assert [] == [exported for exported in public(module) if not hasattr(module, exported)]
    assert len(set(public(module))) == len(public(module))


def test_the_package_says_its_version() -> None:
    """The same one as its metadata."""
    assert importlib.metadata.version("turnlog") == turnlog.__version__


@pytest.mark.parametrize("file", sorted(LIBRARY.rglob("*.py")), ids=lambda file: str(file.relative_to(LIBRARY)))
def test_every_module_of_the_library_says_what_it_is_for(file: Path) -> None:
    """The first statement of each is its docstring."""
    assert ast.get_docstring(ast.parse(file.read_text()))
