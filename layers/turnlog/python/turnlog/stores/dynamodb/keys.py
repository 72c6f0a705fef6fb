"""Every key of the table is built and parsed here and nowhere else (DESIGN 4).

    pk  T#<tenant>#S#<session>     everything of one session
        sk  ~                      the head
            E#<inc>#<seq>          a commit, by the seq of its first event
            !C#<inc>#<gen>#<pass>  a pass
            !I#<inc>#<from>        an id block
    pk  T#<tenant>#U#<user>        a user's list
        sk  L#<session>

Only commits and the head sort at or above ``E``, so a descending query starts with the head and
the newest commit. Tenant, user and session may be any strings: each is percent-encoded, so that
no two pairs can meet, and one that is too long for a key is replaced by its hash.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Final
from urllib.parse import quote, unquote

from ...domain.errors import InvalidRequest
from ...domain.event import has_text
from ...domain.ids import base36

HEAD: Final = "~"
LOG_FROM: Final = "E"
"""The lowest sort key of head and commits: a query from here reads nothing else."""

MAX_PART: Final = 400
"""Longest encoded part, in bytes; two of them and the rest stay below the 1,024 bytes of a sort
key and the 2,048 of a partition key (DynamoDB limits)."""

_INC_WIDTH: Final = 9
_SEQ_WIDTH: Final = 9
MAX_SEQ: Final = 10**_SEQ_WIDTH - 1


class Encoded(str):
    """A part as it stands in a key. Who comes from a key (a stream's record, an index) may not know the
    name behind it: a long one is there as its hash only."""

    __slots__ = ()


def encode(part: str) -> str:
    """One part of a key: unreserved characters stay, everything else is ``%XX`` of its UTF-8.

    Raises:
        InvalidRequest: the text cannot be encoded (a lone surrogate).
    """
    return str(part) if isinstance(part, Encoded) else _encode(part)


@lru_cache(maxsize=1024)
def _encode(part: str) -> str:
    try:
        text = quote(part, safe=":")
    except UnicodeEncodeError:
        raise InvalidRequest.at("id", "holds a lone surrogate") from None
    if text.strip(".") == "":
        text = text.replace(".", "%2E")  # "." and ".." would be steps in an S3 key's path
    if len(text) > MAX_PART:
        return f"={hashlib.sha256(part.encode()).hexdigest()}"
    return text


def decode(text: str) -> str | None:
    """The part again; None when only its hash is in the key."""
    return None if text.startswith("=") else unquote(text, errors="strict")


def required(value: str, name: str) -> str:
    """A session or user id at the port: any string with text (spec 1.7).

    Raises:
        InvalidRequest: it is blank.
    """
    if not has_text(value):
        raise InvalidRequest.at(name, "must have text")
    return value


def tenant_prefix(tenant: str) -> str:
    """What every partition key of the tenant's sessions begins with."""
    return f"T#{encode(tenant)}#S#"


def session_pk(tenant: str, session_id: str) -> str:
    """The partition of one session."""
    return f"{tenant_prefix(tenant)}{encode(session_id)}"


def parse_session_pk(pk: str) -> tuple[Encoded, Encoded] | None:
    """Tenant and session of a partition, as they stand in the key; None for another kind of partition."""
    match pk.split("#"):
        case ["T", tenant, "S", session] if tenant and session:
            return Encoded(tenant), Encoded(session)
        case _:
            return None


def user_pk(tenant: str, user_id: str) -> str:
    """The partition of one user's session list."""
    return f"T#{encode(tenant)}#U#{encode(user_id)}"


def list_sk(session_id: str) -> str:
    """A session's row in its owner's list."""
    return f"L#{encode(session_id)}"


def inc_part(inc: int) -> str:
    """An incarnation, fixed width."""
    return base36(inc).rjust(_INC_WIDTH, "0")


def commit_prefix(inc: int) -> str:
    """What the sort keys of one life's commits begin with."""
    return f"E#{inc_part(inc)}#"


def commit_sk(inc: int, first_seq: int) -> str:
    """The slot that begins at ``first_seq``."""
    return f"{commit_prefix(inc)}{first_seq:0{_SEQ_WIDTH}d}"


def parse_commit_sk(sk: str) -> tuple[int, int]:
    """(incarnation, first seq) of a commit."""
    _, inc, seq = sk.split("#")
    return int(inc, 36), int(seq)


def pass_prefix(inc: int) -> str:
    """What the sort keys of one life's passes begin with."""
    return f"!C#{inc_part(inc)}#"


def pass_sk(inc: int, generation: int, pass_id: str) -> str:
    """A pass, by the generation that it makes."""
    return f"{pass_prefix(inc)}{generation:0{_SEQ_WIDTH}d}#{pass_id}"


def id_block_prefix(inc: int) -> str:
    """What the sort keys of one life's id blocks begin with."""
    return f"!I#{inc_part(inc)}#"


def id_block_sk(inc: int, from_seq: int) -> str:
    """The block of client ids that begins at ``from_seq``."""
    return f"{id_block_prefix(inc)}{from_seq:0{_SEQ_WIDTH}d}"


def parse_id_block_sk(sk: str) -> int:
    """The first seq of a block."""
    return int(sk.rsplit("#", 1)[1])


def blob_key(tenant: str, session_id: str, inc: int, cid: bytes) -> str:
    """The S3 key of a body: below its tenant, session and life, named by its commit."""
    return f"t/{_life_path(tenant, session_id, inc)}/{cid.hex()}"


def upload_key(tenant: str, session_id: str, inc: int, sha256: str) -> str:
    """The S3 key of an upload: beside the bodies of its life, named by its content."""
    return f"t/{_life_path(tenant, session_id, inc)}/u/{sha256}"


def link_key(tenant: str, session_id: str, inc: int, sha256: str) -> str:
    """The S3 key of a copy that an event's link leads to: apart from what lasts, so that a
    lifecycle rule can remove it."""
    return f"l/{_life_path(tenant, session_id, inc)}/{sha256}"


def part_key(tenant: str, session_id: str, inc: int, pass_id: str, part: str) -> str:
    """The S3 key of a part of a summary in the making: beside the links' copies, which a lifecycle
    rule removes after a day."""
    return f"l/{_life_path(tenant, session_id, inc)}/w/{pass_id}/{part}"


def _life_path(tenant: str, session_id: str, inc: int) -> str:
    return f"{encode(tenant)}/s/{encode(session_id)}/{inc_part(inc)}"
