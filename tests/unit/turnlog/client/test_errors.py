"""Errors: every answer and every accident is told by the right class, with everything known."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar

import httpx
import pytest

from tests.support.fake_api import FakeApi, answered
from turnlog.client import (
    ApiError,
    Client,
    ClientError,
    Conflict,
    ConnectionFailed,
    FieldError,
    Forbidden,
    InvalidRequest,
    MalformedJson,
    NotFound,
    PayloadTooLarge,
    PreconditionFailed,
    Problem,
    RateLimited,
    SessionNotFound,
    StoreUnavailable,
    TimedOut,
    Unauthorized,
    UnexpectedResponse,
    draft,
    errors,
    tool_call,
    user,
)
from turnlog.client._answers import _ATTRIBUTES
from turnlog.client._http import lost
from turnlog.domain import errors as domain

VALID_SESSION: dict[str, Any] = {
    "id": "s1",
    "user_id": "ann",
    "created_at": "2026-01-01T00:00:00.000Z",
    "expires_at": None,
    "metadata": {},
    "compaction": None,
    "allow_system_messages": None,
    "version": 0,
    "last_seq": 0,
    "generation": 0,
}


E = TypeVar("E", bound=Exception)


def below(base: type[E]) -> Iterator[type[E]]:
    """Every class below one, however far."""
    for child in base.__subclasses__():
        yield child
        yield from below(child)


DOMAIN = sorted({e for e in below(domain.TurnlogError) if e.__module__ == domain.__name__}, key=lambda e: e.__name__)
OWN = sorted(
    {e for e in below(errors.ClientError) if vars(errors).get(e.__name__) is e} | {ClientError},
    key=lambda e: e.__name__,
)
HTTPX: list[type[httpx.RequestError]] = sorted(
    {httpx.RequestError, *below(httpx.RequestError)}, key=lambda e: e.__name__
)


def refused(client: Client, api: FakeApi, status: int, body: object = "", **headers: str) -> ApiError:
    """What the client raises for such an answer."""
    api.fail(*[answered(status, body, **headers)] * 5)  # type: ignore[arg-type]
    with pytest.raises(ApiError) as caught:
        client.session("s1").get()
    api.faults.clear()
    return caught.value


@pytest.mark.parametrize("kind", DOMAIN, ids=lambda kind: kind.__name__)
def test_each_domain_error_comes_back_as_itself(client: Client, api: FakeApi, kind: type[domain.TurnlogError]) -> None:
    """Raised by the service or answered by the server, ``except`` is the same."""
    body = {"code": kind.code, "detail": "It was so.", "errors": [{"pointer": "/a", "detail": "b"}]}
    error = refused(client, api, 418, body)

    assert isinstance(error, kind)
    assert kind is errors.__dict__[kind.__name__]
    assert (kind.__name__, kind.retryable, kind.code) == (type(error).__name__, error.retryable, error.code)
    assert ("It was so.", "It was so.", (FieldError("/a", "b"),)) == (str(error), error.detail, error.errors)


def test_an_error_tells_the_whole_problem(client: Client, api: FakeApi) -> None:
    """Status, request id, and every member of the body."""
    body = {"status": 422, "code": "invalid-request", "title": "Invalid", "detail": "No.", "request_id": "r1", "x": 1.0}
    error = refused(client, api, 422, body)

    assert (422, "r1", "Invalid", None, None) == (
        error.status,
        error.request_id,
        error.problem.title,
        error.problem.retryable,
        error.problem.retry_after,
    )
    assert body == error.problem.body


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ApiError),
        (401, Unauthorized),
        (403, Forbidden),
        (404, NotFound),
        (405, ApiError),
        (409, Conflict),
        (412, PreconditionFailed),
        (413, PayloadTooLarge),
        (415, ApiError),
        (422, InvalidRequest),
        (429, RateLimited),
        (500, ApiError),
        (502, StoreUnavailable),
        (503, StoreUnavailable),
        (504, StoreUnavailable),
        (599, ApiError),
    ],
)
@pytest.mark.parametrize("body", ["", "<html>", "[]", '{"message":"Gateway says no"}', '{"code":"brand-new"}'])
def test_without_a_known_code_the_status_decides(
    client: Client, api: FakeApi, status: int, kind: type[Exception], body: str
) -> None:
    """The gateway answers some things by itself, and a newer server may know more codes."""
    error = refused(client, api, status, body, apigw_requestid="gw-1")

    assert isinstance(error, kind)
    if kind is ApiError:
        assert type(error) is ApiError
    assert (status, "gw-1") == (error.status, error.request_id)
    assert str(error) == ("Gateway says no" if "message" in body else f"The server answered {status}.")


def test_a_wrong_token_is_unauthorized(api: FakeApi) -> None:
    """The gateway's own answer."""
    with (
        Client("https://api.example.test/prefix", token="wrong", transport=httpx.MockTransport(api)) as client,
        pytest.raises(Unauthorized, match="Unauthorized") as caught,
    ):
        client.session("s1").get()

    assert (401, "gw-1") == (caught.value.status, caught.value.request_id)


