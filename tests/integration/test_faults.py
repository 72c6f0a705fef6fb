"""Every way to write, through the fault proxy, on a real engine: a retry neither loses nor doubles.

Each call that a write makes is in turn refused, failed, answered to nobody, and held back until the
caller has given up, so that it lands late. The store's clients make one attempt and wait for less
than a second here: whatever the SDK would hide is left to the store.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Final, TypeVar

import httpx
import pytest
from botocore.config import Config

from tests.support.engine import Microburst, dynamodb_client, s3_client
from tests.support.session_api import Api, http_event
from turnlog.client import Client, user
from turnlog.domain.errors import SessionNotFound, StoreUnavailable
from turnlog.domain.event import EventDraft
from turnlog.domain.exactjson import JsonObject
from turnlog.domain.message import Message
from turnlog.domain.ports import AppendRequest, AppendResult, CompactionPlan, IdempotencyKey, Insertion
from turnlog.domain.session import SessionChanges
from turnlog.stores.dynamodb import DynamoDBSessionRepository, Pacing, connect
from turnlog.testing.builders import START, a_session, outline

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client

pytestmark = pytest.mark.engine

T = TypeVar("T")

IMPATIENT: Final = Config(retries={"total_max_attempts": 1}, connect_timeout=2, read_timeout=0.4)
LATE_MS: Final = 700
PACING: Final = Pacing(base_seconds=0.3, cap_seconds=0.6)
"""Long enough that what was held back has landed before the third attempt."""

Make = Callable[[str], DynamoDBSessionRepository]


@cache
def clients(url: str) -> tuple[DynamoDBClient, S3Client]:
    """Making them takes longer than most tests."""
    return dynamodb_client(url, IMPATIENT), s3_client(url, IMPATIENT)


@pytest.fixture
def make(microburst: Microburst, engine_table: str, engine_bucket: str) -> Make:
    """Repositories that go through the proxy."""
    dynamodb, s3 = clients(microburst.url)
    return connect(engine_table, engine_bucket, client=dynamodb, make_s3=lambda: s3, pacing=PACING, clock=lambda: START)


@pytest.fixture
def store(make: Make) -> DynamoDBSessionRepository:
    """One tenant's repository, through the proxy."""
    return make("acme")


# ------------------------------------------------------------------ faults


def throttled(proxy: Microburst, service: str, operation: str) -> None:
    """Refused; nothing happens."""
    if service == "s3":
        proxy.inject(
            {"service": "s3", "operation": operation, "times": 1, "error": {"code": "SlowDown", "status": 503}}
        )
    else:
        proxy.throttle(operation)


def failed(proxy: Microburst, service: str, operation: str) -> None:
    """A 500; nothing happens."""
    proxy.fail(operation, service=service)


def unanswered(proxy: Microburst, service: str, operation: str) -> None:
    """Done, and the answer lost."""
    proxy.lose_answer(operation, service=service)


def late(proxy: Microburst, service: str, operation: str) -> None:
    """The caller gives up before the engine sees it."""
    proxy.delay(operation, LATE_MS, service=service)


def conflicting(proxy: Microburst, service: str, operation: str) -> None:
    """Another transaction is in the way."""
    if operation == "TransactWriteItems":
        reasons = [{"Code": "TransactionConflict", "Message": "ongoing"}, {"Code": "None"}]
        error = {"code": "TransactionCanceledException", "fields": {"CancellationReasons": reasons}}
    else:
        error = {"code": "TransactionConflictException"}
    proxy.inject({"service": service, "operation": operation, "times": 1, "error": error})


# ------------------------------------------------------------------ writes


@dataclass(frozen=True)
class Write:
    """A way to write, the calls it makes, and what has to be true after it, once."""

    calls: tuple[str, ...]
    act: Callable[[DynamoDBSessionRepository], object]
    then: Callable[[DynamoDBSessionRepository], None]
    before: str = "u1 u2"


def said(text: str, id: str | None = None) -> EventDraft:
    return EventDraft(Message.user(text), id=id)


def append(store: DynamoDBSessionRepository, *drafts: EventDraft, key: str | None = None) -> AppendResult:
    token = IdempotencyKey(key.encode().ljust(16), b"r" * 16) if key else None
    return store.append(AppendRequest("s", drafts, START, token))


def texts(store: DynamoDBSessionRepository) -> list[str]:
    """The log as it is."""
    return [event.message.text or "" for event in store.read("s")]


def created(store: DynamoDBSessionRepository) -> None:
    assert [s.id for s in store.list_by_user("alice")] == ["s"]
    assert store.find("s") is not None


def compacted(store: DynamoDBSessionRepository) -> None:
    assert outline(store) == ["-u1", "sum", "u2"]
    assert store.version("s") == 3


