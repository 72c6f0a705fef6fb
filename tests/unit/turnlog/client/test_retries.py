"""Retries: what is repeated, for how long, and that nothing is ever lost or doubled by it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.support.fake_api import (
    TOKEN,
    URL,
    FakeApi,
    Fault,
    answer_lost,
    answered,
    answered_after,
    request_lost,
    unreachable,
)
from turnlog.client import (
    ApiError,
    Client,
    ClientError,
    Conflict,
    ConnectionFailed,
    InvalidRequest,
    PreconditionFailed,
    RateLimited,
    Session,
    SessionNotFound,
    StoreUnavailable,
    TimedOut,
    UnexpectedResponse,
    user,
)
from turnlog.client._answers import Answer
from turnlog.client._calls import get_session
from turnlog.client._retry import Attempts, Lost, Pause, RetryPolicy

TRANSIENT: dict[str, Fault] = {
    "unreachable": unreachable,
    "request lost": request_lost,
    "answer lost": answer_lost,
    "gateway tired, work done": answered_after(504),
    "store unavailable": answered(503, {"code": "store-unavailable", "retryable": True}),
    "502": answered(502, "<html>bad gateway</html>"),
    "503": answered(503, {"message": "Service Unavailable"}),
    "504": answered(504),
    "429": answered(429, {"message": "Too Many Requests"}),
    "409 that says so": answered(409, {"code": "turn-open", "retryable": True}),
}


@pytest.fixture(params=list(TRANSIENT.values()), ids=list(TRANSIENT))
def fault(request: pytest.FixtureRequest) -> Fault:
    """Each way in which a request can fail for now."""
    fault: Fault = request.param
    return fault


@pytest.fixture
def session(client: Client) -> Session:
    """A session that exists."""
    session = client.session("s1")
    session.create()
    return session


# --------------------------------------------------------------------------- nothing lost, nothing doubled


def test_an_append_survives_any_transient_fault(session: Session, api: FakeApi, fault: Fault) -> None:
    """Both events are there once, in their order."""
    api.fail(fault, fault)
    result = session.append(user("a"), user("b"))

    assert ["a", "b"] == [event.message.text for event in api.log("s1")]
    assert [1, 2] == [event.seq for event in result.events]


def test_every_attempt_sends_the_same_bytes(session: Session, api: FakeApi) -> None:
    """Ids are made before the first one."""
    api.requests.clear()
    api.fail(answer_lost, answer_lost)
    session.append(user("a"), user("a"))

    assert 3 == len(api.requests)
    assert 1 == len({request.content for request in api.requests})


def test_a_create_survives_any_transient_fault(client: Client, api: FakeApi, fault: Fault) -> None:
    """A lost answer is replayed, not taken for somebody else's session."""
    api.fail(fault, fault)

    assert "s1" == client.session("s1").create(metadata={"a": 1}).id
    assert 1 == len({request.headers["idempotency-key"] for request in api.requests})


def test_two_creates_never_share_a_key(client: Client, api: FakeApi) -> None:
    """Else the second would be answered like the first."""
    client.session("s1").create()
    client.session("s2").create()

    assert 2 == len({request.headers["idempotency-key"] for request in api.requests})


def test_an_append_that_creates_survives_any_transient_fault(client: Client, api: FakeApi, fault: Fault) -> None:
    """Session and event, once each."""
    api.fail(fault)
    client.session("new").append(user("a"), create_if_missing=True)

    assert ["a"] == [event.message.text for event in api.log("new")]


def test_an_append_under_if_match_does_not_fail_against_itself(session: Session, api: FakeApi) -> None:
    """The lost attempt moved the version on; a replay is not compared with it."""
    seen = session.get().etag
    api.fail(answer_lost)

    assert 1 == session.append(user("a"), if_match=seen).last_seq


def test_reads_survive_any_transient_fault(session: Session, api: FakeApi, fault: Fault) -> None:
    """Page by page."""
    session.append(*(user(str(i)) for i in range(4)))
    api.fail(fault)

    assert ["0", "1", "2", "3"] == [event.message.text for event in session.events(page_size=2)]
    api.fail(fault)
    assert 4 == session.get().last_seq


def test_a_delete_whose_answer_was_lost_has_succeeded(session: Session, api: FakeApi) -> None:
    """The 404 of the second attempt is the work of the first."""
    api.fail(answer_lost)
    session.delete()

    with pytest.raises(SessionNotFound):
        session.get()


def test_a_delete_that_a_tired_gateway_cut_off_has_succeeded(session: Session, api: FakeApi) -> None:
    """The function went on working behind the 504."""
    api.fail(answered_after(504))
    session.delete()

    assert 3 == len(api.requests)


