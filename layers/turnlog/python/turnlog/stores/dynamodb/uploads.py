"""Uploads and copies of large messages in S3, reached by presigned URLs.

Nothing passes through the function: a caller puts an upload, and gets an upload or a copy, at a
URL that is signed here (AWS Signature Version 4, query parameters). The signature of a PUT covers
length, type and checksum, so S3 itself refuses any other content. The signature of a GET covers
that the answer is an attachment: whatever type was uploaded, no browser shows it as a page.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import parse_qs, urlsplit

from botocore.exceptions import BotoCoreError, ClientError

from ...domain.instant import Instant
from ...domain.session import StoredSession
from ...domain.uploads import URL_SECONDS, EventLink, StoredUpload, UploadGrant, UploadRef, UploadRequest
from . import keys
from .blobs import code_of, translate

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

LINK_TYPE: Final = "application/json"
_MISSING: Final = ("403", "404")
"""HeadObject has no body to name an error in. Without s3:ListBucket, S3 says 403 for an object
that does not exist."""
_ATTACHMENT: Final = {"ResponseContentDisposition": "attachment"}


class Signed(NamedTuple):
    """A presigned URL, until when it works, and the headers that its signature covers."""

    url: str
    expires_at: Instant
    headers: frozenset[str]


class S3UploadStore:
    """A :class:`~turnlog.domain.ports.UploadStore` of one tenant in one bucket.

    Args:
        tenant: whose uploads these are.
        make_client: gives the S3 client, when the first request needs one. It has to sign with
            ``s3v4``, and must do so for the address at which callers reach the bucket.
        bucket: where uploads and copies lie.
    """

    def __init__(self, tenant: str, *, make_client: Callable[[], S3Client], bucket: str) -> None:
        self._tenant = tenant
        self._make_client = make_client
        self._bucket = bucket

    def grant(self, session: StoredSession, request: UploadRequest) -> UploadGrant:
        """A presigned PUT. No request is made."""
        checksum = base64.b64encode(bytes.fromhex(request.sha256)).decode()
        headers = {
            "content-length": str(request.size),
            "content-type": request.media_type,
            "x-amz-checksum-sha256": checksum,
        }
        signed = self._sign(
            "put_object",
            self._key(session, request.sha256),
            ContentLength=request.size,
            ContentType=request.media_type,
            ChecksumSHA256=checksum,
        )
        if not signed.headers >= headers.keys():
            raise RuntimeError(f"the S3 client signs {sorted(signed.headers)} only; give it signature_version='s3v4'")
        return UploadGrant(UploadRef.of(session, request.sha256), signed.url, headers, signed.expires_at)

    def find(self, session: StoredSession, ref: UploadRef) -> StoredUpload | None:
        """One HeadObject request, and a presigned GET."""
        if not ref.is_of(session):
            return None
        key = self._key(session, ref.sha256)
        try:
            found = self._make_client().head_object(Bucket=self._bucket, Key=key, ChecksumMode="ENABLED")
        except (ClientError, BotoCoreError) as error:
            if code_of(error) in _MISSING:
                return None
            raise translate(error) from error
        if _checksum_of(found) not in (None, ref.sha256):
            return None  # whoever may write to the bucket directly put something else here
        signed = self._sign("get_object", key, **_ATTACHMENT)
        return StoredUpload(ref, found["ContentType"], found["ContentLength"], signed.url, signed.expires_at)

    def link(self, session: StoredSession, text: str) -> EventLink:
        """One PutObject request, and a presigned GET.

        The copy is written each time, so that the lifecycle rule, which counts from the last
        write, never removes it before the URL ends.
        """
        content = text.encode()
        unsigned = EventLink.to("", content)
        key = keys.link_key(self._tenant, session.id, session.version.inc, unsigned.sha256)
        try:
            self._make_client().put_object(Bucket=self._bucket, Key=key, Body=content, ContentType=LINK_TYPE)
        except (ClientError, BotoCoreError) as error:
            raise translate(error) from error
        return EventLink(self._sign("get_object", key, **_ATTACHMENT).url, unsigned.size, unsigned.sha256)

    def _key(self, session: StoredSession, sha256: str) -> str:
        return keys.upload_key(self._tenant, session.id, session.version.inc, sha256)

    def _sign(self, operation: str, key: str, **parameters: Any) -> Signed:
        client = self._make_client()
        try:
            url = client.generate_presigned_url(
                operation, Params={"Bucket": self._bucket, "Key": key, **parameters}, ExpiresIn=URL_SECONDS
            )
        except BotoCoreError as error:
            raise translate(error) from error
        query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        if "X-Amz-SignedHeaders" not in query:
            return Signed(url, Instant.of_ms(0), frozenset())
        expires_at = Instant.parse(_rfc3339(query["X-Amz-Date"])).plus_seconds(int(query["X-Amz-Expires"]))
        ends = _end_of_credentials(client)
        return Signed(
            url,
            expires_at if ends is None else min(ends, expires_at),
            frozenset(query["X-Amz-SignedHeaders"].split(";")),
        )


def _checksum_of(found: Any) -> str | None:
    """The SHA-256 that S3 keeps of the object, in hex; None when it keeps none."""
    checksum = found.get("ChecksumSHA256")
    return None if checksum is None else base64.b64decode(checksum).hex()


def _rfc3339(amz_date: str) -> str:
    """``20260131T120000Z`` as RFC 3339."""
    return datetime.strptime(amz_date, "%Y%m%dT%H%M%S%z").isoformat()


def _end_of_credentials(client: S3Client) -> Instant | None:
    """When the credentials end that the client signs with; a URL ends with them (S3 user guide,
    "Download and upload objects with presigned URLs"). None when nobody has told: those that
    Lambda gives in its environment say nothing, and outlive the environment.

    botocore knows, but tells nobody in public; where it should move the attribute, we know less.
    """
    credentials = getattr(client, "_get_credentials", lambda: None)()
    ends = getattr(credentials, "_expiry_time", None)
    return Instant.parse(ends.isoformat()) if isinstance(ends, datetime) else None
