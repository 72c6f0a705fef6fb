"""The reference store keeps the contract that it is the reference of."""

import pytest

from turnlog.stores.memory import InMemorySessionRepository, MemoryDatabase
from turnlog.testing.contract import ConcurrentContract, Make, SessionRepositoryContract


class TestMemory(SessionRepositoryContract, ConcurrentContract):
    """All of it, races included; small batches, so that a walk has seams."""

    @pytest.fixture
    def make(self) -> Make:
        """Tenants of one database."""
        database = MemoryDatabase()
        return lambda tenant: InMemorySessionRepository(tenant, database=database, batch_size=7)