@pytest.mark.parametrize("fault", [unreachable, answered(429)], ids=["unreachable", "429"])
def test_a_delete_that_never_arrived_is_not_taken_for_done(client: Client, api: FakeApi, fault: Fault) -> None:
    """Then 404 means what it says."""
    api.fail(fault)

    with pytest.raises(SessionNotFound):
        client.session("nobody").delete()


def test_only_a_missing_session_counts_as_deleted(session: Session, api: FakeApi) -> None:
    """A gateway that knows no such path says 404 too."""
    api.fail(answer_lost, answered(404, {"message": "Not Found"}))

    with pytest.raises(ApiError, match="Not Found") as caught:
        session.delete()
    assert not isinstance(caught.value, SessionNotFound)


def test_a_refusal_that_may_be_our_own_doing_says_so(session: Session, api: FakeApi) -> None:
    """A PATCH under If-Match whose answer was lost: the retry meets its own change."""
    seen = session.get().etag
    api.fail(answer_lost)

    with pytest.raises(PreconditionFailed) as caught:
        session.update(metadata={"a": 1}, if_match=seen)

    assert "may have been carried out" in caught.value.__notes__[0]
    assert {"a": 1} == session.get().metadata


def test_a_plain_refusal_has_no_such_note(session: Session, api: FakeApi) -> None:
    """Nothing was in doubt."""
    api.fail(unreachable)
    with pytest.raises(PreconditionFailed) as caught:
        session.update(metadata={"a": 1}, if_match='"1.1.1.1"')

    assert not hasattr(caught.value, "__notes__")


# --------------------------------------------------------------------------- how often, how long


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 405, 409, 412, 413, 415, 422, 500])
def test_other_statuses_are_final(session: Session, api: FakeApi, pauses: list[float], status: int) -> None:
    """The same request would get the same answer."""
    api.requests.clear()
    api.fail(answered(status, {"message": "no"}))

    with pytest.raises(ClientError):
        session.append(user("a"))
    assert (1, []) == (len(api.requests), pauses)


def test_a_body_that_says_not_retryable_is_believed(session: Session, api: FakeApi, pauses: list[float]) -> None:
    """Over its status."""
    api.fail(answered(503, {"code": "store-unavailable", "retryable": False}))

    with pytest.raises(StoreUnavailable):
        session.get()
    assert [] == pauses


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (unreachable, ConnectionFailed),
        (answer_lost, TimedOut),
        (answered(503), StoreUnavailable),
        (answered(429), RateLimited),
    ],
)
def test_attempts_are_bounded(session: Session, api: FakeApi, fault: Fault, error: type[Exception]) -> None:
    """The last failure is raised."""
    api.requests.clear()
    api.fail(*[fault] * 9)

    with pytest.raises(error):
        session.get()
    assert 5 == len(api.requests)


def test_one_attempt_means_no_retry(api: FakeApi) -> None:
    """For callers that have retries of their own."""
    api.fail(unreachable)

    with (
        Client(URL, token=TOKEN, transport=httpx.MockTransport(api), max_attempts=1) as client,
        pytest.raises(ConnectionFailed),
    ):
        client.session("s1").create()
    assert 1 == len(api.requests)


def test_a_failed_call_can_be_taken_up_again_with_its_key(session: Session, api: FakeApi) -> None:
    """The attempts are used up, but the first one had stored everything."""
    api.fail(answer_lost, *[unreachable] * 4)
    with pytest.raises(ConnectionFailed) as caught:
        session.append(user("a"), user("b"))
    assert "may have been carried out" in caught.value.__notes__[0]

    result = session.append(user("a"), user("b"), idempotency_key=caught.value.idempotency_key)

    assert result.all_replayed
    assert ["a", "b"] == [event.message.text for event in api.log("s1")]


def test_pauses_grow_are_random_and_have_a_ceiling() -> None:
    """Full jitter: anything from 0 to a bound that doubles."""
    bounds: list[tuple[float, float]] = []

    def uniform(low: float, high: float) -> float:
        bounds.append((low, high))
        return high / 2

    attempts = Attempts(get_session("s"), RetryPolicy(max_attempts=8), clock=lambda: 0.0, uniform=uniform)
    pauses = [attempts.judge(Answer(503)) for _ in range(7)]

    assert [(0.0, bound) for bound in (0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0)] == bounds
    assert [Pause(high / 2) for _, high in bounds] == pauses


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "3"}, 3),
        ({"retry_after": "Wed, 21 Oct 2026 07:28:09 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 9),
        ({"retry_after": "Wed, 21 Oct 2026 07:28:00 GMT", "date": "Wed, 21 Oct 2026 07:28:09 GMT"}, 0),
        ({"retry_after": "Wed, 21 Oct 2026 07:28:09 GMT"}, 0),
        ({"retry_after": "soon"}, 0),
        ({"retry_after": "-5"}, 0),
    ],
)
def test_the_server_may_say_when(
    session: Session, api: FakeApi, pauses: list[float], headers: dict[str, str], seconds: float
) -> None:
    """Seconds or a date; jitter comes on top, so that not everybody returns at once."""
    api.fail(answered(503, "", **headers))
    session.get()

    assert seconds <= pauses[0] <= seconds + 0.2