def test_what_the_domain_errors_carry_is_filled_in(client: Client, api: FakeApi) -> None:
    """From the problem, from its headers, or from what was asked."""
    gone = refused(client, api, 404, {"code": "session-not-found"})
    assert isinstance(gone, SessionNotFound)
    assert "s1" == gone.session_id

    stale = refused(client, api, 412, {"code": "precondition-failed", "version": '"17.4.2"'})
    assert isinstance(stale, PreconditionFailed)
    assert ('"17.4.2"', 6) == (stale.version, stale.number)

    large = refused(client, api, 413, {"code": "payload-too-large", "limit_bytes": 4194304})
    assert isinstance(large, PayloadTooLarge)
    assert 4194304 == large.limit_bytes

    busy = refused(client, api, 503, {"code": "store-unavailable"}, retry_after="7")
    assert isinstance(busy, StoreUnavailable)
    assert 7 == busy.retry_after


@pytest.mark.parametrize("kind", DOMAIN, ids=lambda kind: kind.__name__)
def test_no_attribute_of_a_domain_error_is_forgotten(kind: type[domain.TurnlogError]) -> None:
    """What its constructor sets, the client sets."""
    names = set(kind.__init__.__code__.co_names) - set(domain.TurnlogError.__init__.__code__.co_names)
    stored = {
        name for name in names if name in {"session_id", "event_id", "ref", "id", "version", "number", "limit_bytes"}
    }
    stored |= names & {"pass_id", "retry_after"}

    assert stored == set(_ATTRIBUTES.get(kind.__name__, ()))


@pytest.mark.parametrize("kind", [*DOMAIN, *OWN], ids=lambda kind: kind.__name__)
def test_every_error_is_drawn_exported_and_described(kind: type[Exception]) -> None:
    """A reader finds all of them at the top of the module."""
    assert kind.__name__ in (errors.__doc__ or "").split()
    assert kind.__name__ in errors.__all__
    assert kind.__doc__
    assert all(kind.__doc__ != base.__doc__ for base in kind.__mro__[1:])


def test_no_two_errors_share_a_code() -> None:
    """A program tells them apart by ``code`` alone."""
    kinds: list[type[domain.TurnlogError]] = [domain.TurnlogError, *DOMAIN, *OWN]

    assert len(kinds) == len({kind.code for kind in kinds})


@pytest.mark.parametrize("code", ["session-not-found", "precondition-failed", "unauthorized", "brand-new"])
def test_an_answered_error_can_be_sent_to_another_process(client: Client, api: FakeApi, code: str) -> None:
    """Task queues pickle what went wrong."""
    error = refused(client, api, 418, {"code": code, "detail": "No.", "version": '"1.2.3"'})
    error.add_note("seen")

    copy = pickle.loads(pickle.dumps(error))

    assert type(error) is type(copy)
    assert (vars(error), str(error)) == (vars(copy), str(copy))


@pytest.mark.parametrize(
    "error", [ConnectionFailed("a"), TimedOut("b"), UnexpectedResponse("c", status=302, request_id="r")]
)
def test_the_other_errors_too(error: ClientError) -> None:
    """With what they carry."""
    copy = pickle.loads(pickle.dumps(error))

    assert (type(error), str(error), vars(error)) == (type(copy), str(copy), vars(copy))


