"""Uploads, the refs that messages name them by, and links to large messages (DESIGN 3, 5).

A ref is made of the session's life and of the content: ``<life>-<SHA-256>``, where the life is a hash
of the session's id and incarnation. So asking twice gives the same ref, nothing has to be stored to
know one, and a ref of another session or life is told apart by its first part alone. It carries no
secret: whoever presents it reaches only what was uploaded below the session that they ask about.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from .errors import InvalidRequest
from .exactjson import JsonValue
from .ids import base36
from .instant import Instant

if TYPE_CHECKING:
    from .session import StoredSession  # its events hold messages, which hold refs

MAX_BYTES: Final = 100 * 1024 * 1024
"""The largest upload: 100 MiB. S3 takes 5 GB in one PUT; a model takes far less."""

URL_SECONDS: Final = 300
"""How long a presigned URL can be used, unless the credentials behind it end earlier."""

MEDIA_TYPE_CHARS: Final = 255
SHA256_PATTERN: Final = "[0-9a-f]{64}"
REF_PATTERN: Final = f"[0-9a-z]{{1,13}}-{SHA256_PATTERN}"
_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}"
_VALUE: Final = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+|" + r'"[ !#-\[\]-~]*"'
MEDIA_TYPE_PATTERN: Final = (
    rf"(?!application/x-www-form-urlencoded){_NAME}/{_NAME}(; ?[A-Za-z0-9!#$&^_.+-]+=({_VALUE}))*"
)
"""RFC 6838, section 4.2, with RFC 9110 parameters. Form encoding is left out: it describes a
request, not a file, and an SDK may take it for the default that HTTP clients put in themselves."""

REF_RULE: Final = (
    "is no ref that an upload got: up to 13 digits and lower-case letters, -, and the content's SHA-256 in "
    "64 lower-case hex digits"
)
_REF: Final = re.compile(REF_PATTERN, re.ASCII)
_SHA256: Final = re.compile(SHA256_PATTERN, re.ASCII)
_MEDIA_TYPE: Final = re.compile(MEDIA_TYPE_PATTERN, re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class UploadRef:
    """A well-formed ref: which life of the session it belongs to, and the content."""

    life: str
    sha256: str

    @classmethod
    def of(cls, session: StoredSession, sha256: str) -> Self:
        """The ref of a content in this life of the session."""
        return cls(life_of(session), sha256)

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """None when the text is not well-formed."""
        if not _REF.fullmatch(text):
            return None
        life, _, sha256 = text.partition("-")
        return cls(life, sha256)

    def is_of(self, session: StoredSession) -> bool:
        """Whether it belongs to this life of this session."""
        return self.life == life_of(session)

    def __str__(self) -> str:
        return f"{self.life}-{self.sha256}"


def life_of(session: StoredSession) -> str:
    """The first part of every ref of this life. Not the incarnation alone: it is a time, and two
    sessions may begin in the same millisecond."""
    text = f"{session.version.inc}/{session.id}"
    return base36(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))


@dataclass(frozen=True)
class UploadRequest:
    """What somebody wants to upload; ``size`` in bytes.

    Raises:
        InvalidRequest: a field is outside its range or grammar; the error points at it.
    """

    media_type: str
    size: int
    sha256: str

    def __post_init__(self) -> None:
        if not 1 <= self.size <= MAX_BYTES:
            raise InvalidRequest.at("/bytes", f"must be from 1 to {MAX_BYTES}")
        for pointer, wrong in (
            ("/media_type", wrong_media_type(self.media_type)),
            ("/sha256", wrong_sha256(self.sha256)),
        ):
            if wrong is not None:
                raise InvalidRequest.at(pointer, wrong)


def wrong_media_type(text: str) -> str | None:
    """Why it is no media type; None when it is one."""
    if len(text) > MEDIA_TYPE_CHARS:
        return f"must have at most {MEDIA_TYPE_CHARS} characters"
    if not _MEDIA_TYPE.fullmatch(text):
        return "must be a media type such as image/png or text/plain; charset=utf-8, and no form encoding"
    return None


def wrong_sha256(text: str) -> str | None:
    """Why it is no SHA-256 as we write them; None when it is one."""
    if _SHA256.fullmatch(text):
        return None
    if _SHA256.fullmatch(text.lower()):
        return "must be lower case"
    return "must be a SHA-256: 64 lower-case hex digits"


@dataclass(frozen=True)
class UploadGrant:
    """Leave to upload one content: a PUT of it to ``url`` with exactly ``headers``, until
    ``expires_at``."""

    ref: UploadRef
    url: str
    headers: Mapping[str, str]
    expires_at: Instant


@dataclass(frozen=True)
class StoredUpload:
    """What has been uploaded (``size`` in bytes), and a URL to read it at until ``expires_at``."""

    ref: UploadRef
    media_type: str
    size: int
    url: str
    expires_at: Instant


@dataclass(frozen=True)
class EventLink:
    """Where to read a message that is too large for an answer: its JSON text in UTF-8, of which
    ``size`` and ``sha256`` (hex) tell the length in bytes and the hash."""

    url: str
    size: int
    sha256: str

    @classmethod
    def to(cls, url: str, content: bytes) -> Self:
        """The link to a copy of the content."""
        return cls(url, len(content), hashlib.sha256(content).hexdigest())


class MediaRef(NamedTuple):
    """A ref that a message names, and the pointer to it below the message."""

    pointer: str
    ref: str


def media_refs(content: JsonValue, pointer: str = "/content") -> Iterator[MediaRef]:
    """Every ``ref`` of a media block in a message's content, tool results included. The content is
    one that :func:`turnlog.domain.message.check` has let through."""
    if not isinstance(content, list):
        return
    for i, block in enumerate(content):
        if block["type"] == "media" and block.get("ref") is not None:
            yield MediaRef(f"{pointer}/{i}/ref", block["ref"])
        elif block["type"] == "tool_result":
            yield from media_refs(block.get("content"), f"{pointer}/{i}/content")


def check_refs(refs: tuple[MediaRef, ...], session: StoredSession | None, pointer: str) -> None:
    """Hold a message's refs against the life of its session; None for one that does not live yet.

    Nobody asks whether the content has arrived: an upload may follow its event.

    Raises:
        InvalidRequest: a ref that this life of the session has not given.
    """
    for place, text in refs:
        ref = UploadRef.parse(text)
        if ref is None:
            raise InvalidRequest.at(pointer + place, REF_RULE)
        if session is None or not ref.is_of(session):
            raise InvalidRequest.at(
                pointer + place, "belongs to another session, or to an earlier life of this one; upload it here"
            )
