"""Items: commits and heads come back as they were, and small ones stay small."""

from dataclasses import replace

import pytest

from turnlog.domain.archive import ActiveInsert, ArchiveState
from turnlog.domain.exactjson import JsonObject
from turnlog.domain.instant import NS, Instant
from turnlog.stores.dynamodb.items import RECORD_OPTIONAL, Blob, Commit, Head, Totals, is_commit, record_attributes
from turnlog.stores.dynamodb.keys import session_pk
from turnlog.stores.dynamodb.known import Known, KnownKey, hash_id
from turnlog.testing.builders import START, a_session

PK = session_pk("acme", "s")
BLOB = Blob("t/acme/s/s/1/ab", b"h" * 32, 70_000)
PLAIN = Commit(PK, inc=7, first=11, count=3, cid=b"c" * 8, generation=2, body="body")


@pytest.mark.parametrize(
    "commit",
    [
        PLAIN,
        replace(PLAIN, body=b"\x01bytes"),
        replace(PLAIN, body=BLOB),
        replace(PLAIN, known=Known(((hash_id("e"), 12),), (KnownKey(b"k" * 12, b"r" * 12, (3, 13)),)), fold=10),
        replace(PLAIN, fold=10),
        Commit(PK, inc=7, first=14, count=0, cid=b"d" * 8, generation=2),
    ],
    ids=["text", "bytes", "blob", "ids", "folded", "closing"],
)
def test_a_commit_comes_back(commit: Commit) -> None:
    item = commit.item()
    assert Commit.of(item) == commit
    assert is_commit(item)
    assert (item["pk"], item["sk"]) == commit.key


def test_a_closing_commit_has_no_event_and_no_seq() -> None:
    closing = Commit(PK, inc=7, first=14, count=0, cid=b"d" * 8, generation=2)
    assert (closing.is_closing, closing.last) == (True, 13)
    assert not PLAIN.is_closing
    assert PLAIN.last == 13


def test_totals_add_up_and_come_back() -> None:
    totals = Totals(1, 200, 30_000).plus(Totals(1, 5, 7))
    assert totals == Totals(2, 205, 30_007)
    assert Totals.decode(totals.encode()) == totals


RECORD = replace(
    a_session("s", metadata={"a": 1}),
    expires_at=Instant.parse("2026-01-01T00:00:00.000000001Z"),
    compaction=JsonObject.of({"trigger": None}),
    allow_system_messages=False,
)
HEAD = Head(
    PK, RECORD, inc=9, generation=3, rev=4, prev_inc=7, cid=b"c" * 8, token=b"t" * 24, mark=b"m" * 8, last_pass="3.ab",
    archive=ArchiveState(((1, 4), (6, 6)), (ActiveInsert("3.ab", 5),)), start=5, stragglers=(2, 3),
    cut=Totals(1, 2, 3), insert_ids=hash_id("sum"), deleted=True,
)  # fmt: skip


@pytest.mark.parametrize("head", [HEAD, Head(PK, a_session("s", ttl_seconds=None), inc=9)], ids=["full", "new"])
def test_a_head_comes_back(head: Head) -> None:
    item = head.item()
    assert Head.of(item, "s") == head
    assert not is_commit(item)


def test_the_time_to_live_is_never_early() -> None:
    """DynamoDB's TTL has whole seconds; what conditions compare is exact."""
    attributes = record_attributes(RECORD)
    assert attributes["xat"] == START.ns + 1
    assert attributes["expires"] == START.ns // NS + 1
    exact = record_attributes(replace(RECORD, expires_at=START))
    assert (exact["xat"], exact["expires"]) == (START.ns, START.ns // NS)


def test_what_a_record_lacks_is_what_an_update_removes() -> None:
    bare = record_attributes(replace(a_session("s", ttl_seconds=None), allow_system_messages=None))
    full = record_attributes(RECORD)
    assert full.keys() - bare.keys() == set(RECORD_OPTIONAL)


def test_an_id_whose_key_is_a_hash_stands_on_the_head() -> None:
    name = "x" * 500
    item = Head(session_pk("acme", name), a_session(name), inc=1).item()
    assert item["sid"] == name
    assert "sid" not in HEAD.item()


def test_a_head_suggests_which_ids_were_given_to_inserted_events() -> None:
    head = replace(HEAD, insert_ids=hash_id("one") + hash_id("two"))
    assert [head.may_hold_insert(i) for i in ("one", "two", "three")] == [True, True, False]
