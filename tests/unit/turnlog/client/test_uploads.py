"""Uploads, downloads, and messages that come as links."""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest

from tests.support.fake_api import TOKEN, URL, FakeApi, answer_lost, answered, request_lost, unreachable
from turnlog.client import (
    ClientError,
    ConnectionFailed,
    InvalidRequest,
    Session,
    SessionNotFound,
    TransferFailed,
    Upload,
    UploadNotFound,
    tool_result,
    user,
)

PICTURE = b"\x89PNG" + bytes(range(256)) * 3000
SHA256 = hashlib.sha256(PICTURE).hexdigest()


class Pipe(io.RawIOBase):
    """A file that cannot seek."""

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self._rest = content

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece, self._rest = self._rest[: min(len(buffer), 1000)], self._rest[min(len(buffer), 1000) :]
        buffer[: len(piece)] = piece
        return len(piece)


@pytest.fixture
def session(client: Any) -> Session:
    """A session that is there."""
    found: Session = client.session("s1")
    found.create()
    return found


def _sources(folder: Path) -> dict[str, Any]:
    path = folder / "picture.png"
    path.write_bytes(PICTURE)
    begun = io.BytesIO(b"skipped" + PICTURE)
    begun.seek(7)
    return {
        "bytes": PICTURE,
        "bytearray": bytearray(PICTURE),
        "path": path,
        "name": str(path),
        "file from where it stands": begun,
        "pipe": Pipe(PICTURE),
    }


@pytest.mark.parametrize("kind", ["bytes", "bytearray", "path", "name", "file from where it stands", "pipe"])
def test_whatever_it_comes_from_it_arrives_as_it_is(session: Session, api: FakeApi, tmp_path: Path, kind: str) -> None:
    """In bytes, by name or from a file; and can be read back."""
    upload = session.upload(_sources(tmp_path)[kind], media_type="image/png")

    assert ("image/png", len(PICTURE), SHA256) == (upload.media_type, upload.bytes, upload.sha256)
    assert PICTURE == session.read_upload(upload.ref)


def test_a_caller_s_own_file_stays_open(session: Session) -> None:
    """It belongs to somebody else."""
    file = io.BytesIO(PICTURE)
    session.upload(file, media_type="image/png")

    assert not file.closed


def test_a_message_names_an_upload(session: Session) -> None:
    """``user`` takes uploads beside the text; a block can carry a name for people."""
    upload = session.upload(PICTURE, media_type="image/png")
    session.append(user("Look at this", upload))

    (event,) = session.events()
    assert ({"type": "text", "text": "Look at this"}, upload.block()) == tuple(event.message.blocks)
    assert {"type": "media", "media_type": "image/png", "ref": upload.ref, "name": "cat.png"} == upload.block("cat.png")


def test_the_storage_sees_no_token_and_exactly_the_granted_headers(session: Session, api: FakeApi) -> None:
    """The URL itself is the permission; the fake storage refuses a token."""
    session.upload(PICTURE, media_type="image/png")

    (put,) = (request for request in api.requests if request.method == "PUT")
    assert "authorization" not in put.headers
    assert "transfer-encoding" not in put.headers
    assert (str(len(PICTURE)), "image/png") == (put.headers["content-length"], put.headers["content-type"])


@pytest.mark.parametrize("fault", [unreachable, answer_lost, request_lost, answered(503), answered(500)])
def test_a_failed_put_is_repeated_with_the_whole_content(
    session: Session, api: FakeApi, pauses: list[float], fault: Any
) -> None:
    """From the start of the content, after a pause."""
    api.fail(lambda request, serve: serve(), fault)
    upload = session.upload(io.BytesIO(PICTURE), media_type="image/png")

    assert PICTURE == session.read_upload(upload.ref)
    assert 1 == len(pauses)


def test_a_put_that_never_works_raises_what_happened(session: Session, api: FakeApi) -> None:
    """After as many attempts as any other call."""
    api.fail(lambda request, serve: serve(), *[unreachable] * 5)
    with pytest.raises(ConnectionFailed) as caught:
        session.upload(PICTURE, media_type="image/png")

    assert "?" not in str(caught.value), "a presigned URL is a secret while it lasts"


