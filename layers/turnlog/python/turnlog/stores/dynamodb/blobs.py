"""Bodies above the item threshold: S3 objects, written before the item that names them.

An object lies below its tenant, session and life, and is named by its commit, so that an append
that loses its slot leaves an object that no commit names; a lifecycle rule and the sweep remove it.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from ...domain.errors import CorruptLog
from .items import Blob
from .rim import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mypy_boto3_s3 import S3Client


class BlobStore(Protocol):
    """Where large bodies lie."""

    def put(self, key: str, data: bytes) -> Blob:
        """Write an object; the same key again overwrites it with the same content."""
        ...

    def get(self, blob: Blob) -> bytes:
        """Read an object back.

        Raises:
            CorruptLog: it is gone, or not what was written.
        """
        ...


def describe(key: str, data: bytes) -> Blob:
    """What an item says of its object."""
    return Blob(key, hashlib.sha256(data).digest(), len(data))


def verified(blob: Blob, data: bytes) -> bytes:
    """The data, if it is what the item says."""
    if hashlib.sha256(data).digest() != blob.hash:
        raise CorruptLog(f"The body {blob.key} is not what its commit says.")
    return data


class S3BlobStore:
    """Bodies in one bucket. The client is made when the first large body is met."""

    def __init__(self, make_client: Callable[[], S3Client], bucket: str) -> None:
        self._make_client = make_client
        self._bucket = bucket
        self._made: S3Client | None = None

    @property
    def _client(self) -> S3Client:
        if self._made is None:
            self._made = self._make_client()
        return self._made

    def put(self, key: str, data: bytes) -> Blob:
        """One PutObject request."""
        try:
            self._client.put_object(Bucket=self._bucket, Key=key, Body=data)
        except (ClientError, BotoCoreError) as error:
            raise translate(error) from error
        return describe(key, data)

    def get(self, blob: Blob) -> bytes:
        """One GetObject request."""
        try:
            data = self._client.get_object(Bucket=self._bucket, Key=blob.key)["Body"].read()
        except (ClientError, BotoCoreError) as error:
            code = code_of(error)
            if code in ("NoSuchKey", "404", "AccessDenied"):
                # Without s3:ListBucket, S3 says "denied" for an object that does not exist.
                raise CorruptLog(f"The body {blob.key} is gone, or may not be read.") from error
            raise translate(error) from error
        return verified(blob, data)


def _response(error: Exception) -> Mapping[str, Any]:
    """What S3 answered; a connection error has a ``response`` of None, or none at all."""
    return getattr(error, "response", None) or {}


def code_of(error: Exception) -> str:
    """S3's code of the error; "" when S3 was not reached."""
    return str(_response(error).get("Error", {}).get("Code", ""))


def translate(error: Exception) -> Exception:
    """What a refused call means to the store; anything that will not pass stays what it is."""
    status = _response(error).get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if isinstance(error, BotoCoreError) or status >= 500 or code_of(error) in ("SlowDown", "RequestTimeout"):
        return Unavailable(f"S3 is not available: {code_of(error) or type(error).__name__}")
    return error
