"""One log line and the metrics of a request; never what it said."""

import json
from collections.abc import Callable
from typing import Any

from session_api.observability import report_start
from tests.support.session_api import Api

Written = Callable[[], list[dict[str, Any]]]


def metric(found: list[dict[str, Any]], name: str) -> list[tuple[Any, list[str], str]]:
    """A metric's value, dimensions and unit wherever it was emitted."""
    return [
        (line[name][0], sorted(directive["Dimensions"][0]), definition["Unit"])
        for line in found
        for directive in line.get("_aws", {}).get("CloudWatchMetrics", ())
        for definition in directive["Metrics"]
        if definition["Name"] == name and directive["Namespace"] == "Turnlog"
    ]


def test_a_request_is_one_log_line(session: Api, written: Written) -> None:
    """With route, status, time, the gateway's request id and the hash of the tenant."""
    written()
    reply = session.append("hi")
    (line,) = [line for line in written() if "_aws" not in line]

    assert ("INFO", "request", "POST /v1/sessions/{sid}/events", 201) == (
        line["level"],
        line["message"],
        line["route"],
        line["status"],
    )
    assert reply.headers["x-request-id"] == line["correlation_id"]
    assert 12 == len(line["tenant_hash"])
    assert line["elapsed_ms"] >= 0


def test_the_log_never_holds_content_or_names(session: Api, written: Written) -> None:
    """Neither message, metadata, tenant, user, session id, key nor token, refused requests included."""
    written()
    secret = {"metadata": {"k": "s3cret"}, "message": {"role": "user", "content": "s3cret"}}
    headers = {"Idempotency_Key": "s3cret", "Authorization": "Bearer s3cret"}
    other = session.as_user("s3cret-user", tenant="s3cret-tenant")
    other.create("s3cret-id")
    written()
    for caller in (session, other):
        caller.append(secret, sid="s3cret-id", **headers)
        caller.append({**secret, "branch": "s3cret!"}, sid="s3cret-id", **headers)
        caller.call("GET", "/v1/sessions/s3cret-id/events", query={"keyword": "s3cret"})
        caller.call("GET", "/v1/s3cret", **headers)

    assert "s3cret" not in json.dumps(written())


def test_requests_are_counted_by_route_and_status(session: Api, written: Written) -> None:
    """The latency by route alone."""
    written()
    session.call("GET", "/v1/sessions/unknown")
    found = written()
    ((count, by, unit),) = metric(found, "Requests")
    ((latency, of, milliseconds),) = metric(found, "Latency")

    assert (1.0, ["route", "service", "status"], "Count") == (count, by, unit)
    assert (True, ["route", "service"], "Milliseconds") == (latency >= 0, of, milliseconds)
    assert {"404"} == {line["status"] for line in found if "Requests" in line}
    assert {"GET /v1/sessions/{sid}"} == {line["route"] for line in found}


def test_events_appended_and_replayed_are_counted(session: Api, written: Written) -> None:
    """A mixed batch counts in both."""
    old = {"id": "a", "message": {"role": "user", "content": "x"}}
    session.append(old)
    written()
    session.append(old, "new", "newer")
    found = written()

    assert [2.0] == [value for value, _, _ in metric(found, "EventsAppended")]
    assert [1.0] == [value for value, _, _ in metric(found, "EventsReplayed")]
    assert [] == metric(found, "Conflicts")


def test_conflicts_and_failed_preconditions_are_counted(session: Api, written: Written) -> None:
    """409 and 412."""
    written()
    session.create()
    session.append("x", If_Match='"1.1.1"')
    found = written()

    assert [1.0, 1.0] == [value for value, _, _ in metric(found, "Conflicts")]
    assert ["session-exists", "precondition-failed"] == [line["code"] for line in found if "code" in line]


def test_nothing_of_one_request_is_left_in_the_next(session: Api, written: Written) -> None:
    """A public route has no tenant, a success has no code."""
    session.create()
    written()
    session.call("GET", "/v1/health")
    line = next(line for line in written() if "_aws" not in line)

    assert not {"tenant_hash", "code", "EventsAppended"} & set(line)


def test_what_was_compiled_at_the_start_is_told_with_the_first_names(written: Written) -> None:
    """A warning and a metric: the layer's bytecode is missing, or another Python's."""
    written()
    report_start([f"turnlog.m{n}" for n in range(7)])
    found = written()
    (line,) = [line for line in found if "_aws" not in line]

    assert ("WARNING", "compiled at start", 7) == (line["level"], line["message"], line["count"])
    assert [f"turnlog.m{n}" for n in range(5)] == line["modules"]
    assert [(7.0, ["service"], "Count")] == metric(found, "CompiledAtStart")


def test_a_start_from_bytecode_is_not_told(written: Written) -> None:
    """All is as it should be."""
    written()
    report_start(())

    assert [] == written()
