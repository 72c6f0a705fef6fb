"""Sessions in one DynamoDB table, large bodies and uploads in S3: the only place that knows either.

``connect(table, bucket)`` makes what the functions use: a repository and an upload store for each
tenant, over shared clients and one cache.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from ...domain.instant import Instant
from ...domain.ports import TokenCounter
from . import keys
from .aws import DynamoDBRim
from .blobs import S3BlobStore
from .direct import DirectClient, environment_of
from .idblocks import IdBlocks
from .pacing import Pacing
from .repository import DynamoDBSessionRepository
from .uploads import S3UploadStore

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client

    from ...compactor.jobs import PartStore
    from .pending import SessionPlace

CONNECT_TIMEOUT_SECONDS: Final = 2
READ_TIMEOUT_SECONDS: Final = 5
SDK_ATTEMPTS: Final = 3


def now() -> Instant:
    """The wall clock, in whole milliseconds."""
    return Instant.of_ms(time.time_ns() // 1_000_000)


class Connection:
    """One table and one bucket. Called with a tenant, it gives that tenant's repository."""

    def __init__(
        self,
        rim: DynamoDBRim,
        repository: Callable[[str], DynamoDBSessionRepository],
        uploads: Callable[[str], S3UploadStore],
        parts: Callable[[str], PartStore],
    ) -> None:
        self._rim = rim
        self._repository = repository
        self.uploads = uploads
        """Called with a tenant, it gives that tenant's uploads."""
        self.parts = parts
        """Called with a tenant, it gives the parts of that tenant's summaries."""

    def __call__(self, tenant: str) -> DynamoDBSessionRepository:
        """The tenant's repository."""
        return self._repository(tenant)

    @staticmethod
    def tenant_key(tenant: str) -> str:
        """The tenant as it stands in keys, which is all that a stream's record tells of it. Give it back
        as :func:`from_key`."""
        return keys.encode(tenant)

    def place_of(self, pk: str) -> SessionPlace | None:
        """The session of a partition of the table; None for another kind of partition."""
        from .pending import place_of  # noqa: PLC0415  (the API never asks)

        return place_of(self._rim, pk)

    def pending(self, now: Instant, *, limit: int) -> list[SessionPlace]:
        """Sessions whose attempt at a compaction was to be looked at by ``now``; see
        :class:`~turnlog.domain.passes.Attempt`."""
        from .pending import pending  # noqa: PLC0415  (the API never asks)

        return pending(self._rim, now, limit=limit)


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
) -> Connection:
    """What tenants' repositories and uploads are made by.

    Args:
        table: the table's name (DESIGN 4; ``infra`` makes it).
        bucket: where bodies above the item threshold, uploads and links' copies lie.
        client: a DynamoDB client of botocore's or boto3's. Without one it is made here: with
            ``client_arguments`` (``endpoint_url``, ``region_name`` …) a botocore client, in
            Lambda's plain case a :class:`~turnlog.stores.dynamodb.direct.DirectClient`.
        make_s3: makes the S3 client when the first request needs it; for uploads it has to sign
            with ``s3v4``.
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

        more: dict[str, Any] = {}
        if service == "s3":
            # Only s3v4 binds a presigned PUT to its headers, and only a virtual host is regional at
            # once; an engine on this machine has no names for buckets.
            style = "path" if _has_endpoint(client_arguments) else "virtual"
            more = {"signature_version": "s3v4", "s3": {"addressing_style": style}}
        config = Config(
            connect_timeout=CONNECT_TIMEOUT_SECONDS,
            read_timeout=READ_TIMEOUT_SECONDS,
            retries={"mode": "standard", "total_max_attempts": SDK_ATTEMPTS},
            **more,
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
    s3 = cache(make_s3 or (lambda: make("s3")))
    blobs = S3BlobStore(s3, bucket)
    paced = pacing or Pacing()
    blocks = IdBlocks(rim, paced)

    def repository(tenant: str) -> DynamoDBSessionRepository:
        return DynamoDBSessionRepository(
            tenant, rim=rim, blobs=blobs, now=clock, counter=counter, pacing=paced, blocks=blocks
        )

    def parts(tenant: str) -> PartStore:
        from .parts import S3PartStore  # noqa: PLC0415  (who writes summaries pays for it, not each cold start)

        return S3PartStore(tenant, blobs)

    return Connection(
        rim,
        repository,
        lambda tenant: S3UploadStore(tenant, make_client=s3, bucket=bucket),
        parts,
    )


def from_key(tenant_key: str) -> str:
    """A tenant that is known by its key only, for what takes a tenant."""
    return keys.Encoded(tenant_key)


def _has_endpoint(arguments: dict[str, Any]) -> bool:
    """Whether S3 is somewhere else than in AWS: the argument, or a variable of the SDKs."""
    named = arguments.get("endpoint_url") or os.environ.get("AWS_ENDPOINT_URL_S3")
    return bool(named or os.environ.get("AWS_ENDPOINT_URL"))


__all__ = [
    "Connection",
    "DynamoDBSessionRepository",
    "Pacing",
    "S3UploadStore",
    "connect",
    "from_key",
]
