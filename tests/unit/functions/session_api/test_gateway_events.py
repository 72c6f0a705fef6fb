"""Events as the gateway sends them: each file in events/session_api goes through the function."""

import json
from typing import Any

import pytest

from tests.support.session_api import CONTEXT, REPOSITORY, Api, Reply

FOLDER = REPOSITORY / "events" / "session_api"
CONVERSATION = {
    "create": 201,
    "append": 201,
    "append_base64": 201,
    "get_session": 200,
    "list_with_query": 200,
    "get_event": 200,
    "compact": 200,
    "list_sessions": 200,
    "patch": 200,
    "delete": 204,
}


def load(name: str) -> dict[str, Any]:
    """One event."""
    event: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return event


@pytest.fixture
def replies(api: Api) -> dict[str, Reply]:
    """The conversation, told in order at the time that its events carry."""
    api.clock.set("2026-01-31T12:00:00.000Z")
    return {name: api.invoke(load(name)) for name in CONVERSATION}


def test_a_conversation_of_real_events(replies: dict[str, Reply]) -> None:
    """Each gets what its caller expects, and the gateway's request id."""
    assert {name: reply.status for name, reply in replies.items()} == CONVERSATION
    assert {"XbE8rgd3FiAEMqA="} == {reply.headers["x-request-id"] for reply in replies.values()}


def test_text_beyond_ascii_survives_in_text_and_base64_bodies(replies: dict[str, Reply]) -> None:
    """As a query parameter, too."""
    assert "Köln? ☔" in replies["list_with_query"].text
    assert ["msg-1"] == [event["id"] for event in replies["list_with_query"].json["data"]]
    assert r"{\"city\": \"Köln\"}" in replies["get_event"].text
    assert 3 == replies["append_base64"].json["last_seq"]


def test_a_compaction_comes_in_as_well(replies: dict[str, Reply]) -> None:
    """A dry run over one turn."""
    assert ("nothing_to_do", True) == tuple(replies["compact"].json[name] for name in ("status", "dry_run"))


def test_the_record_follows_the_conversation(replies: dict[str, Reply]) -> None:
    """The numbers of the metadata keep their text, the PATCH cleared the expiry."""
    assert '"score":1.0' in replies["get_session"].text
    assert replies["patch"].json["expires_at"] is None
    assert ["support-4711"] == [row["id"] for row in replies["list_sessions"].json["data"]]


@pytest.mark.parametrize("name", ["health", "named_stage"])
def test_health_needs_no_token(api: Api, name: str) -> None:
    """A stage name in the path is taken off."""
    reply = api.handler(load(name), CONTEXT)  # type: ignore[arg-type]  # a stand-in for Lambda's context

    assert (200, "ok") == (reply["statusCode"], json.loads(reply["body"])["status"])


def test_the_document_is_served_as_it_was_committed(api: Api) -> None:
    """Not made anew at run time."""
    expected = json.loads((REPOSITORY / "docs" / "openapi.json").read_text(encoding="utf-8"))

    assert expected == json.loads(api.invoke(load("openapi")).content)


def test_a_wrong_method_and_an_unknown_path_come_in_through_the_catch_all_routes(api: Api) -> None:
    """They are problems like any other, with a request id."""
    wrong, unknown = api.invoke(load("wrong_method")), api.invoke(load("unknown_path"))

    assert (405, "GET, PATCH, DELETE") == (wrong.status, wrong.headers["allow"])
    assert (404, "route-not-found") == (unknown.status, unknown.json["code"])


def test_identity_headers_of_an_iam_caller_are_never_read(replies: dict[str, Reply], api: Api) -> None:
    """Without verified claims there is no caller."""
    reply = api.invoke(load("iam_caller"))

    assert (403, "forbidden") == (reply.status, reply.json["code"])


def test_every_event_file_is_used() -> None:
    """None is left over."""
    others = ("health", "named_stage", "openapi", "wrong_method", "unknown_path", "iam_caller")
    signed = ("iam_create", "iam_append", "iam_get_session", "iam_user")  # test_iam.py

    assert {*CONVERSATION, *others, *signed} == {path.stem for path in FOLDER.glob("*.json")}
