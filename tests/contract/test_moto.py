"""The DynamoDB store keeps the contract on moto, in this process and from one thread."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from moto import mock_aws

from tests.support.engine import create_bucket, create_table, dynamodb_client, s3_client
from turnlog.stores.dynamodb import connect
from turnlog.testing.builders import START
from turnlog.testing.contract import Make, SessionRepositoryContract

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client

DYNAMODB = "https://dynamodb.us-east-1.amazonaws.com"
S3 = "https://s3.us-east-1.amazonaws.com"


@pytest.fixture(scope="module")
def clients() -> "Iterator[tuple[DynamoDBClient, S3Client]]":
    """The clients of all tests: making them takes longer than most tests."""
    with mock_aws():
        yield dynamodb_client(DYNAMODB), s3_client(S3)


class TestMoto(SessionRepositoryContract):
    """Without the races: moto does not claim to be safe for threads."""

    @pytest.fixture
    def make(self, clients: "tuple[DynamoDBClient, S3Client]") -> Make:
        """Tenants of one new table and bucket."""
        dynamodb, s3 = clients
        return connect(
            create_table(DYNAMODB), create_bucket(S3), client=dynamodb, make_s3=lambda: s3, clock=lambda: START
        )
