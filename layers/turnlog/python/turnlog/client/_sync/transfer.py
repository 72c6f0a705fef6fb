# Made from ../_async/transfer.py by .ci/unasync.py: change that one.
"""Uploads, downloads and links. The storage gets no token: the URL itself is the permission."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, TypeVar

import httpx

from .. import _calls as calls
from .._calls import Call
from .._http import lost
from .._models import EventLink, Upload, UploadGrant
from .._retry import Lost, Pacer, RetryBudget, RetryPolicy
from .._sources import Content
from .._transfer import Arriving, Reply, TransferAttempts, checked_storage_url, what_of
from ..errors import TransferFailed
from .files import pieces_of, written
from .io import Sleep, in_thread

T = TypeVar("T")
SAID_BYTES = 300


class Run(Protocol):
    """What makes a call, with its retries: the client behind a session."""

    def __call__(self, call: Call[T], /) -> T:
        """The call's value, or its error."""
        ...


class Transfers:
    """What goes past the API, to the storage and back."""

    def __init__(
        self,
        run: Run,
        http: httpx.Client,
        base: str,
        policy: RetryPolicy,
        budget: RetryBudget,
        sleep: Sleep,
    ) -> None:
        self._run = run
        self._http = http
        self._base = base
        self._policy = policy
        self._budget = budget
        self._sleep = sleep

    def upload(self, session_id: str, content: Content, media_type: str) -> Upload:
        """Ask for leave, and put the content."""

        def ask() -> UploadGrant:
            call = calls.create_upload(session_id, media_type=media_type, size=content.size, sha256=content.sha256)
            return self._run(call)

        grant = ask()
        attempts = self._attempts(f"the upload of {content.size} bytes")
        while True:
            step, seconds = attempts.judge(self._put(grant, content))
            if step == "done":
                return Upload(ref=grant.ref, media_type=media_type, bytes=content.size, sha256=content.sha256)
            if step == "new url":
                grant = ask()
            self._sleep(seconds)

    def download(self, session_id: str, ref: str, path: Path) -> Upload:
        """Write an upload to a file."""
        with written(path) as sink:

            def keep(pieces: Iterator[bytes]) -> None:
                in_thread(sink.restart)
                for piece in pieces:
                    in_thread(sink.write, piece)

            return self._fetched(session_id, ref, keep)

    def read(self, session_id: str, ref: str) -> bytes:
        """An upload in memory."""
        kept = _Kept()
        self._fetched(session_id, ref, kept.keep)
        return bytes(kept.content)

    def linked(self, link: EventLink) -> bytes | None:
        """The JSON of a linked message; None when the link has ended."""
        kept = _Kept()
        attempts = self._attempts(what_of(link))
        while True:
            arriving = Arriving(what_of(link), bytes=link.bytes, sha256=link.sha256)
            step, seconds = attempts.judge(self._get(link.url, arriving, kept.keep))
            if step == "done":
                return bytes(kept.content)
            if step == "new url":
                return None
            self._sleep(seconds)

    def linked_again(self, link: EventLink) -> bytes:
        """The same for a link that has just been made: if it has ended as well, the storage refuses."""
        text = self.linked(link)
        if text is None:
            raise TransferFailed(f"The storage refuses {what_of(link)}")
        return text

    def _fetched(self, session_id: str, ref: str, keep: Keep) -> Upload:
        found = self._run(calls.get_upload(session_id, ref))
        attempts = self._attempts(f"the download of {ref}")
        while True:
            arriving = Arriving(f"the download of {ref}", bytes=found.upload.bytes, sha256=found.upload.sha256)
            step, seconds = attempts.judge(self._get(found.url, arriving, keep))
            if step == "done":
                return found.upload
            if step == "new url":
                found = self._run(calls.get_upload(session_id, ref))
            self._sleep(seconds)

    def _put(self, grant: UploadGrant, content: Content) -> Reply | Lost:
        url = checked_storage_url(grant.url, self._base)
        try:
            answer = self._http.put(url, headers=dict(grant.headers), content=pieces_of(content))
        except httpx.RequestError as error:
            return lost(error, _place(url))
        return Reply(answer.status_code, answer.text[:SAID_BYTES])

    def _get(self, url: str, arriving: Arriving, keep: Keep) -> Reply | Lost:
        url = checked_storage_url(url, self._base)
        try:
            with self._http.stream("GET", url, headers={"Accept-Encoding": "identity"}) as answer:
                if answer.status_code != 200:
                    return Reply(answer.status_code, (answer.read())[:SAID_BYTES].decode(errors="replace"))
                keep(_checked(answer, arriving))
        except httpx.RequestError as error:
            return lost(error, _place(url))
        arriving.check()
        return Reply(200)

    def _attempts(self, what: str) -> TransferAttempts:
        return TransferAttempts(what, Pacer(self._policy, self._budget))


class _Kept:
    """What arrives, in memory."""

    def __init__(self) -> None:
        self.content = bytearray()

    def keep(self, pieces: Iterator[bytes]) -> None:
        self.content.clear()
        for piece in pieces:
            self.content.extend(piece)


class Keep(Protocol):
    """Takes what arrives, from the start, each time anew."""

    def __call__(self, pieces: Iterator[bytes], /) -> None:
        """Keep the pieces."""
        ...


def _checked(answer: httpx.Response, arriving: Arriving) -> Iterator[bytes]:
    # As it is stored, also where somebody has declared an encoding: lengths and checksums are of that.
    stream = answer.stream
    assert isinstance(stream, httpx.SyncByteStream)
    for piece in stream:
        yield arriving.take(piece)


def _place(url: str) -> str:
    """The address without the permission in it, for errors and logs."""
    return url.partition("?")[0]
