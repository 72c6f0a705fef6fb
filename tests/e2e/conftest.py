"""One stack for all end-to-end tests: a start takes half a minute."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.stack import LocalStack


@pytest.fixture(scope="session")
def one_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    stack = LocalStack(tmp_path_factory.mktemp("local-stack"))
    try:
        yield stack
    finally:
        stack.stop()


@pytest.fixture
def stack(one_stack: LocalStack) -> LocalStack:
    """The stack, running, whatever the test before did to it."""
    if not one_stack.is_running:
        one_stack.start()
    return one_stack


@pytest.fixture
def checkout(stack: LocalStack, tmp_path: Path) -> Path:
    """A folder in which `make run` seems to be running: its `.turnlog` is that of the stack."""
    (tmp_path / ".turnlog").symlink_to(stack.home.path)
    return tmp_path
