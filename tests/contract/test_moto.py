"""The DynamoDB store keeps the contract on moto, in this process and from one thread."""

from collections.abc import Iterator

import pytest
from moto import mock_aws

from tests.support.engine import create_bucket, create_table
from turnlog.stores.dynamodb import connect
from turnlog.testing.builders import START
from turnlog.testing.contract import Make, SessionRepositoryContract

DYNAMODB = "https://dynamodb.us-east-1.amazonaws.com"
S3 = "https://s3.us-east-1.amazonaws.com"


class TestMoto(SessionRepositoryContract):
    """Without the races: moto does not claim to be safe for threads."""

    @pytest.fixture
    def make(self) -> Iterator[Make]:
        """Tenants of one new table and bucket."""
        with mock_aws():
            yield connect(create_table(DYNAMODB), create_bucket(S3), clock=lambda: START)
