"""Keys: no two parts meet, numbers sort as numbers, and head and newest commit come first."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from turnlog.domain.errors import InvalidRequest
from turnlog.stores.dynamodb import keys

parts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=200)
incs = st.integers(0, 36**9 - 1)
seqs = st.integers(1, keys.MAX_SEQ)


@given(parts)
@example(".")
@example("..")
@example("=")
@example("%2E")
@example("a#b/c%\x00\n~ 👩‍👩‍👧")
@example("x" * keys.MAX_PART)
def test_a_part_comes_back_or_is_a_hash(part: str) -> None:
    encoded = keys.encode(part)
    assert keys.decode(encoded) in (part, None)
    assert len(encoded) <= keys.MAX_PART
    assert encoded not in (".", "..")
    assert not set(encoded) & set("#/ \\")
    assert encoded.isascii()


@given(parts, parts, parts, parts)
@example("a", "b#S#c", "a#S#b", "c")
@example("a#U#b", "c", "a", "b#U#c")
@example("é" * 200, "s", "é" * 199 + "e", "s")
def test_two_pairs_never_meet(tenant: str, one: str, other_tenant: str, other: str) -> None:
    same = (tenant, one) == (other_tenant, other)
    assert (keys.session_pk(tenant, one) == keys.session_pk(other_tenant, other)) == same
    assert (keys.user_pk(tenant, one) == keys.user_pk(other_tenant, other)) == same
    assert keys.session_pk(tenant, one) != keys.user_pk(other_tenant, other)
    assert (keys.list_sk(one) == keys.list_sk(other)) == (one == other)


def test_a_part_that_is_too_long_becomes_its_hash() -> None:
    longest = keys.encode("x" * (keys.MAX_PART + 1))
    assert keys.decode(longest) is None
    assert longest != keys.encode("x" * (keys.MAX_PART + 2))
    assert keys.encode(longest) != longest  # nobody can choose an id that is taken for a hash


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        keys.encode("a\ud800")


@pytest.mark.parametrize("blank", ["", " ", "\t\n"])
def test_a_blank_id_is_refused(blank: str) -> None:
    with pytest.raises(InvalidRequest, match="session_id"):
        keys.required(blank, "session_id")


@given(incs, incs, seqs, seqs)
def test_commits_sort_by_life_and_then_by_seq(inc: int, other_inc: int, seq: int, other_seq: int) -> None:
    one, other = keys.commit_sk(inc, seq), keys.commit_sk(other_inc, other_seq)
    assert (one < other) == ((inc, seq) < (other_inc, other_seq))
    assert keys.parse_commit_sk(one) == (inc, seq)
    assert one.startswith(keys.commit_prefix(inc))
    assert one.startswith(keys.commit_prefix(other_inc)) == (inc == other_inc)


@given(incs, seqs, seqs)
def test_only_commits_and_the_head_sort_at_or_above_the_log(inc: int, seq: int, other: int) -> None:
    commit = keys.commit_sk(inc, seq)
    assert keys.LOG_FROM <= commit < keys.HEAD
    below = [keys.pass_sk(inc, seq, "1.ab"), keys.id_block_sk(inc, seq), keys.pass_prefix(inc) + "~"]
    assert all(sk.startswith("!") and sk < keys.LOG_FROM for sk in below)
    assert (keys.id_block_sk(inc, seq) < keys.id_block_sk(inc, other)) == (seq < other)
    assert (keys.pass_sk(inc, seq, "1.ff") < keys.pass_sk(inc, other, "1.00")) == (seq < other)
    assert keys.parse_id_block_sk(keys.id_block_sk(inc, seq)) == seq


@given(parts, parts, incs, st.binary(min_size=8, max_size=8))
def test_a_body_lies_below_its_own_life(tenant: str, session: str, inc: int, cid: bytes) -> None:
    segments = keys.blob_key(tenant, session, inc, cid).split("/")
    assert segments == [
        "t", keys.encode(tenant), "s", keys.encode(session), keys.inc_part(inc), cid.hex()
    ]  # fmt: skip
    assert not {"", ".", ".."} & set(segments)
    assert len("/".join(segments)) <= 1024, "S3's limit of a key"
