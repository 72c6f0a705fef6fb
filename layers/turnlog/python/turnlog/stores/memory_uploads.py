"""The reference store of uploads: in memory, for tests and for reading.

It keeps what S3 keeps behind a presigned URL: a PUT has to come with exactly the headers that were
granted, before the URL ends, and with the content that they describe.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..domain.instant import Instant
from ..domain.session import StoredSession
from ..domain.uploads import URL_SECONDS, EventLink, StoredUpload, UploadGrant, UploadRef, UploadRequest

Key: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Served:
    """The bucket's answer to one HTTP request."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True)
class _Leave:
    """What one URL allows."""

    method: Literal["GET", "PUT"]
    key: Key
    expires_at: Instant
    headers: Mapping[str, str]


@dataclass(frozen=True)
class _Object:
    content: bytes
    media_type: str


class MemoryBucket:
    """What several stores share: the objects of every tenant, and the URLs that were given.

    A test serves the URLs through :meth:`serve`.

    Args:
        now: where time comes from, for the end of URLs.
        base_url: what every URL begins with.
    """

    def __init__(self, now: Callable[[], Instant], *, base_url: str = "https://uploads.example.com") -> None:
        self._now = now
        self._base_url = base_url
        self._lock = threading.Lock()
        self._objects: dict[Key, _Object] = {}
        self._leaves: dict[str, _Leave] = {}

    def give(self, method: Literal["GET", "PUT"], key: Key, headers: Mapping[str, str]) -> tuple[str, Instant]:
        """A URL for one method on one object, and when it ends."""
        url = f"{self._base_url}/{secrets.token_urlsafe(16)}"
        leave = _Leave(method, key, self._now().plus_seconds(URL_SECONDS), headers)
        with self._lock:
            self._leaves[url] = leave
        return url, leave.expires_at

    def write(self, key: Key, content: bytes, media_type: str) -> None:
        """Put an object."""
        with self._lock:
            self._objects[key] = _Object(content, media_type)

    def look(self, key: Key) -> tuple[int, str] | None:
        """The length and the type of an object; None when there is none."""
        with self._lock:
            found = self._objects.get(key)
        return None if found is None else (len(found.content), found.media_type)

    def keys(self) -> set[Key]:
        """The keys of all objects."""
        with self._lock:
            return set(self._objects)

    def serve(self, method: str, url: str, headers: Mapping[str, str] | None = None, content: bytes = b"") -> Served:
        """One HTTP request: 200, 400 for content that is not what the headers say, 403 for whatever
        the URL does not allow, 404 for an object that is not there."""
        with self._lock:
            leave = self._leaves.get(url)
            if leave is None or leave.method != method or self._now() >= leave.expires_at:
                return _refused(403)
            if method == "PUT":
                return self._put(leave, {name.lower(): value for name, value in (headers or {}).items()}, content)
            found = self._objects.get(leave.key)
        if found is None:
            return _refused(404)
        return Served(200, {"content-type": found.media_type, "content-disposition": "attachment"}, found.content)

    def _put(self, leave: _Leave, headers: Mapping[str, str], content: bytes) -> Served:
        if any(headers.get(name) != value for name, value in leave.headers.items()):
            return _refused(403)
        if len(content) != int(headers["content-length"]) or _checksum(content) != headers["x-amz-checksum-sha256"]:
            return _refused(400)
        self._objects[leave.key] = _Object(content, headers["content-type"])
        return Served(200, {}, b"")


class InMemoryUploadStore:
    """A :class:`~turnlog.domain.ports.UploadStore` of one tenant.

    Args:
        tenant: whose uploads these are.
        bucket: where they lie; stores of several tenants may share one.
    """

    def __init__(self, tenant: str, *, bucket: MemoryBucket) -> None:
        self._tenant = tenant
        self._bucket = bucket

    def grant(self, session: StoredSession, request: UploadRequest) -> UploadGrant:
        """Leave for one PUT, or for the same one again."""
        headers = {
            "content-length": str(request.size),
            "content-type": request.media_type,
            "x-amz-checksum-sha256": base64.b64encode(bytes.fromhex(request.sha256)).decode(),
        }
        url, expires_at = self._bucket.give("PUT", self._key("upload", session, request.sha256), headers)
        return UploadGrant(UploadRef.of(session, request.sha256), url, headers, expires_at)

    def find(self, session: StoredSession, ref: UploadRef) -> StoredUpload | None:
        """What has been uploaded; None when nothing has, and for a ref of another life."""
        key = self._key("upload", session, ref.sha256)
        found = self._bucket.look(key) if ref.is_of(session) else None
        if found is None:
            return None
        size, media_type = found
        url, expires_at = self._bucket.give("GET", key, {})
        return StoredUpload(ref, media_type, size, url, expires_at)

    def link(self, session: StoredSession, text: str) -> EventLink:
        """A copy of the text, and where to read it."""
        content = text.encode()
        key = self._key("link", session, hashlib.sha256(content).hexdigest())
        self._bucket.write(key, content, "application/json")
        url, _ = self._bucket.give("GET", key, {})
        return EventLink.to(url, content)

    def _key(self, kind: str, session: StoredSession, sha256: str) -> Key:
        return (kind, self._tenant, session.id, str(session.version.inc), sha256)


def _checksum(content: bytes) -> str:
    return base64.b64encode(hashlib.sha256(content).digest()).decode()


def _refused(status: int) -> Served:
    return Served(status, {"content-type": "application/xml"}, b"<Error/>")
