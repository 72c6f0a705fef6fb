"""Sessions in one DynamoDB table, large bodies in S3: the only place that knows either.

``connect(table, bucket)`` makes what the functions use: a repository for each tenant, over one
client and one cache.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from ...domain.instant import Instant
from ...domain.ports import TokenCounter
from .aws import DynamoDBRim
from .blobs import S3BlobStore
from .direct import DirectClient, environment_of
from .idblocks import IdBlocks
from .pacing import Pacing
from .repository import DynamoDBSessionRepository

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client

CONNECT_TIMEOUT_SECONDS: Final = 2
READ_TIMEOUT_SECONDS: Final = 5
SDK_ATTEMPTS: Final = 3


def now() -> Instant:
    """The wall clock, in whole milliseconds."""
    return Instant.of_ms(time.time_ns() // 1_000_000)


def connect(
    table: str,
    bucket: str,
    *,
    client: DynamoDBClient | DirectClient | None = None,
    make_s3: Callable[[], S3Client] | None = None,
    counter: TokenCounter | None = None,
    pacing: Pacing | None = None,
    clock: Callable[[], Instant] = now,
    **client_arguments: Any,
) -> Callable[[str], DynamoDBSessionRepository]:
    """A factory of repositories, one for each tenant.

    Args:
        table: the table's name (DESIGN 4; ``infra`` makes it).
        bucket: where bodies above the item threshold lie.
        client: a DynamoDB client of botocore's or boto3's. Without one it is made here: with
            ``client_arguments`` (``endpoint_url``, ``region_name`` …) a botocore client, in
            Lambda's plain case a :class:`~turnlog.stores.dynamodb.direct.DirectClient`.
        make_s3: makes the S3 client when the first large body is met.
        counter: counts the tokens of the running totals.
        pacing: waits and deadlines, for tests.
        clock: where ends of lives take their time from.
    """

    @cache
    def session() -> Any:
        # Not boto3: its session is one of these, and its resources and transfers are a tenth of a cold start.
        from botocore.session import Session  # noqa: PLC0415  (Lambda's plain case needs it for S3 alone)

        return Session()

    def make(service: str) -> Any:
        from botocore.config import Config  # noqa: PLC0415  (as above)

        config = Config(
            connect_timeout=CONNECT_TIMEOUT_SECONDS,
            read_timeout=READ_TIMEOUT_SECONDS,
            retries={"mode": "standard", "total_max_attempts": SDK_ATTEMPTS},
        )
        return session().create_client(service, config=config, **client_arguments)

    def make_dynamodb() -> Any:
        plain = None if client_arguments else environment_of(os.environ)
        if plain is None:
            return make("dynamodb")
        return DirectClient.connect(
            plain, connect_timeout=CONNECT_TIMEOUT_SECONDS, read_timeout=READ_TIMEOUT_SECONDS, attempts=SDK_ATTEMPTS
        )

    rim = DynamoDBRim(client if client is not None else make_dynamodb(), table)
    blobs = S3BlobStore(make_s3 or (lambda: make("s3")), bucket)
    paced = pacing or Pacing()
    blocks = IdBlocks(rim, paced)

    def repository(tenant: str) -> DynamoDBSessionRepository:
        return DynamoDBSessionRepository(
            tenant, rim=rim, blobs=blobs, now=clock, counter=counter, pacing=paced, blocks=blocks
        )

    return repository


__all__ = ["DynamoDBSessionRepository", "Pacing", "connect"]