# --------------------------------------------------------------------------- answers that are none


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<html>hello</html>",
        "[]",
        "{}",
        '{"a":1,"a":2}',
        *({k: v for k, v in VALID_SESSION.items() if k != missing} for missing in ("id", "created_at", "version")),
        VALID_SESSION | {"created_at": "yesterday"},
        VALID_SESSION | {"last_seq": True},
        VALID_SESSION | {"metadata": []},
    ],
    ids=str,
)
def test_an_answer_of_another_shape_is_unexpected(client: Client, api: FakeApi, body: object) -> None:
    """A captive portal's page is not a session."""
    api.fail(answered(200, body, etag='"1.0.0.0"', x_request_id="r1"))  # type: ignore[arg-type]

    with pytest.raises(UnexpectedResponse) as caught:
        client.session("s1").get()
    assert (200, "r1") == (caught.value.status, caught.value.request_id)


@pytest.mark.parametrize("etag", [{}, {"etag": "W/abc"}, {"etag": "1.0.0"}])
def test_an_answer_without_its_tag_is_unexpected(client: Client, api: FakeApi, etag: dict[str, str]) -> None:
    """Without one, ``if_match=info.etag`` would guard nothing."""
    api.fail(answered(200, VALID_SESSION, **etag))

    with pytest.raises(UnexpectedResponse, match="ETag"):
        client.session("s1").get()


def test_a_tag_that_a_proxy_has_weakened_is_mended(client: Client, api: FakeApi) -> None:
    """The server compares strong tags only."""
    api.fail(answered(200, VALID_SESSION | {"from_the_future": 1}, etag='W/"1.0.0.0"'))

    assert '"1.0.0.0"' == client.session("s1").get().etag


def test_a_redirect_is_not_followed(client: Client, api: FakeApi) -> None:
    """The token would go along."""
    api.fail(answered(302, "", location="https://elsewhere.example/"))

    with pytest.raises(UnexpectedResponse, match="302"):
        client.session("s1").get()
    assert 1 == len(api.requests)


def test_an_event_without_message_and_link_is_not_taken_for_an_empty_one(client: Client, api: FakeApi) -> None:
    """The API promises one of them."""
    event = {"id": "e", "seq": 1, "timestamp": "2026-01-01T00:00:00Z", "archived": False}
    api.fail(answered(200, {"data": [event], "next_cursor": None}))

    with pytest.raises(UnexpectedResponse, match="message"):
        list(client.session("s1").events())


# --------------------------------------------------------------------------- accidents


@pytest.mark.parametrize("kind", HTTPX, ids=lambda kind: kind.__name__)
def test_every_error_of_httpx_is_translated(kind: type[httpx.RequestError]) -> None:
    """By its kind: what never left may be repeated without doubt, the rest may have arrived."""
    cause = kind("some reason")
    failure = lost(cause, "https://api.example.test")

    assert cause is failure.error.__cause__
    assert "some reason" in str(failure.error)
    assert isinstance(failure.error, TimedOut) == issubclass(kind, httpx.TimeoutException)
    assert failure.reached == (
        kind.__name__
        not in {
            "ConnectError",
            "ConnectTimeout",
            "LocalProtocolError",
            "PoolTimeout",
            "ProxyError",
            "UnsupportedProtocol",
        }
    )
    assert failure.retry == (
        kind.__name__ not in {"DecodingError", "LocalProtocolError", "TooManyRedirects", "UnsupportedProtocol"}
    )


def test_a_problem_is_a_value() -> None:
    """Equal when it says the same."""
    assert Problem(404, "gone") == Problem(404, "gone")


# --------------------------------------------------------------------------- what is never sent

