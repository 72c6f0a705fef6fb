"""The upload stores keep the contract: the reference in memory, and S3 on the local engine with real requests."""

from collections.abc import Iterator, Mapping

import httpx
import pytest

from tests.support.engine import ROOT_KEY, s3_client
from turnlog.stores.dynamodb import S3UploadStore
from turnlog.stores.memory_uploads import InMemoryUploadStore, MemoryBucket
from turnlog.testing.builders import START
from turnlog.testing.contract import MakeUploads, Send, UploadStoreContract


class TestMemory(UploadStoreContract):
    """The reference store, whose bucket keeps what a signature binds."""

    @pytest.fixture
    def bucket(self) -> MemoryBucket:
        """An empty bucket."""
        return MemoryBucket(lambda: START)

    @pytest.fixture
    def make(self, bucket: MemoryBucket) -> MakeUploads:
        """Tenants of one bucket."""
        return lambda tenant: InMemoryUploadStore(tenant, bucket=bucket)

    @pytest.fixture
    def send(self, bucket: MemoryBucket) -> Send:
        """The bucket answers."""

        def send(
            method: str, url: str, headers: Mapping[str, str], content: bytes
        ) -> tuple[int, Mapping[str, str], bytes]:
            served = bucket.serve(method, url, headers, content)
            return served.status, served.headers, served.content

        return send


@pytest.mark.engine
class TestEngine(UploadStoreContract):
    """S3 with real requests. The engine checks the signatures of presigned URLs against its own root's keys."""

    @pytest.fixture
    def make(self, engine: str, engine_bucket: str) -> MakeUploads:
        """Tenants of one new bucket."""
        client = s3_client(engine, access_key=ROOT_KEY)
        return lambda tenant: S3UploadStore(tenant, make_client=lambda: client, bucket=engine_bucket)

    @pytest.fixture
    def send(self) -> Iterator[Send]:
        """A plain HTTP client."""
        with httpx.Client(trust_env=False) as client:

            def send(
                method: str, url: str, headers: Mapping[str, str], content: bytes
            ) -> tuple[int, Mapping[str, str], bytes]:
                answer = client.request(method, url, headers=dict(headers), content=content)
                return answer.status_code, {k.lower(): v for k, v in answer.headers.items()}, answer.content

            yield send
