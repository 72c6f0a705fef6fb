"""What a log knows of ids and keys: small, and never a wrong answer."""

from hypothesis import given
from hypothesis import strategies as st

from turnlog.domain.ports import IdempotencyKey
from turnlog.stores.dynamodb import known as module
from turnlog.stores.dynamodb.known import KEY_HASH, Known, KnownKey, get_varints, hash_id, put_varint

numbers = st.integers(0, 2**63)
hashes = st.binary(min_size=module.HASH, max_size=module.HASH)
keyed = st.builds(
    KnownKey,
    st.binary(min_size=KEY_HASH, max_size=KEY_HASH),
    st.binary(min_size=KEY_HASH, max_size=KEY_HASH),
    st.lists(numbers, min_size=1, max_size=5).map(tuple),
)


@given(st.lists(numbers))
def test_numbers_come_back(values: list[int]) -> None:
    data = b"".join(map(put_varint, values))
    assert get_varints(data) == (values, len(data))
    assert get_varints(b"\x05" + data, 1, count=len(values)) == (values, 1 + len(data))


@given(st.lists(st.tuples(hashes, numbers)), st.lists(keyed), numbers)
def test_entries_come_back(ids: list[tuple[bytes, int]], keys: list[KnownKey], base: int) -> None:
    known = Known(tuple((hashed, base + offset) for hashed, offset in ids), tuple(keys))
    assert Known.decode(known.encode_ids(base), known.encode_keys(), base) == known
    assert known.count == len(ids) + len(keys)


def test_an_id_costs_few_bytes() -> None:
    """The target of DESIGN 9 leaves a commit 64 ids and 1 KB."""
    known = Known(tuple((hash_id(f"e{seq}"), seq) for seq in range(1_000_001, 1_000_065)))
    assert len(known.encode_ids(1_000_000)) == 64 * (module.HASH + 1)


def test_two_events_of_one_hash_are_both_candidates() -> None:
    """A short hash only suggests; whoever asks compares the id itself."""
    hashed = hash_id("e")
    assert Known(((hashed, 3), (b"other", 4), (hashed, 9))).candidates("e") == [3, 9]
    assert Known(((hashed, 3),)).candidates("f") == []


def test_what_is_folded_is_left_out() -> None:
    """A key belongs to the commit that holds its newest seq, however old its replays are."""
    token = IdempotencyKey(b"k" * 16, b"r" * 16)
    key = KnownKey.of(token, [1, 8])
    known = Known(((b"aaaaa", 4), (b"bbbbb", 5)), (key,))
    assert known.after(4) == Known(((b"bbbbb", 5),), (key,))
    assert known.after(7) == Known((), (key,))
    assert known.after(8) == Known()
    assert known.find_key(token) == key
    assert known.after(8).find_key(token) is None
    assert known.after(4).plus(Known(((b"ccccc", 9),))).ids == ((b"bbbbb", 5), (b"ccccc", 9))


def test_any_string_has_a_hash() -> None:
    """At the port an id may be anything, a lone surrogate too."""
    assert len({hash_id(text) for text in ("", "\ud800", "a\x00", "a")}) == 4
