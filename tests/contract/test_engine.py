"""The DynamoDB store keeps the contract on the local engine, races included."""

from typing import TYPE_CHECKING

import pytest

from tests.support.engine import dynamodb_client, s3_client
from turnlog.stores.dynamodb import connect
from turnlog.stores.dynamodb.direct import Credentials, DirectClient, Environment
from turnlog.testing.builders import START
from turnlog.testing.contract import ConcurrentContract, Make, SessionRepositoryContract

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client


@pytest.fixture(scope="module")
def clients(engine: str) -> "tuple[DynamoDBClient, S3Client]":
    """The clients of all tests: making them takes longer than most tests."""
    return dynamodb_client(engine), s3_client(engine)


@pytest.fixture(scope="module")
def direct(engine: str) -> DirectClient:
    """The client of Lambda's functions, on the engine."""
    place = Environment(f"{engine}/", "us-east-1", Credentials("testing", "testing", None))
    return DirectClient.connect(place, connect_timeout=5, read_timeout=30, attempts=3)


@pytest.mark.engine
class TestEngine(SessionRepositoryContract, ConcurrentContract):
    """All of it, over real requests."""

    @pytest.fixture
    def make(self, clients: "tuple[DynamoDBClient, S3Client]", engine_table: str, engine_bucket: str) -> Make:
        """Tenants of one new table and bucket."""
        dynamodb, s3 = clients
        return connect(engine_table, engine_bucket, client=dynamodb, make_s3=lambda: s3, clock=lambda: START)


@pytest.mark.engine
class TestEngineDirect(SessionRepositoryContract, ConcurrentContract):
    """The same with the client that Lambda's functions use."""

    @pytest.fixture
    def make(
        self,
        direct: DirectClient,
        clients: "tuple[DynamoDBClient, S3Client]",
        engine_table: str,
        engine_bucket: str,
    ) -> Make:
        """Tenants of one new table and bucket."""
        return connect(engine_table, engine_bucket, client=direct, make_s3=lambda: clients[1], clock=lambda: START)
