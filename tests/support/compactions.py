"""Compactions over HTTP, for the tests of their routes: the session "s" of an :class:`Api`."""

from typing import Any, Final

from tests.support.session_api import Api, Reply

PATH: Final = "/v1/sessions/s/compactions"
NEVER: Final = {"type": "never"}
NEWEST: Final = {"type": "turn_window", "max_turns": 1}
POLICY: Final = {"trigger": {"type": "turn_count", "max_turns": 2}, "strategy": NEWEST}
SUMMARY: Final = {
    "type": "recursive_summarization",
    "max_events_to_keep": 1,
    "overlap_size": 0,
    "model": "scripted",
}


def window(api: Api) -> list[str]:
    """What would go to a model."""
    return [event["message"]["content"] for event in api.list(query="archived=false").json["data"]]


def history(api: Api, query: str = "") -> Any:
    """A page of passes."""
    return api.call("GET", PATH, query=query).json


def undo(api: Api, pass_id: str) -> Reply:
    """Undo a pass."""
    return api.call("POST", f"{PATH}/{pass_id}/undo")


def problem(reply: Reply) -> tuple[int, str]:
    """Status and code, of a problem that says what every problem says."""
    said = {"type", "title", "status", "detail", "instance", "code", "request_id", "retryable", "errors"}
    assert said <= reply.json.keys()
    assert reply.headers["Content-Type"] == "application/problem+json"
    return reply.status, reply.json["code"]
