"""The reference store keeps the contract that it is the reference of."""

import sys
from collections.abc import Iterator

import pytest

from turnlog.stores.memory import InMemorySessionRepository, MemoryDatabase
from turnlog.testing.contract import ConcurrentContract, Make, SessionRepositoryContract


class _Memory:
    @pytest.fixture
    def make(self) -> Make:
        """Tenants of one database; small batches, so that a walk has seams."""
        database = MemoryDatabase()
        return lambda tenant: InMemorySessionRepository(tenant, database=database, batch_size=7)


class TestMemory(_Memory, SessionRepositoryContract):
    """What one caller sees."""


class TestMemoryRaces(_Memory, ConcurrentContract):
    """What many callers see, with threads that take turns as often as they can."""

    @pytest.fixture(autouse=True)
    def _take_turns(self) -> Iterator[None]:
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        yield
        sys.setswitchinterval(interval)
