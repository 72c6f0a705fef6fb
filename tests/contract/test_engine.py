"""The DynamoDB store keeps the contract on the local engine, races included."""

import pytest

from turnlog.stores.dynamodb import connect
from turnlog.testing.builders import START
from turnlog.testing.contract import ConcurrentContract, Make, SessionRepositoryContract


@pytest.mark.engine
class TestEngine(SessionRepositoryContract, ConcurrentContract):
    """All of it, over real requests."""

    @pytest.fixture
    def make(self, engine: str, engine_table: str, engine_bucket: str) -> Make:
        """Tenants of one new table and bucket."""
        return connect(engine_table, engine_bucket, clock=lambda: START, endpoint_url=engine)