def gone(store: DynamoDBSessionRepository) -> None:
    assert store.find("s") is None
    assert store.list_by_user("alice") == []
    with pytest.raises(SessionNotFound):
        append(store, said("too late"))


def appended(*expected: str) -> Callable[[DynamoDBSessionRepository], None]:
    def check(store: DynamoDBSessionRepository) -> None:
        assert texts(store) == ["u1", "u2", *expected]
        assert [event.seq for event in store.read("s")] == list(range(1, len(expected) + 3))

    return check


def labelled(store: DynamoDBSessionRepository) -> None:
    found = store.find("s")
    assert found is not None
    assert (found.record.metadata["label"], texts(store)) == ("new", ["u1", "u2"])


BIG: Final = "".join(chr(0x4E00 + i * 7919 % 20000) for i in range(40_000))
PLAN: Final = CompactionPlan(frozenset({"u1"}), (Insertion(2, (said("summary", "sum"),)),))
NEW_LABEL: Final = SessionChanges(metadata=JsonObject.of({"label": "new"}))
MANY: Final = [said(str(i), f"e{i}") for i in range(40)]

WRITES: Final = {
    "create": Write(("TransactWriteItems",), lambda store: store.create(a_session(), now=START), created, before=""),
    "append without ids": Write(("PutItem",), lambda store: append(store, said("x"), said("x")), appended("x", "x")),
    "append with ids": Write(
        ("PutItem",), lambda store: append(store, said("x", "e"), said("u2", "u2")), appended("x")
    ),
    "append with a key": Write(("PutItem",), lambda store: append(store, said("x"), key="k"), appended("x")),
    "append that folds": Write(("PutItem",), lambda store: append(store, *MANY), appended(*map(str, range(40)))),
    "append of a large body": Write(
        ("s3:PutObject", "PutItem"), lambda store: append(store, said(BIG, "big")), appended(BIG)
    ),
    "update": Write(("UpdateItem",), lambda store: store.update("s", NEW_LABEL, now=START, if_rev=0), labelled),
    "save": Write(("UpdateItem", "PutItem"), lambda store: store.save(a_session(metadata={"label": "new"})), labelled),
    "pass": Write(
        ("PutItem", "TransactWriteItems"), lambda store: store.apply_compaction("s", PLAN, 2, now=START), compacted
    ),
    "delete": Write(("UpdateItem", "PutItem", "DeleteItem"), lambda store: store.delete("s"), gone),
}
SURVIVED: Final = {
    ("create", "TransactWriteItems"),
    *((name, "PutItem") for name in WRITES if name.startswith("append") or name in ("pass", "delete")),
    ("update", "UpdateItem"),
    ("save", "UpdateItem"),
    ("pass", "TransactWriteItems"),
    ("delete", "UpdateItem"),
}
"""Calls that the store tries again by itself; after the others the caller has to."""

FAULTS: Final = (throttled, failed, unanswered, late, conflicting)
CASES: Final = [
    (name, call, fault)
    for name, write in WRITES.items()
    for call in write.calls
    for fault in FAULTS
    if not (call.startswith("s3:") and fault is conflicting)  # S3 has no transactions
]


def until_answered(call: Callable[[], T], tries: int) -> T:
    """What a caller does who is told to come again."""
    for _ in range(tries - 1):
        try:
            return call()
        except StoreUnavailable:
            continue
    return call()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "call", "fault"), CASES, ids=[f"{name}-{call}-{fault.__name__}" for name, call, fault in CASES]
)
def test_a_write_is_done_once_whatever_happens_to_its_calls(
    microburst: Microburst, make: Make, name: str, call: str, fault: Callable[[Microburst, str, str], None]
) -> None:
    """Throttling, 5xx, lost answers, time-outs and conflicts at each write of each operation."""
    service, _, operation = call.rpartition(":")
    write, store = WRITES[name], make("acme")
    if write.before:
        store.create(a_session(), now=START)
        append(store, *(said(text, text) for text in write.before.split()))
    fault(microburst, service or "dynamodb", operation)

    until_answered(lambda: write.act(make("acme")), tries=1 if (name, call) in SURVIVED else 3)

    assert len(microburst.fired()) == 1, "the fault did not strike"
    microburst.clear()
    write.then(store)


def test_a_look_that_fails_is_not_an_answer(microburst: Microburst, store: DynamoDBSessionRepository) -> None:
    """Nothing is read, so nothing is said about the session but to come again."""
    store.create(a_session(), now=START)
    for fault in (throttled, failed, unanswered):
        fault(microburst, "dynamodb", "Query")
        with pytest.raises(StoreUnavailable):
            append(store, said("x"))
    assert append(store, said("y")).version.last_seq == 1


