"""What a log knows of client ids and idempotency keys, in a few bytes each.

An id is its hash's first 5 bytes and its seq. So short a hash only *suggests* a hit: the stored
event is read and its id compared, so two ids can never be taken for one another. A key has 12
bytes each of its own hash and of its request's, because nothing else is left to compare with.

Commits carry the entries since ``fold``; up to there they lie in id blocks, which never change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from ...domain.ports import IdempotencyKey

HASH: Final = 5
KEY_HASH: Final = 12

FOLD_AFTER: Final = 32
"""A commit with more ids than this makes its writer fold them into a block."""
FOLD_BEFORE: Final = 64
"""When a commit would carry more ids than this, its writer folds the older ones first."""


def hash_id(event_id: str) -> bytes:
    """The short hash of a client's event id."""
    return hashlib.sha256(event_id.encode("utf-8", "surrogatepass")).digest()[:HASH]


def put_varint(number: int) -> bytes:
    """A non-negative number in 7-bit groups, low group first."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def get_varints(data: bytes, at: int = 0, *, count: int | None = None) -> tuple[list[int], int]:
    """``count`` numbers (all of them without it) from ``at`` on, and where they end."""
    out: list[int] = []
    while at < len(data) and len(out) != count:
        number = data[at]
        at += 1
        if number & 0x80:
            number, shift = number & 0x7F, 7
            while data[at] & 0x80:
                number |= (data[at] & 0x7F) << shift
                shift += 7
                at += 1
            number |= data[at] << shift
            at += 1
        out.append(number)
    return out, at


@dataclass(frozen=True)
class KnownKey:
    """An idempotency key that was served: the seqs of its answer, in the request's order."""

    key: bytes
    request: bytes
    seqs: tuple[int, ...]

    @classmethod
    def of(cls, token: IdempotencyKey, seqs: Iterable[int]) -> KnownKey:
        """The entry for a request about to be written."""
        return cls(token.key[:KEY_HASH], token.request[:KEY_HASH], tuple(seqs))

    @property
    def last_seq(self) -> int:
        """The newest seq of the answer: the commit that wrote the key holds it."""
        return max(self.seqs)


@dataclass(frozen=True)
class Known:
    """Entries in the order of the log: (hash, seq) of ids, and keys."""

    ids: tuple[tuple[bytes, int], ...] = ()
    keys: tuple[KnownKey, ...] = ()

    @property
    def count(self) -> int:
        """How many ids it holds; a key counts as one."""
        return len(self.ids) + len(self.keys)

    def candidates(self, event_id: str) -> list[int]:
        """Seqs whose event may have this id, oldest first."""
        wanted = hash_id(event_id)
        return [seq for hashed, seq in self.ids if hashed == wanted]

    def find_key(self, token: IdempotencyKey) -> KnownKey | None:
        """The entry of this key."""
        wanted = token.key[:KEY_HASH]
        return next((k for k in self.keys if k.key == wanted), None)

    def plus(self, other: Known) -> Known:
        """Both, this one's entries first."""
        return Known(self.ids + other.ids, self.keys + other.keys)

    def after(self, fold: int) -> Known:
        """Only what lies beyond the fold."""
        return Known(
            tuple((h, seq) for h, seq in self.ids if seq > fold),
            tuple(k for k in self.keys if k.last_seq > fold),
        )

    def encode_ids(self, base: int) -> bytes:
        """The ids, seqs counted from ``base`` (the fold below them)."""
        return b"".join(hashed + put_varint(seq - base) for hashed, seq in self.ids)

    def encode_keys(self) -> bytes:
        """The keys with the seqs of their answers."""
        out = bytearray()
        for known in self.keys:
            out += known.key + known.request + put_varint(len(known.seqs))
            for seq in known.seqs:
                out += put_varint(seq)
        return bytes(out)

    @classmethod
    def decode(cls, ids: bytes, keys: bytes, base: int) -> Known:
        """The inverse of the two."""
        return cls(tuple(_ids(ids, base)), tuple(_keys(keys)))


def _ids(data: bytes, base: int) -> Iterator[tuple[bytes, int]]:
    at = 0
    while at < len(data):
        hashed = data[at : at + HASH]
        (offset,), at = get_varints(data, at + HASH, count=1)
        yield hashed, base + offset


def _keys(data: bytes) -> Iterator[KnownKey]:
    at = 0
    while at < len(data):
        key, request = data[at : at + KEY_HASH], data[at + KEY_HASH : at + 2 * KEY_HASH]
        (count,), at = get_varints(data, at + 2 * KEY_HASH, count=1)
        seqs, at = get_varints(data, at, count=count)
        yield KnownKey(key, request, tuple(seqs))


NOTHING: Final = Known()