def test_an_ended_url_is_replaced_once(session: Session, api: FakeApi) -> None:
    """Five minutes are short for a large file on a slow line."""
    api.fail(lambda request, serve: serve(), answered(403, "<Error><Code>AccessDenied</Code></Error>"))
    upload = session.upload(PICTURE, media_type="image/png")

    assert PICTURE == session.read_upload(upload.ref)
    assert 2 == sum(request.url.path.endswith("/uploads") for request in api.requests)


def test_a_storage_that_refuses_twice_has_its_words_passed_on(session: Session, api: FakeApi) -> None:
    """It is not the URL, then."""
    no = answered(403, "<Error><Code>SignatureDoesNotMatch</Code></Error>")
    api.fail(lambda request, serve: serve(), no, lambda request, serve: serve(), no)
    with pytest.raises(TransferFailed, match="SignatureDoesNotMatch") as caught:
        session.upload(PICTURE, media_type="image/png")

    assert 403 == caught.value.status
    assert isinstance(caught.value, ClientError)


def test_a_file_that_changes_while_it_is_sent_is_not_stored(session: Session, tmp_path: Path, api: FakeApi) -> None:
    """Its checksum was taken before."""
    path = tmp_path / "log"
    path.write_bytes(PICTURE)

    def changed(request: httpx.Request, serve: Any) -> httpx.Response:
        path.write_bytes(PICTURE[::-1])
        answer: httpx.Response = serve()
        return answer

    api.fail(changed)
    with pytest.raises((TransferFailed, ConnectionFailed)):
        session.upload(path, media_type="image/png")
    with pytest.raises(UploadNotFound):
        session.read_upload("0-" + SHA256)


@pytest.mark.parametrize(
    ("source", "media_type", "pointer"), [(b"", "image/png", "/bytes"), (b"x", "picture", "/media_type")]
)
def test_what_the_api_refuses_is_pointed_at(session: Session, source: bytes, media_type: str, pointer: str) -> None:
    """Nothing is put then."""
    with pytest.raises(InvalidRequest) as caught:
        session.upload(source, media_type=media_type)
    assert [pointer] == [error.pointer for error in caught.value.errors]


def test_text_files_and_other_things_are_no_content(session: Session) -> None:
    """A type error, at once."""
    with pytest.raises(TypeError, match="rb"):
        session.upload(io.StringIO("text"), media_type="text/plain")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="int"):
        session.upload(5, media_type="text/plain")  # type: ignore[arg-type]


def test_a_file_that_has_nothing_at_the_moment_is_not_taken_for_an_empty_one(session: Session) -> None:
    """A non-blocking file answers None; half of a content is no content."""

    class NonBlocking(io.BytesIO):
        pieces: ClassVar = [b"part", None, b"rest", b""]

        def seekable(self) -> bool:
            return False

        def read(self, size: int | None = -1) -> Any:
            return self.pieces.pop(0)

    with pytest.raises(BlockingIOError):
        session.upload(NonBlocking(), media_type="image/png")


