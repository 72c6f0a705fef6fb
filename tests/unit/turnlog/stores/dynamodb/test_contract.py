"""The scripted table keeps the contract when nothing goes wrong: what it injects is what differs."""

import pytest

from tests.support.scripted.process import Process, World
from turnlog.testing.contract import Make, SessionRepositoryContract


class TestScripted(SessionRepositoryContract):
    """In pages of three rows, so that every walk has seams."""

    @pytest.fixture
    def make(self) -> Make:
        """Tenants of one table."""
        world = World(page_rows=3)
        return lambda tenant: Process(world, tenant=tenant).repository
