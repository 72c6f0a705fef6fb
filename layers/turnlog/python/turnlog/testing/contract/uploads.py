"""The suite that any upload store must pass (DESIGN 5, uploads and links).

A store is finished when it inherits it::

    class TestMyStore(UploadStoreContract):
        @pytest.fixture
        def make(self):
            bucket = ...  # empty, or shared as long as tenants are new
            return lambda tenant: MyUploadStore(bucket, tenant)

        @pytest.fixture
        def send(self):
            return ...  # an HTTP client: (method, url, headers, content) -> (status, headers, content)
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from ...domain.ports import UploadStore
from ...domain.session import StoredSession, Version
from ...domain.uploads import UploadGrant, UploadRef, UploadRequest
from ..builders import a_session

MakeUploads = Callable[[str], UploadStore]
"""An upload store of the given tenant; tenants of one test share a bucket."""

Send = Callable[[str, str, Mapping[str, str], bytes], tuple[int, Mapping[str, str], bytes]]
"""One HTTP request: method, URL, headers, content; status, headers (lower case) and content."""

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
LIFE = 1_769_860_800_000


class UploadStoreContract:
    """The fixtures and the rules; a subclass gives ``make`` and ``send``."""

    @pytest.fixture
    def make(self) -> MakeUploads:
        """Stores over one bucket."""
        raise NotImplementedError("give a fixture `make`: tenant -> UploadStore")

    @pytest.fixture
    def send(self) -> Send:
        """Whatever answers the URLs of the store."""
        raise NotImplementedError(
            "give a fixture `send`: (method, url, headers, content) -> (status, headers, content)"
        )

    @pytest.fixture
    def store(self, make: MakeUploads) -> UploadStore:
        """One tenant's store, empty."""
        return make("acme")

    def test_what_is_put_is_found_and_comes_back(self, store: UploadStore, send: Send) -> None:
        grant = store.grant(a_life(), request_of(PNG, "image/png"))
        assert store.find(a_life(), grant.ref) is None
        assert put(send, grant, PNG) == 200

        found = store.find(a_life(), grant.ref)
        assert found is not None
        assert (found.ref, found.media_type, found.size) == (grant.ref, "image/png", len(PNG))
        status, headers, content = send("GET", found.url, {}, b"")
        assert (status, content) == (200, PNG)
        assert headers["content-type"] == "image/png"

    def test_the_ref_names_the_life_and_the_content(self, store: UploadStore) -> None:
        grant = store.grant(a_life(), request_of(PNG))
        assert grant.ref == UploadRef.of(a_life(), hashlib.sha256(PNG).hexdigest())
        assert store.grant(a_life(), request_of(PNG)).ref == grant.ref

    def test_the_headers_say_length_type_and_checksum(self, store: UploadStore) -> None:
        grant = store.grant(a_life(), request_of(b"hello", "text/plain; charset=utf-8"))
        assert grant.headers == {
            "content-length": "5",
            "content-type": "text/plain; charset=utf-8",
            "x-amz-checksum-sha256": "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=",
        }

    def test_other_content_is_refused(self, store: UploadStore, send: Send) -> None:
        grant = store.grant(a_life(), request_of(PNG))
        assert put(send, grant, PNG[:-1] + b"!") in range(400, 500)
        assert store.find(a_life(), grant.ref) is None

    @pytest.mark.parametrize(
        ("headers", "content"),
        [
            ({"content-length": str(len(PNG) + 1)}, PNG + b"!"),
            ({"content-type": "text/html"}, PNG),
            ({"content-type": "IMAGE/PNG"}, PNG),
            ({"content-type": None}, PNG),
            ({"x-amz-checksum-sha256": None}, PNG),
            ({"x-amz-checksum-sha256": base64.b64encode(hashlib.sha256(PNG[::-1]).digest()).decode()}, PNG[::-1]),
        ],
        ids=["longer", "another type", "another case", "no type", "no checksum", "another checksum"],
    )
    def test_a_put_with_other_headers_is_refused(
        self, store: UploadStore, send: Send, headers: Mapping[str, str | None], content: bytes
    ) -> None:
        grant = store.grant(a_life(), request_of(PNG))
        changed = {**grant.headers, **headers}
        sent = {name: value for name, value in changed.items() if value is not None}
        assert send("PUT", grant.url, sent, content)[0] == 403
        assert store.find(a_life(), grant.ref) is None

    def test_each_url_is_for_one_method(self, store: UploadStore, send: Send) -> None:
        grant = store.grant(a_life(), request_of(PNG))
        assert put(send, grant, PNG) == 200
        found = store.find(a_life(), grant.ref)
        assert found is not None
        assert send("GET", grant.url, {}, b"")[0] == 403
        assert send("PUT", found.url, grant.headers, PNG)[0] == 403
        assert send("DELETE", found.url, {}, b"")[0] == 403

    def test_the_same_content_twice_is_one_upload_with_the_last_type(self, store: UploadStore, send: Send) -> None:
        for media_type in ("image/png", "image/x-png"):
            assert put(send, store.grant(a_life(), request_of(PNG, media_type)), PNG) == 200
        found = store.find(a_life(), UploadRef.of(a_life(), hashlib.sha256(PNG).hexdigest()))
        assert found is not None
        assert found.media_type == "image/x-png"

    @pytest.mark.parametrize("session_id", ["other", "s/u", "S", "s ", "é"])
    def test_another_session_has_its_own_uploads(self, store: UploadStore, send: Send, session_id: str) -> None:
        grant = store.grant(a_life(), request_of(PNG))
        assert put(send, grant, PNG) == 200
        assert store.find(a_life(session_id), grant.ref) is None

    def test_another_life_has_its_own_uploads(self, store: UploadStore, send: Send) -> None:
        grant = store.grant(a_life(), request_of(PNG))
        assert put(send, grant, PNG) == 200
        later = a_life(inc=LIFE + 1)
        assert store.find(later, grant.ref) is None
        assert store.find(later, UploadRef.of(later, grant.ref.sha256)) is None

    def test_another_tenant_has_its_own_uploads(self, make: MakeUploads, send: Send) -> None:
        grant = make("acme").grant(a_life(), request_of(PNG))
        assert put(send, grant, PNG) == 200
        for tenant in ("globex", "acme/s", "acm", "Acme"):
            assert make(tenant).find(a_life(), grant.ref) is None

    def test_an_upload_is_served_as_an_attachment(self, store: UploadStore, send: Send) -> None:
        page = b"<script>alert(1)</script>"
        grant = store.grant(a_life(), request_of(page, "text/html"))
        assert put(send, grant, page) == 200
        found = store.find(a_life(), grant.ref)
        assert found is not None
        _, headers, _ = send("GET", found.url, {}, b"")
        assert headers["content-disposition"] == "attachment"

    def test_a_link_leads_to_exactly_the_text(self, store: UploadStore, send: Send) -> None:
        text = '{"role":"user","content":"漢\\u0000\\ud83d\\ude00 1e400"}'
        link = store.link(a_life(), text)
        status, headers, content = send("GET", link.url, {}, b"")
        assert (status, content) == (200, text.encode())
        assert (link.size, link.sha256) == (len(content), hashlib.sha256(content).hexdigest())
        assert (headers["content-type"], headers["content-disposition"]) == ("application/json", "attachment")

    def test_many_readers_of_one_link_all_get_it(self, store: UploadStore, send: Send) -> None:
        text = '{"role":"user","content":"' + "x" * 100_000 + '"}'

        def read(_: int) -> bytes:
            return send("GET", store.link(a_life(), text).url, {}, b"")[2]

        with ThreadPoolExecutor(4) as pool:
            assert set(pool.map(read, range(8))) == {text.encode()}

    def test_a_link_is_no_upload(self, store: UploadStore) -> None:
        link = store.link(a_life(), '{"role":"user","content":"x"}')
        assert store.find(a_life(), UploadRef.of(a_life(), link.sha256)) is None


def a_life(session_id: str = "s", inc: int = LIFE) -> StoredSession:
    """A session as the service hands it in."""
    return StoredSession(a_session(session_id), Version(inc, 0, 0))


def request_of(content: bytes, media_type: str = "image/png") -> UploadRequest:
    """The request to upload a content."""
    return UploadRequest(media_type, len(content), hashlib.sha256(content).hexdigest())


def put(send: Send, grant: UploadGrant, content: bytes) -> int:
    """The status of an upload."""
    return send("PUT", grant.url, grant.headers, content)[0]
