"""Id blocks: client ids that commits no longer carry (DESIGN 4, "Fold").

Block ``!I#<inc>#<from>`` holds the ids of the seqs ``from`` … ``to``. It is put only if absent and
never changed; whoever finds one adopts its ``to``. So blocks form one chain from seq 1, crashes
and two folders at once do no harm, and a block that was read once may be kept in memory for good.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, cast

from ...domain.errors import CorruptLog
from ...domain.ports import IdempotencyKey
from . import keys
from .known import KEY_HASH, Known, KnownKey, hash_id
from .pacing import Pacing
from .rim import Absent, ConditionFailed, Item, Put, Rim

CACHED_SESSIONS: Final = 128
"""How many sessions' blocks a process keeps; an id costs about 100 bytes there."""


@dataclass
class Blocks:
    """The chain of one life, as far as it was read: up to seq ``to``."""

    to: int = 0
    _ids: dict[bytes, list[int]] = field(default_factory=dict)
    _keys: dict[bytes, KnownKey] = field(default_factory=dict)

    def extended(self, to: int, known: Known) -> None:
        """Take in the next block of the chain."""
        for hashed, seq in known.ids:
            self._ids.setdefault(hashed, []).append(seq)
        for key in known.keys:
            self._keys.setdefault(key.key, key)
        self.to = to

    def candidates(self, event_id: str) -> list[int]:
        """Seqs whose event may have this id, oldest first."""
        return list(self._ids.get(hash_id(event_id), ()))

    def find_key(self, token: IdempotencyKey) -> KnownKey | None:
        """The entry of this key."""
        return self._keys.get(token.key[:KEY_HASH])


@dataclass(frozen=True)
class Lookup:
    """Everything a log knows of ids: what the tail carries, and the blocks below its fold.

    ``fold`` is how far the blocks reached at that moment; another thread may extend them since.
    """

    carried: Known
    blocks: Blocks
    fold: int

    @classmethod
    def of(cls, known: Known, blocks: Blocks, *, last_seq: int) -> Lookup:
        """What a tail that ends at ``last_seq`` knows, without what the blocks hold already.

        Blocks that reach beyond the tail say that it is old. What is written after such a tail is
        refused; until then it has to be well-formed, so its fold is not beyond its own events.
        """
        fold = min(blocks.to, last_seq)
        return cls(known.after(fold), blocks, fold)

    def candidates(self, event_id: str) -> list[int]:
        """Seqs whose event may have this id, oldest first."""
        return self.blocks.candidates(event_id) + self.carried.candidates(event_id)

    def find_key(self, token: IdempotencyKey) -> KnownKey | None:
        """The entry of this key."""
        return self.blocks.find_key(token) or self.carried.find_key(token)


class IdBlocks:
    """Reads and writes blocks; keeps those that it read."""

    def __init__(self, rim: Rim, pacing: Pacing) -> None:
        self._rim = rim
        self._pacing = pacing
        self._cache: OrderedDict[tuple[str, int], Blocks] = OrderedDict()
        self._lock = Lock()

    def read(self, pk: str, inc: int, *, at_least: int, newer: bool = False) -> Blocks:
        """The chain, at least up to seq ``at_least`` (which some commit says is folded). What was
        read before is not read again, unless there may be ``newer`` blocks that no commit has
        told of yet.

        Raises:
            CorruptLog: consistent reads do not reach it.
        """
        with self._lock:
            blocks = self._remembered(pk, inc)
        if newer or blocks.to < at_least:
            blocks = self._extend(pk, inc)
        for attempt in range(1, 4):
            if blocks.to >= at_least:
                return blocks
            self._pacing.wait(attempt)
            blocks = self._extend(pk, inc)
        if blocks.to >= at_least:
            return blocks
        raise CorruptLog(f"The id blocks of {pk} end at {blocks.to}, but a commit folded up to {at_least}.")

    def put(self, pk: str, inc: int, fold: int, to: int, known: Known) -> None:
        """Write the block that follows ``fold``, unless somebody has."""
        item: Item = {"pk": pk, "sk": keys.id_block_sk(inc, fold + 1), "to": to}
        item |= {"i": known.encode_ids(fold)} if known.ids else {}
        item |= {"k": known.encode_keys()} if known.keys else {}
        try:
            self._rim.put(Put(item, Absent()))
        except ConditionFailed:
            return  # another writer folded first; readers adopt what is there

    def _extend(self, pk: str, inc: int) -> Blocks:
        with self._lock:
            known_to = self._remembered(pk, inc).to
        low, high = keys.id_block_sk(inc, known_to + 1), keys.id_block_prefix(inc) + "~"
        found: list[Item] = []
        start = None
        while True:
            page = self._rim.query(pk, low, high, consistent=True, start=start)
            found += page.items
            start = page.next
            if start is None:
                break
        with self._lock:
            blocks = self._remembered(pk, inc)
            for item in found:
                first = keys.parse_id_block_sk(str(item["sk"]))
                if first == blocks.to + 1:
                    blocks.extended(cast("int", item["to"]), decode_block(item))
            return blocks

    def _remembered(self, pk: str, inc: int) -> Blocks:
        blocks = self._cache.setdefault((pk, inc), Blocks())
        self._cache.move_to_end((pk, inc))
        while len(self._cache) > CACHED_SESSIONS:
            self._cache.popitem(last=False)
        return blocks


def decode_block(item: Item) -> Known:
    """The entries of a block."""
    base = keys.parse_id_block_sk(str(item["sk"])) - 1
    return Known.decode(cast("bytes", item.get("i", b"")), cast("bytes", item.get("k", b"")), base)