def test_a_put_that_lands_after_another_writer_won_is_refused(
    microburst: Microburst, make: Make, store: DynamoDBSessionRepository
) -> None:
    """Its caller has waited for it in vain, lost the slot, and taken the next one."""
    store.create(a_session(), now=START)
    microburst.delay("PutItem", LATE_MS)
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(append, make("acme"), said("slow"))
        while not microburst.fired():
            time.sleep(0.02)
        assert append(store, said("quick")).version.last_seq == 1
        assert slow.result().version.last_seq == 2
    assert texts(store) == ["quick", "slow"]


@pytest.mark.parametrize("fault", [throttled, failed, unanswered, late], ids=lambda fault: fault.__name__)
def test_a_large_body_that_cannot_be_fetched_is_not_an_empty_one(
    microburst: Microburst, store: DynamoDBSessionRepository, fault: Callable[[Microburst, str, str], None]
) -> None:
    """The reader is told to come again, and then gets it."""
    store.create(a_session(), now=START)
    append(store, said(BIG))
    fault(microburst, "s3", "GetObject")
    with pytest.raises(StoreUnavailable):
        store.read("s")
    assert texts(store) == [BIG]


@pytest.mark.slow
def test_writers_in_a_storm_of_faults_leave_a_log_without_gaps(microburst: Microburst, make: Make) -> None:
    """Four writers, ten events each, while a quarter of all puts is refused, failed or not answered."""
    make("acme").create(a_session(), now=START)
    for fault in (
        {"error": {"code": "ThrottlingException"}},
        {"error": {"code": "InternalServerError", "status": 500}},
        {"response": {"abort_bytes": 0}},
    ):
        microburst.inject({"service": "dynamodb", "operation": "PutItem", "sequence": [1, 10], **fault})

    def write(i: int) -> list[int | None]:
        mine, seqs = make("acme"), list[int | None]()
        for n in range(10):
            draft = said(f"{i}.{n}", f"{i}.{n}")
            seqs.append(until_answered(partial(append, mine, draft), tries=20).events[0].seq)
        return seqs

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(write, range(4)))
    assert len(microburst.fired()) > 5
    microburst.clear()
    log = make("acme").read("s")
    assert [event.seq for event in log] == list(range(1, 41))
    at = {event.seq: event.message.text for event in log}
    assert [[at[seq] for seq in seqs if seq] for seqs in answers] == [[f"{i}.{n}" for n in range(10)] for i in range(4)]


# ------------------------------------------------------------------ over HTTP


class Function(httpx.BaseTransport):
    """The function in process, behind an authorizer that knows one user."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """One request through the function."""
        event = http_event(
            request.method,
            request.url.raw_path.decode().partition("?")[0],
            query=request.url.query.decode(),
            body=request.read().decode() or None,
            headers=dict(request.headers),
            claims={"custom:tenant": "acme", "sub": "alice"},
        )
        reply = self._api.invoke(event)
        return httpx.Response(reply.status, headers=dict(reply.headers), content=reply.content)


@pytest.fixture
def client(make: Make) -> Iterator[Client]:
    """An HTTP client, before the function, before the store, before the proxy, before the engine."""
    transport = Function(Api(repository_for=make))
    with Client("https://api.example.test", token="t", transport=transport, sleep=lambda seconds: None) as client:
        yield client


@pytest.mark.slow
@pytest.mark.parametrize("fault", [throttled, failed, unanswered, late], ids=lambda fault: fault.__name__)
def test_over_http_a_conversation_survives_a_fault_in_each_call(
    microburst: Microburst, client: Client, fault: Callable[[Microburst, str, str], None]
) -> None:
    """The caller of the client notices nothing: every step once, in order."""
    session = client.session("s")
    for operation in ("TransactWriteItems", "Query"):
        fault(microburst, "dynamodb", operation)
    session.create(metadata={"n": 1})
    for i, operation in enumerate(("Query", "PutItem", "Query", "PutItem")):
        fault(microburst, "dynamodb", operation)
        assert session.append(user(str(i)), user("again")).last_seq == 2 * i + 2
    fault(microburst, "dynamodb", "GetItem")
    assert [e.message.text for e in session.events(page_size=3)] == [t for i in range(4) for t in (str(i), "again")]
    fault(microburst, "dynamodb", "UpdateItem")
    assert session.update(metadata={"n": 2}).metadata == {"n": 2}
    assert len(microburst.fired()) == 8
    for operation in ("Query", "UpdateItem"):
        fault(microburst, "dynamodb", operation)
    session.delete()
    microburst.clear()
    assert list(client.sessions()) == []
