"""To and from the storage behind presigned URLs: what its answers mean, and when to try again. No I/O."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import urlsplit

import httpx

from ._models import EventLink
from ._retry import Lost, Pacer
from .errors import TransferFailed

EXPIRED: Final = frozenset({400, 403, 404})
"""What S3 answers when a URL has ended, or what it led to has: 403 as a rule, 400 when the credentials
behind it ended (``ExpiredToken``), 404 for a copy that is gone."""
_PASSING: Final = frozenset({408, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class Reply:
    """What the storage answered; ``said`` is the beginning of its text."""

    status: int
    said: str = ""


Next = Literal["done", "again", "new url"]


class TransferAttempts:
    """The attempts of one transfer. One URL may turn out to have ended; the next one may not."""

    def __init__(self, what: str, pacer: Pacer) -> None:
        self._what = what
        self._pacer = pacer
        self._renewed = False

    def judge(self, outcome: Reply | Lost) -> tuple[Next, float]:
        """What to do, and after how many seconds.

        Raises:
            TransferFailed: the storage has refused for good.
            ConnectionFailed, TimedOut: it could not be reached, however often.
        """
        if isinstance(outcome, Reply) and outcome.status == 200:
            self._pacer.succeeded()
            return "done", 0.0
        if isinstance(outcome, Reply) and outcome.status in EXPIRED and not self._renewed:
            self._renewed = True
            return "new url", 0.0
        error = outcome.error if isinstance(outcome, Lost) else self._refused(outcome)
        passing = outcome.retry if isinstance(outcome, Lost) else outcome.status in _PASSING
        pause = self._pacer.pause(timed_out=isinstance(outcome, Lost)) if passing else None
        if pause is None:
            raise error
        return "again", pause

    def _refused(self, reply: Reply) -> TransferFailed:
        said = f": {reply.said}" if reply.said else ""
        return TransferFailed(f"The storage answered {reply.status} to {self._what}{said}", status=reply.status)


class Arriving:
    """Checks what arrives against what was promised."""

    def __init__(self, what: str, *, bytes: int, sha256: str) -> None:
        self._what = what
        self._bytes = bytes
        self._sha256 = sha256
        self._digest = hashlib.sha256()
        self._seen = 0

    def take(self, piece: bytes) -> bytes:
        """The next piece; raises ``TransferFailed`` once more comes than was promised."""
        self._seen += len(piece)
        self._digest.update(piece)
        if self._seen > self._bytes:
            raise TransferFailed(f"{self._what}: more than the {self._bytes} bytes that were promised")
        return piece

    def check(self) -> None:
        """Raises ``TransferFailed`` unless all of it came, and nothing else."""
        if self._seen != self._bytes or self._digest.hexdigest() != self._sha256:
            raise TransferFailed(f"{self._what}: what arrived is not what was stored")


def checked_storage_url(url: str, base: str) -> str:
    """A URL that the API gave, if content may be fetched from there.

    Raises:
        TransferFailed: no URL, not http or https, or not encrypted although the API itself is.
    """
    try:
        scheme = httpx.URL(url).scheme
    except httpx.InvalidURL as bad:
        raise TransferFailed(f"The API named a storage address that is none: {bad}") from None
    if scheme == "https" or (scheme == "http" and urlsplit(base).scheme == "http"):
        return url
    raise TransferFailed("The API named a storage address that is not encrypted; it is not used.")


def what_of(link: EventLink) -> str:
    """How errors name a linked message."""
    return f"the linked message of {link.bytes} bytes"