def test_what_has_no_end_is_refused_once_it_is_too_large(
    session: Session, api: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device, a pipe, or just a large file: it is not read to its end first."""
    monkeypatch.setattr("turnlog.client._sources.MAX_BYTES", 1_000_000)
    before = len(api.requests)
    sources: list[Any] = ["/dev/zero", Pipe(b"x" * 1_100_000)]
    for endless in sources:
        with pytest.raises(InvalidRequest) as caught:
            session.upload(endless, media_type="image/png")
        assert ["/bytes"] == [error.pointer for error in caught.value.errors]
    assert before == len(api.requests)


def test_a_file_that_becomes_shorter_while_it_is_sent_is_told(session: Session, tmp_path: Path, api: FakeApi) -> None:
    path = tmp_path / "log"
    path.write_bytes(PICTURE)

    def shorter(request: httpx.Request, serve: Any) -> httpx.Response:
        path.write_bytes(PICTURE[:10])
        answer: httpx.Response = serve()
        return answer

    api.fail(shorter)
    with pytest.raises(TransferFailed, match="shorter"):
        session.upload(path, media_type="image/png")


def test_an_upload_into_no_session_is_refused(client: Any) -> None:
    """Before anything is put."""
    with pytest.raises(SessionNotFound):
        client.session("none").upload(PICTURE, media_type="image/png")


# --------------------------------------------------------------------------- downloads


def test_a_download_appears_whole_under_its_name(session: Session, tmp_path: Path) -> None:
    """And replaces what was there."""
    upload = session.upload(PICTURE, media_type="image/png")
    target = tmp_path / "out.png"
    target.write_bytes(b"old")

    assert upload == session.download(upload.ref, target)
    assert PICTURE == target.read_bytes()
    assert [target] == list(tmp_path.iterdir())


def test_a_download_keeps_who_may_read_the_file_and_follows_a_link(session: Session, tmp_path: Path) -> None:
    """A private file stays private; a new one is what the umask says."""
    upload = session.upload(PICTURE, media_type="image/png")
    private, link, fresh = tmp_path / "private", tmp_path / "link", tmp_path / ("n" * 250)
    private.write_bytes(b"old")
    private.chmod(0o600)
    link.symlink_to(private)
    session.download(upload, link)
    session.download(upload, fresh)

    assert (PICTURE, 0o600, True) == (private.read_bytes(), private.stat().st_mode & 0o777, link.is_symlink())
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    assert plain.stat().st_mode == fresh.stat().st_mode


def test_what_is_no_regular_file_is_not_replaced(session: Session, api: FakeApi, tmp_path: Path) -> None:
    """Known before anything is fetched."""
    upload = session.upload(PICTURE, media_type="image/png")
    before = len(api.requests)
    os.mkfifo(tmp_path / "pipe")
    for target in (tmp_path, tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(OSError):
            session.download(upload, target)
    assert before == len(api.requests)


@pytest.mark.parametrize("status", [201, 203, 204, 206])
def test_any_answer_but_200_is_no_content(session: Session, api: FakeApi, tmp_path: Path, status: int) -> None:
    """A part of it, nothing, or what some proxy made of it."""
    upload = session.upload(PICTURE, media_type="image/png")
    target = tmp_path / "out.png"
    target.write_bytes(b"old")
    part = b"" if status == 204 else PICTURE[:7]
    odd = lambda request, serve: httpx.Response(status, content=part)  # noqa: E731
    for read in (lambda: session.download(upload.ref, target), lambda: session.read_upload(upload)):
        api.fail(lambda request, serve: serve(), odd)
        with pytest.raises(TransferFailed):
            read()
    assert b"old" == target.read_bytes()


def test_content_is_taken_as_it_is_stored_whatever_encoding_somebody_declared(session: Session, api: FakeApi) -> None:
    """Length and checksum are those of the stored bytes."""
    upload = session.upload(PICTURE, media_type="image/png")

    def declared(request: httpx.Request, serve: Any) -> httpx.Response:
        return httpx.Response(200, stream=httpx.ByteStream(PICTURE), headers={"content-encoding": "gzip"})

    api.fail(lambda request, serve: serve(), declared)
    assert PICTURE == session.read_upload(upload.ref)


@pytest.mark.parametrize("wrong", [PICTURE[:-1], PICTURE + b"x", b"x" * len(PICTURE)])
def test_a_download_that_is_not_what_was_stored_leaves_nothing(
    session: Session, api: FakeApi, tmp_path: Path, wrong: bytes
) -> None:
    """Too short, too long, or something else."""
    upload = session.upload(PICTURE, media_type="image/png")
    other = lambda request, serve: httpx.Response(200, content=wrong)  # noqa: E731
    api.fail(lambda request, serve: serve(), other)
    with pytest.raises(TransferFailed):
        session.download(upload.ref, tmp_path / "out.png")

    assert [] == list(tmp_path.iterdir())


def test_a_download_that_breaks_off_begins_again(session: Session, api: FakeApi, tmp_path: Path) -> None:
    """Not in the middle: what came before may not be what comes now."""
    upload = session.upload(PICTURE, media_type="image/png")

    def breaks(request: httpx.Request, serve: Any) -> httpx.Response:
        raise httpx.RemoteProtocolError("peer closed connection", request=request)

    api.fail(lambda request, serve: serve(), breaks)
    session.download(upload.ref, tmp_path / "out.png")
    assert PICTURE == (tmp_path / "out.png").read_bytes()


def test_an_unknown_ref_is_not_found(session: Session, tmp_path: Path) -> None:
    """The error names it; nothing is written."""
    ref = f"abc-{SHA256}"
    with pytest.raises(UploadNotFound) as caught:
        session.download(ref, tmp_path / "out.png")

    assert ("s1", ref) == (caught.value.session_id, caught.value.ref)
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("ref", ["", "..", "a/b", "x" * 200])
def test_what_is_no_ref_never_leaves(session: Session, api: FakeApi, ref: str) -> None:
    """A path is not walked by a ref."""
    before = len(api.requests)
    with pytest.raises(InvalidRequest):
        session.read_upload(ref)
    assert before == len(api.requests)


@pytest.mark.parametrize("url", ["http://[::1", "https://h:99x/", "", "ftp://h/x"])
def test_a_storage_address_that_is_none_is_told(session: Session, api: FakeApi, url: str) -> None:
    upload = session.upload(PICTURE, media_type="image/png")
    found = {"ref": upload.ref, "media_type": "image/png", "bytes": 1, "sha256": SHA256, "url": url}
    api.fail(answered(200, found))
    with pytest.raises(TransferFailed):
        session.read_upload(upload.ref)


def test_content_is_not_fetched_without_encryption_when_the_api_has_it(session: Session, api: FakeApi) -> None:
    """A downgraded address would show the content to anybody on the way."""
    upload = session.upload(PICTURE, media_type="image/png")
    found = {"ref": upload.ref, "media_type": "image/png", "bytes": 1, "sha256": SHA256, "url": "http://storage/x"}
    api.fail(answered(200, found))
    with pytest.raises(TransferFailed, match="not encrypted"):
        session.read_upload(upload.ref)


# --------------------------------------------------------------------------- links


def test_a_message_that_comes_as_a_link_is_fetched(session: Session, api: FakeApi) -> None:
    """In a listing and by id, the event looks like any other."""
    api.link_above = 100
    session.append(user("short"), user("long " * 100), tool_result("c", "x" * 500))

    texts = [event.message.raw for event in session.events()]
    assert [event.message.raw for event in api.log("s1")] == texts
    assert "long " * 100 == session.event(list(session.events())[1].id).message.text


@pytest.mark.parametrize("status", [403, 404])
def test_an_ended_link_is_replaced_by_reading_the_event_again(session: Session, api: FakeApi, status: int) -> None:
    """A page may lie around for longer than its links live."""
    api.link_above = 10
    session.append(user("long " * 100))
    api.fail(lambda request, serve: serve(), answered(status))

    (event,) = session.events()
    assert "long " * 100 == event.message.text


def test_links_that_never_work_raise(session: Session, api: FakeApi) -> None:
    """Not for ever."""
    api.link_above = 10
    session.append(user("long " * 100))
    serve = lambda request, serve: serve()  # noqa: E731
    api.fail(serve, answered(403), serve, answered(403))
    with pytest.raises(TransferFailed):
        list(session.events())


def test_a_linked_message_that_is_not_what_was_promised_is_refused(session: Session, api: FakeApi) -> None:
    """Its length and its hash stand in the answer."""
    api.link_above = 10
    session.append(user("long " * 100))
    api.fail(lambda request, serve: serve(), lambda request, serve: httpx.Response(200, content=b'{"role":"user"}'))
    with pytest.raises(TransferFailed):
        list(session.events())


def test_an_upload_is_a_value() -> None:
    """Equal when it says the same."""
    assert Upload("r", "a/b", 1, "x") == Upload("r", "a/b", 1, "x")
    assert TOKEN not in URL
