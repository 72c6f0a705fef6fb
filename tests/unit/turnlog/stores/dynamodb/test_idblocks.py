"""Id blocks: one chain that only grows, whoever folds and however often."""

import pytest

from tests.support.scripted.process import Process, Torn, World
from turnlog.domain.errors import CorruptLog
from turnlog.domain.ports import IdempotencyKey
from turnlog.stores.dynamodb import Pacing
from turnlog.stores.dynamodb.idblocks import CACHED_SESSIONS, Blocks, IdBlocks, Lookup
from turnlog.stores.dynamodb.keys import session_pk
from turnlog.stores.dynamodb.known import KEY_HASH, Known, KnownKey, hash_id

PK = session_pk("acme", "s")
INC = 5


def known(*seqs: int) -> Known:
    return Known(tuple((hash_id(f"e{seq}"), seq) for seq in seqs))


class Setup:
    """Blocks over a scripted table, in pages of two."""

    def __init__(self) -> None:
        self.world = World(page_rows=2)

    def blocks(self, process: Process | None = None) -> IdBlocks:
        """The blocks of a new process."""
        rim = (process or Process(self.world)).repository._rim
        return IdBlocks(rim, Pacing(sleep=self.world.sleep, uniform=lambda low, high: high))


@pytest.fixture
def setup() -> Setup:
    return Setup()


def test_the_first_of_two_folders_wins_and_both_see_its_block(setup: Setup) -> None:
    one, other = setup.blocks(), setup.blocks()
    one.put(PK, INC, 0, 4, known(1, 3, 4))
    other.put(PK, INC, 0, 6, known(1, 3, 4, 6))
    for blocks in (one, other, setup.blocks()):
        read = blocks.read(PK, INC, at_least=1)
        assert read.to == 4
        assert read.candidates("e3") == [3]
        assert read.candidates("e6") == []


def test_the_chain_is_read_over_pages_and_only_as_far_as_it_holds_together(setup: Setup) -> None:
    blocks = setup.blocks()
    for fold in (0, 2, 4, 6, 8):
        blocks.put(PK, INC, fold, fold + 2, known(fold + 1, fold + 2))
    blocks.put(PK, INC, 12, 14, known(13))  # nothing leads to it
    assert setup.blocks().read(PK, INC, at_least=10).to == 10
    with pytest.raises(CorruptLog, match="end at 10"):
        setup.blocks().read(PK, INC, at_least=11)


def test_a_block_of_another_life_is_not_seen(setup: Setup) -> None:
    setup.blocks().put(PK, INC - 1, 0, 4, known(1))
    assert setup.blocks().read(PK, INC, at_least=0, newer=True).to == 0


def test_what_was_read_is_not_read_again(setup: Setup) -> None:
    writer, process = setup.blocks(), Process(setup.world)
    blocks = setup.blocks(process)
    writer.put(PK, INC, 0, 4, known(1))
    assert blocks.read(PK, INC, at_least=4).to == 4
    writer.put(PK, INC, 4, 8, known(5))
    assert blocks.read(PK, INC, at_least=4).to == 4
    assert process.calls == ["query"]
    assert blocks.read(PK, INC, at_least=4, newer=True).to == 8


def test_a_torn_read_takes_only_what_is_whole(setup: Setup) -> None:
    """Two blocks come while the query runs, and it meets only the second."""
    setup.blocks().put(PK, INC, 0, 2, known(1))

    def grow() -> None:
        setup.blocks().put(PK, INC, 2, 4, known(3))
        setup.blocks().put(PK, INC, 4, 6, known(5))

    torn = Process(setup.world, {0: [Torn(grow, split=2)]})
    assert setup.blocks(torn).read(PK, INC, at_least=2).to == 2


def test_a_cache_forgets_the_session_that_was_not_asked_for_longest(setup: Setup) -> None:
    process = Process(setup.world)
    blocks = setup.blocks(process)
    blocks.put(PK, INC, 0, 4, known(1))
    blocks.read(PK, INC, at_least=4)
    for i in range(CACHED_SESSIONS):
        blocks.read(f"{PK}{i}", INC, at_least=0)
    before = len(process.calls)
    assert blocks.read(PK, INC, at_least=4).to == 4
    assert len(process.calls) == before + 1


def test_the_first_entry_of_a_key_counts() -> None:
    token = IdempotencyKey(b"k" * 16, b"r" * 16)
    first, second = KnownKey.of(token, [1]), KnownKey.of(token, [2])
    blocks = Blocks()
    blocks.extended(1, Known((), (first,)))
    blocks.extended(2, Known((), (second,)))
    assert blocks.find_key(token) == first
    assert blocks.find_key(IdempotencyKey(b"x" * KEY_HASH, b"")) is None


def test_a_lookup_keeps_the_fold_it_was_made_at() -> None:
    """Another thread may read further blocks into the same cache meanwhile."""
    blocks = Blocks()
    blocks.extended(2, known(1, 2))
    lookup = Lookup.of(known(1, 2, 3), blocks, last_seq=3)
    blocks.extended(3, known(3))
    assert (lookup.fold, lookup.carried) == (2, known(3))
    assert lookup.candidates("e1") == [1]


def test_a_lookup_never_folds_beyond_its_tail() -> None:
    blocks = Blocks()
    blocks.extended(9, known(1, 9))
    assert Lookup.of(known(3), blocks, last_seq=4).fold == 4