def test_a_wait_beyond_the_total_time_is_not_begun(session: Session, api: FakeApi, pauses: list[float]) -> None:
    """The caller learns at once how long it would take."""
    api.fail(answered(429, "", retry_after="3600"))

    with pytest.raises(RateLimited) as caught:
        session.get()
    assert (3600, []) == (caught.value.retry_after, pauses)


def test_time_that_attempts_take_counts() -> None:
    """No attempt starts after the total."""
    moments: Iterator[float] = iter([0.0, 30.0, 59.9])
    attempts = Attempts(
        get_session("s"), RetryPolicy(total_seconds=60), clock=moments.__next__, uniform=lambda low, high: high
    )
    slow = Lost(TimedOut("slow"), reached=True)

    assert Pause(0.2) == attempts.judge(slow)
    with pytest.raises(TimedOut):
        attempts.judge(slow)


def test_a_token_is_asked_for_before_each_attempt(api: FakeApi) -> None:
    """A token may run out while the client waits."""
    tokens = iter(["stale", TOKEN, TOKEN])
    api.fail(answered(503), answered(503))
    client = Client(URL, token_provider=tokens.__next__, transport=httpx.MockTransport(api), sleep=lambda seconds: None)

    with client:
        client.session("s1").create()
    assert ["Bearer stale", f"Bearer {TOKEN}", f"Bearer {TOKEN}"] == [
        request.headers["authorization"] for request in api.requests
    ]


def test_a_retry_is_logged_without_secrets(session: Session, api: FakeApi, caplog: pytest.LogCaptureFixture) -> None:
    """What was tried, why again, and when."""
    caplog.set_level(logging.DEBUG)
    api.fail(answer_lost)
    session.append(user("private words"))

    records = [r.getMessage() for r in caplog.records if r.name == "turnlog.client"]
    assert 1 == len(records)
    assert records[0].startswith("POST /v1/sessions/s1/events: timed-out (attempt 1 of 5); again in ")
    assert TOKEN not in caplog.text
    assert "private words" not in caplog.text


def _raiser(error: Callable[[], Exception]) -> Fault:
    def fault(request: httpx.Request, serve: Callable[[], httpx.Response]) -> httpx.Response:
        raise error()

    return fault


def test_what_no_retry_can_mend_is_raised_at_once(session: Session, api: FakeApi, pauses: list[float]) -> None:
    """An undecodable answer, a request that httpx refuses to write."""
    api.fail(_raiser(lambda: httpx.DecodingError("bad gzip")))
    with pytest.raises(UnexpectedResponse):
        session.get()
    api.fail(_raiser(lambda: httpx.LocalProtocolError("illegal")))
    with pytest.raises(ConnectionFailed):
        session.get()

    assert [] == pauses


def test_a_programming_error_is_not_dressed_up(session: Session, api: FakeApi) -> None:
    """Only httpx's own errors are translated."""
    api.fail(_raiser(lambda: ZeroDivisionError("bug")))

    with pytest.raises(ZeroDivisionError):
        session.get()


def test_a_key_that_no_header_can_hold_is_refused(session: Session, api: FakeApi) -> None:
    """Before anything is sent."""
    sent = len(api.requests)
    for key in ("a\nb", " k", "clé"):
        with pytest.raises(InvalidRequest) as caught:
            session.append(user("a"), idempotency_key=key)
        assert "header:Idempotency-Key" == caught.value.errors[0].pointer
    with pytest.raises(InvalidRequest) as caught:
        session.delete(if_match='"1"\r\nX: y')
    assert "header:If-Match" == caught.value.errors[0].pointer
    assert sent == len(api.requests)


def test_a_conflict_that_is_not_retryable_is_raised(session: Session, api: FakeApi) -> None:
    """A code that this client does not know falls back to its status."""
    api.fail(answered(409, {"code": "turn-open", "detail": "A turn is open."}))

    with pytest.raises(Conflict, match=r"A turn is open\."):
        session.append(user("a"))