CYCLE: dict[str, object] = {}
CYCLE["self"] = CYCLE
REFUSED: dict[str, tuple[Callable[[Client], object], type[domain.TurnlogError], str]] = {
    "NaN": (
        lambda c: c.session("s").append({"role": "user", "content": float("nan")}),
        MalformedJson,
        "/events/0/message",
    ),
    "Decimal": (lambda c: c.session("s").create(metadata={"a": Decimal(1)}), MalformedJson, "/metadata"),
    "bytes": (lambda c: c.session("s").update(metadata={"a": b"x"}), MalformedJson, "/metadata"),
    "cycle": (lambda c: c.session("s").update(metadata=CYCLE), MalformedJson, "/metadata"),
    "NaN seconds": (lambda c: c.session("s").create(ttl_seconds=float("nan")), MalformedJson, "/ttl_seconds"),  # type: ignore[arg-type]
    "Decimal seconds": (lambda c: c.session("s").update(ttl_seconds=Decimal(60)), MalformedJson, "/ttl_seconds"),  # type: ignore[arg-type]
    "naive datetime": (lambda c: draft(user("x"), timestamp=datetime(2026, 1, 1)), InvalidRequest, "/timestamp"),  # noqa: DTZ001
    "naive from": (lambda c: c.session("s").events(from_="2026-01-01T00:00:00"), InvalidRequest, "query:from"),
    "surrogate": (lambda c: user("\ud800"), MalformedJson, "/content"),
    "surrogate id": (lambda c: c.session("s").append(draft(user("x"), id="\ud800")), MalformedJson, "/events/0/id"),
    "session id": (lambda c: c.session("a/b"), InvalidRequest, "path:sid"),
    "event id": (lambda c: c.session("s").event(".."), InvalidRequest, "path:eid"),
    "key": (lambda c: c.session("s").append(user("x"), idempotency_key="\n"), InvalidRequest, "header:Idempotency-Key"),
    "keywords": (lambda c: c.session("s").events(keywords=["a,b"]), InvalidRequest, "query:keywords"),
    "number as key": (lambda c: draft(user("x"), metadata={"a": [{1: "b"}]}), MalformedJson, "/metadata/a/0"),
    "empty key": (
        lambda c: c.session("s").append(user("x"), idempotency_key=""),
        InvalidRequest,
        "header:Idempotency-Key",
    ),
    "surrogate as key": (
        lambda c: c.session("s").append_all([user("x")], idempotency_key="\ud800"),
        InvalidRequest,
        "header:Idempotency-Key",
    ),
    "number as id": (lambda c: c.session("s").append(draft(user("x"), id=5)), InvalidRequest, "/events/0/id"),  # type: ignore[arg-type]
    "list as metadata": (lambda c: c.session("s").update(metadata=[1]), InvalidRequest, "/metadata"),  # type: ignore[arg-type]
    "None as arguments": (lambda c: tool_call("c", "t", None), InvalidRequest, "/arguments"),  # type: ignore[arg-type]
    "None as media type": (lambda c: c.session("s").upload(b"x", media_type=None), InvalidRequest, "/media_type"),  # type: ignore[arg-type]
    "None as key": (lambda c: tool_call("c", "t", {None: 1}), MalformedJson, "/arguments"),  # type: ignore[dict-item]
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_client_refuses_is_a_client_error_of_the_right_kind(client: Client, api: FakeApi, name: str) -> None:
    """Before anything is sent; ``except ClientError`` is enough for a whole call."""
    act, kind, pointer = REFUSED[name]

    with pytest.raises(ClientError) as caught:
        act(client)

    assert isinstance(caught.value, kind)
    assert not isinstance(caught.value, ApiError)
    assert [pointer] == [e.pointer for e in caught.value.errors]
    assert (kind.__name__, kind.code) == (type(caught.value).__name__, caught.value.code)
    assert [] == api.requests
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (type(caught.value), str(caught.value), vars(caught.value)) == (type(copy), str(copy), vars(copy))


def test_a_wait_beyond_all_measure_is_not_waited_for(client: Client, api: FakeApi, pauses: list[float]) -> None:
    api.fail(answered(429, Retry_After="9" * 400))
    with pytest.raises(RateLimited):
        client.session("s1").get()
    assert [] == pauses


def test_pages_that_lead_in_a_circle_end(client: Client, api: FakeApi) -> None:
    """A broken server must not keep a reader for ever."""
    for cursor in ("a", "b", "a", "b"):
        api.fail(answered(200, {"data": [], "next_cursor": cursor, "has_more": True}))
    with pytest.raises(UnexpectedResponse, match="circle"):
        list(client.session("s1").events())
