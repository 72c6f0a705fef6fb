"""append_all: any number of events, in requests that fit, gone on with after a failure."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.fake_api import FakeApi, answer_lost, answered, unreachable
from turnlog.client import (
    Client,
    ClientError,
    ConnectionFailed,
    InvalidRequest,
    Message,
    Session,
    SessionNotFound,
    StoreUnavailable,
    draft,
    user,
)
from turnlog.client._calls import MAX_BATCH, MAX_BODY_BYTES, MAX_ESCAPED_BYTES, batches
from turnlog.domain.exactjson import loads


@pytest.fixture
def session(client: Client, api: FakeApi) -> Session:
    """A session that exists; its creation is not counted."""
    session = client.session("s1")
    session.create()
    api.requests.clear()
    return session


def messages(count: int) -> list[Message]:
    """So many, all different."""
    return [user(str(i)) for i in range(count)]


def stored(api: FakeApi) -> list[str | None]:
    """The texts of the log."""
    return [event.message.text for event in api.log("s1")]


def test_many_events_go_in_requests_of_a_hundred(session: Session, api: FakeApi) -> None:
    """In their order, and the answer says where each stands."""
    appended = session.append_all(messages(250))

    assert [str(i) for i in range(250)] == stored(api)
    assert list(range(1, 251)) == [event.seq for event in appended]
    assert [100, 100, 50] == [len(loads(request.content)["events"]) for request in api.requests]


def test_no_events_make_no_request_and_no_session(client: Client, api: FakeApi) -> None:
    """Saving nothing is nothing."""
    assert () == client.session("new").append_all([], create_if_missing=True)
    assert [] == api.requests


def test_a_generator_is_read_as_it_is_sent(session: Session, api: FakeApi) -> None:
    """The first request leaves before the second's events exist."""
    seen: list[int] = []

    def events() -> Iterator[Message]:
        for i in range(201):
            seen.append(len(api.requests))
            yield user(str(i))

    session.append_all(events())

    assert [0] * 101 + [1] * 100 == seen
    assert 201 == len(stored(api))


def test_a_lost_answer_in_the_middle_doubles_nothing(session: Session, api: FakeApi) -> None:
    """Field case C15: the second of three was stored, and is sent again."""
    api.fail(lambda _, serve: serve(), answer_lost)
    session.append_all(messages(250))

    assert [str(i) for i in range(250)] == stored(api)
    assert 4 == len(api.requests)


def test_it_goes_on_where_it_stopped_with_the_key_of_the_error(session: Session, api: FakeApi) -> None:
    """Field case C15, when the retries are used up too."""
    api.fail(lambda _, serve: serve(), answer_lost, *[unreachable] * 4)
    with pytest.raises(ConnectionFailed) as caught:
        session.append_all(messages(250))
    assert 200 == len(stored(api))

    appended = session.append_all(messages(250), idempotency_key=caught.value.idempotency_key)

    assert [str(i) for i in range(250)] == stored(api)
    assert [True] * 200 + [False] * 50 == [event.replayed for event in appended]
    assert list(range(1, 251)) == [event.seq for event in appended]


def test_a_key_of_ones_own_goes_on_from_another_process(session: Session, api: FakeApi) -> None:
    """And with more events than the first time."""
    session.append_all(messages(120), idempotency_key="import-42")
    session.append_all(messages(130), idempotency_key="import-42")

    assert [str(i) for i in range(130)] == stored(api)
    assert all("idempotency-key" not in request.headers for request in api.requests)


def test_every_error_has_the_key(session: Session, api: FakeApi) -> None:
    """Refusals and lost connections alike; each call its own."""
    keys = set()
    for fault in (answered(500), answered(302), answered(201, "not JSON"), answered(404)):
        api.fail(fault)
        with pytest.raises(ClientError) as caught:
            session.append_all(messages(1))
        keys.add(caught.value.idempotency_key)

    assert 4 == len(keys - {None})


def test_positions_in_errors_count_in_the_callers_list(session: Session, api: FakeApi) -> None:
    """The 150th event is the 51st of its request."""
    events: list[Message | dict[str, str]] = [*messages(150), {"role": "nobody", "content": ""}]

    with pytest.raises(InvalidRequest) as caught:
        session.append_all(events)

    assert ["/events/150/message/role"] == [e.pointer for e in caught.value.errors]
    assert 100 == len(stored(api))


def test_requests_stay_under_the_size_limit(session: Session, api: FakeApi) -> None:
    """Seven messages of a megabyte: three, three and one."""
    session.append_all([user("x" * 1_000_000) for _ in range(7)])

    assert [3, 3, 1] == [len(loads(request.content)["events"]) for request in api.requests]


def test_bytes_are_counted_not_characters() -> None:
    """An emoji is four of them."""
    sizes = [sum(len(e.encode()) for e in b.events) for b in batches([user("🙂" * 200_000)] * 9, "k")]

    assert [3_200_000, 3_200_000, 800_000] == [size // 100_000 * 100_000 for size in sizes]
    assert max(sizes) <= MAX_BODY_BYTES


def test_quotes_and_escapes_count_twice() -> None:
    """The gateway hands the body over as a JSON string, in which each is escaped once more."""
    found = list(batches([user('"' * 400_000)] * 6, "k"))

    escaped = [sum(len(e) + e.count('"') + e.count("\\") for e in batch.events) for batch in found]
    assert max(escaped) <= MAX_ESCAPED_BYTES
    assert [3, 3] == [len(batch.events) for batch in found]


def test_an_event_over_the_limit_goes_alone() -> None:
    """The server says what it thinks of it."""
    big = user("x" * (MAX_BODY_BYTES + 1))

    assert [(0, 1), (1, 1), (2, 1)] == [(b.first, len(b.events)) for b in batches([user("a"), big, user("b")], "k")]


@pytest.mark.parametrize("count", [1, MAX_BATCH, MAX_BATCH + 1, 3 * MAX_BATCH])
def test_batches_lose_nothing(count: int) -> None:
    """Each event is in exactly one, and no batch is empty."""
    found = list(batches(messages(count), "k"))

    assert [str(i) for i in range(count)] == [loads(e)["message"]["content"] for b in found for e in b.events]
    assert [b.first for b in found] == list(range(0, count, MAX_BATCH))


def test_the_first_request_may_create_the_session(client: Client, api: FakeApi) -> None:
    """As with append."""
    with pytest.raises(SessionNotFound):
        client.session("s1").append_all(messages(3))
    client.session("s1").append_all(messages(101), create_if_missing=True)

    assert 101 == len(stored(api))


def test_given_ids_are_kept(session: Session, api: FakeApi) -> None:
    """So that a history with ids of its own can be imported again."""
    history = [draft(user(str(i)), id=f"m{i}") for i in range(101)]
    session.append_all(history)
    session.append_all(history)

    assert [f"m{i}" for i in range(101)] == [event.id for event in api.log("s1")]


def test_what_is_refused_in_the_middle_leaves_what_came_before(session: Session, api: FakeApi) -> None:
    """Each request is all or nothing; the whole is not."""
    api.fail(lambda _, serve: serve(), answered(503, {"retryable": False}))

    with pytest.raises(StoreUnavailable):
        session.append_all(messages(250))
    assert 100 == len(stored(api))
