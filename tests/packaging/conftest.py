"""The distributions, built once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.distributions import build


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel."""
    return build("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution."""
    return build("sdist", tmp_path_factory.mktemp("sdist"))
