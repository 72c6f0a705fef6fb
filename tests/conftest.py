"""Fixtures for every test, and the guard that keeps a test session on this machine."""

from collections.abc import Iterator

import pytest

from tests.support.environment import isolate

isolate()
# Before any test module imports it: whichever is collected first decides.
pytest.register_assert_rewrite("tests.support.scripted")

# Only now: a module that makes a client when it is imported must find the guarded environment.
from infra.local.engine import Engine  # noqa: E402
from tests.support.engine import (  # noqa: E402
    Microburst,
    create_bucket,
    create_table,
    running_engine,
    running_microburst,
)


@pytest.fixture(scope="session")
def engine_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The one local engine of this test session (of this worker, under pytest-xdist)."""
    with running_engine(tmp_path_factory.mktemp("engine")) as engine:
        yield engine


@pytest.fixture(scope="session")
def engine(engine_process: Engine) -> str:
    """The endpoint URL of the local engine."""
    return engine_process.url


@pytest.fixture
def engine_table(engine: str) -> str:
    """The name of a new, empty table on the engine, keyed and indexed like the deployed one."""
    return create_table(engine)


@pytest.fixture
def engine_bucket(engine: str) -> str:
    """The name of a new, empty bucket on the engine."""
    return create_bucket(engine)


@pytest.fixture(scope="session")
def _microburst_process(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Microburst]:
    with running_microburst(engine, tmp_path_factory.mktemp("microburst")) as proxy:
        yield proxy


@pytest.fixture
def microburst(_microburst_process: Microburst) -> Iterator[Microburst]:
    """The fault-injecting proxy in front of the engine, without any rule; its `url` is an endpoint URL."""
    _microburst_process.clear()
    yield _microburst_process
    _microburst_process.clear()
