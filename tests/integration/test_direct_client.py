"""The client of Lambda's functions through the fault proxy, on a real engine: its attempts lose and double nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.engine import Microburst
from turnlog.domain.errors import StoreUnavailable
from turnlog.domain.event import EventDraft
from turnlog.domain.message import Message
from turnlog.domain.ports import AppendRequest
from turnlog.stores.dynamodb import DynamoDBSessionRepository, connect
from turnlog.stores.dynamodb.direct import Credentials, DirectClient, Environment
from turnlog.testing.builders import START, a_session

pytestmark = pytest.mark.engine

FAULTS: dict[str, Callable[[Microburst, str], None]] = {
    "throttled": lambda proxy, operation: proxy.throttle(operation),
    "failed": lambda proxy, operation: proxy.fail(operation, service="dynamodb"),
    "unanswered": lambda proxy, operation: proxy.lose_answer(operation, service="dynamodb"),
    "late": lambda proxy, operation: proxy.delay(operation, 700, service="dynamodb"),
}


@pytest.fixture
def store(microburst: Microburst, engine_table: str) -> DynamoDBSessionRepository:
    """One tenant's repository over a direct client through the proxy, with a session."""
    place = Environment(f"{microburst.url}/", "us-east-1", Credentials("testing", "testing", None))
    client = DirectClient.connect(place, connect_timeout=2, read_timeout=0.4, attempts=3)
    made = connect(engine_table, "no-bucket", client=client, clock=lambda: START)("acme")
    made.save(a_session("s"))
    return made


def append(store: DynamoDBSessionRepository, text: str) -> None:
    """One event."""
    store.append(AppendRequest("s", (EventDraft(Message.user(text)),), START))


def texts(store: DynamoDBSessionRepository) -> list[str | None]:
    """The log."""
    return [event.message.text for event in store.read("s")]


@pytest.mark.parametrize("operation", ["Query", "PutItem"])
@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
def test_one_fault_is_made_good(
    fault: Callable[[Microburst, str], None], operation: str, store: DynamoDBSessionRepository, microburst: Microburst
) -> None:
    """The append is there, once, and the next one behind it."""
    fault(microburst, operation)
    append(store, "one")
    append(store, "two")

    assert 1 == len(microburst.fired())
    assert ["one", "two"] == texts(store)


def test_a_transaction_whose_answer_is_lost_is_done_once(
    store: DynamoDBSessionRepository, microburst: Microburst
) -> None:
    """Its token makes the second attempt the first one again: a session of that id is no conflict with itself."""
    microburst.lose_answer("TransactWriteItems", service="dynamodb")
    store.save(a_session("t"))

    assert ["s", "t"] == sorted(session.id for session in store.list_by_user(a_session("t").user_id))


def test_who_is_never_answered_is_told_so(engine_table: str) -> None:
    """Nothing listens there."""
    place = Environment("http://127.0.0.1:9/", "us-east-1", Credentials("testing", "testing", None))
    client = DirectClient.connect(place, connect_timeout=1, read_timeout=1, attempts=1)
    made = connect(engine_table, "no-bucket", client=client, clock=lambda: START)("acme")
    with pytest.raises(StoreUnavailable):
        made.find("s")
