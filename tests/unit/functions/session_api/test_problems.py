"""Every error has its place in the one table, and every answer to an error is an RFC 9457 problem."""

import json
import re
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any

import pytest

from session_api import problems
from session_api.problems import KINDS, kind_of, problem_of
from tests.support.session_api import Api
from turnlog.domain import errors
from turnlog.domain.errors import (
    CorruptLog,
    EventIdReused,
    FieldError,
    InvalidRequest,
    PayloadTooLarge,
    PreconditionFailed,
    SessionNotFound,
    StoreUnavailable,
    TurnlogError,
)

MODULES = ("turnlog.domain.errors", "session_api.problems")


def tree(base: type[TurnlogError] = TurnlogError) -> Iterator[type[TurnlogError]]:
    """The base and every class below it of the domain and of the edge."""
    yield base
    for child in base.__subclasses__():
        if child.__module__ in MODULES:
            yield from tree(child)


def test_the_table_has_every_error_and_no_other() -> None:
    """A new error class fails here until somebody decides its status."""
    assert set(tree()) == set(KINDS)


@pytest.mark.parametrize("error", sorted(tree(), key=str))
def test_the_status_is_the_one_that_the_tree_is_drawn_with(error: type[TurnlogError]) -> None:
    """Where the drawing in turnlog.domain.errors names one."""
    drawn = dict(re.findall(r"── (\w+) .*?(\d{3})$", errors.__doc__ or "", re.MULTILINE))

    assert len(drawn) > 8
    assert drawn.get(error.__name__, KINDS[error].status) in (KINDS[error].status, str(KINDS[error].status.value))


def test_a_subclass_is_told_like_its_nearest_ancestor() -> None:
    """So that an error of a store never becomes a 500 by accident."""

    class Odd(InvalidRequest):
        """A test's own."""

    assert HTTPStatus.UNPROCESSABLE_ENTITY == kind_of(Odd).status


@pytest.mark.parametrize(
    ("error", "status", "members", "headers"),
    [
        (EventIdReused("e"), 409, {"id": "e"}, {}),
        (PreconditionFailed("x", version='"1.2.0"', number=2), 412, {"version": '"1.2.0"'}, {"etag": '"1.2.0"'}),
        (PreconditionFailed("x"), 412, {"version": None}, {}),
        (PayloadTooLarge("x", limit_bytes=9), 413, {"limit_bytes": 9, "uploads": None}, {}),
        (StoreUnavailable("x", retry_after=3), 503, {"retryable": True}, {"retry-after": "3"}),
        (CorruptLog("hole at 7"), 500, {"detail": "The stored log contradicts itself."}, {}),
        (SessionNotFound("secret"), 404, {"detail": "There is no session with this id."}, {}),
        (
            InvalidRequest("x", errors=[FieldError("/a", "b")]),
            422,
            {"errors": [{"pointer": "/a", "detail": "b"}], "detail": "x"},
            {},
        ),
    ],
)
def test_what_each_problem_has_besides(
    error: TurnlogError, status: int, members: dict[str, object], headers: dict[str, str]
) -> None:
    """Extension members stand at the top level."""
    answer = problem_of(error, instance="/v1/x", request_id="r-1")
    body = json.loads(answer.body)
    common = {"status": status, "code": error.code, "type": f"urn:turnlog:problem:{error.code}", "instance": "/v1/x"}

    assert {**common, "request_id": "r-1", **members}.items() <= body.items()
    assert (status, "application/problem+json", error.code) == (answer.status, answer.content_type, answer.code)
    assert headers == answer.headers


@pytest.mark.parametrize(
    ("path", "uploads"),
    [
        ("/v1/sessions/s/events", "/v1/sessions/s/uploads"),
        ("/iam/v1/sessions/s/events", "/iam/v1/sessions/s/uploads"),
        ("/stage/v1/sessions/a%3Ab", "/stage/v1/sessions/a%3Ab/uploads"),
        ("/v1/sessions/v1/events/v1", "/v1/sessions/v1/uploads"),
        ("/v1/sessions", None),
        ("/v1/sessions/", None),
    ],
)
def test_a_body_that_is_too_large_is_told_where_its_parts_can_go(path: str, uploads: str | None) -> None:
    """To the session's uploads, with whatever stands before the route in the caller's own path."""
    body = json.loads(problem_of(PayloadTooLarge("x", limit_bytes=9), instance=path, request_id="r").body)
    field = PayloadTooLarge("x", limit_bytes=9, errors=[FieldError("/metadata", "x")])

    assert uploads == body["uploads"]
    assert json.loads(problem_of(field, instance=path, request_id="r").body)["uploads"] is None


class _Broken:
    """A store that fails in a way of its own."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def find(self, session_id: str) -> None:
        raise self.error


def api_that_fails(error: Exception, monkeypatch: pytest.MonkeyPatch) -> Api:
    """The function over a store that raises."""
    monkeypatch.setattr("tests.support.session_api.InMemorySessionRepository", lambda *_, **__: _Broken(error))
    return Api()


def test_an_unforeseen_error_is_a_500_without_internals(
    monkeypatch: pytest.MonkeyPatch, written: Callable[[], list[dict[str, Any]]]
) -> None:
    """Its words and its stack are in the log under the request id, and only there."""
    reply = api_that_fails(KeyError("the table's name"), monkeypatch).call("GET", "/v1/sessions/s")
    line = next(line for line in written() if line.get("level") == "ERROR")

    assert (500, "internal-error", False) == (reply.status, reply.json["code"], reply.json["retryable"])
    assert "table" not in reply.text
    assert reply.headers["x-request-id"] == reply.json["request_id"]
    assert reply.json["request_id"] == line["correlation_id"]
    assert all(part in line["exception"] for part in ("the table's name", "Traceback"))


def test_a_store_that_is_unavailable_is_a_503_with_retry_after(monkeypatch: pytest.MonkeyPatch) -> None:
    """And says that the same request may succeed later."""
    reply = api_that_fails(StoreUnavailable("Too contended.", retry_after=2), monkeypatch).call("GET", "/v1/sessions/s")

    assert (503, True, "2") == (reply.status, reply.json["retryable"], reply.headers["retry-after"])


def test_the_instance_is_a_uri_reference_whatever_the_path_holds(api: Api) -> None:
    """Control characters and a lone surrogate included."""
    reply = api.call("GET", "/v1/sessions/a\n\ud800 b")

    assert "/v1/sessions/a%0A%3F%20b" == reply.json["instance"]


def test_edge_errors_are_the_edges_own() -> None:
    """The domain knows nothing of HTTP."""
    assert {
        "MalformedRequest",
        "Forbidden",
        "RouteNotFound",
        "MethodNotAllowed",
        "UnsupportedMediaType",
        "InternalError",
    } == {error.__name__ for error in tree() if error.__module__ == problems.__name__}
