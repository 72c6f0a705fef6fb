"""What session_api does with the services it may use, each way once; and which of these needs which grant.

A scenario is a plain function that fails when something it needs is denied. It begins on an empty tenant.
"""

import hashlib
from collections.abc import Callable
from typing import Any

from infra.local.engine import ACCOUNT, REGION
from tests.support import grants_compaction as of
from tests.support.grants import Grant
from tests.support.grants_actor import Actor, noise
from tests.support.session_api import Reply
from turnlog.workflows.stepfunctions import StateMachine

Scenario = Callable[[Actor], None]

LARGE = 100_000
"""So many bytes of noise stay above 32 KB when deflated."""
UNPAGED = 4_000_000
"""A message of so many bytes is larger than a page and answered with a link."""


def expect(status: int, reply: Reply) -> Reply:
    """The reply, if it has this status."""
    assert status == reply.status, f"{reply.status} instead of {status}: {reply.text[:500]}"
    return reply


def _user(text: str, event_id: str) -> dict[str, Any]:
    return {"id": event_id, "message": {"role": "user", "content": text}}


def _texts(reply: Reply) -> list[str]:
    return [event["message"]["content"] for event in expect(200, reply).json["data"]]


def create(actor: Actor) -> None:
    """A session, once; the id is taken then, and a key gives the first answer again."""
    expect(201, actor.api.create("s"))
    expect(409, actor.api.create("s"))
    first, again = (actor.api.call("POST", "/v1/sessions", {}, Idempotency_Key="k") for _ in range(2))
    assert expect(201, first).json["id"] == expect(201, again).json["id"]


def read_a_session(actor: Actor) -> None:
    """By its id."""
    expect(201, actor.api.create("s"))
    assert expect(200, actor.api.call("GET", "/v1/sessions/s")).json["id"] == "s"


def append_and_conflict(actor: Actor) -> None:
    """An append, its replay by id and by key, other content under the id, a stale If-Match."""
    expect(201, actor.api.create("s"))
    expect(201, actor.api.append(_user("one", "e")))
    expect(200, actor.api.append(_user("one", "e")))
    expect(409, actor.api.append(_user("two", "e")))
    tag = actor.api.list().headers["etag"]
    for status in (201, 412):
        expect(status, actor.api.append("next", If_Match=tag))
    for _ in range(2):
        expect(201, actor.api.append("keyed", Idempotency_Key="k"))
    assert _texts(actor.api.list()) == ["one", "next", "keyed"]


def lose_a_race(actor: Actor) -> None:
    """Another append takes the slot between the read and the put; both are in the log in the end."""
    expect(201, actor.api.create("s"))
    rival = Rival(actor)
    with rival:
        expect(201, actor.api.append("second"))
    assert rival.has_struck
    assert _texts(actor.api.list()) == ["first", "second"]


class Rival:
    """Appends once, right before the next PutItem of the actor."""

    def __init__(self, actor: Actor) -> None:
        self._actor, self.has_struck = actor, False

    def __enter__(self) -> None:
        self._actor.dynamodb.meta.events.register("before-call.dynamodb.PutItem", self._strike)

    def __exit__(self, *_: object) -> None:
        self._actor.dynamodb.meta.events.unregister("before-call.dynamodb.PutItem", self._strike)

    def _strike(self, **_: object) -> None:
        if not self.has_struck:
            self.has_struck = True
            expect(201, self._actor.api.append("first"))


def fold_ids(actor: Actor) -> None:
    """More client ids than a commit carries go to id blocks, and are known there."""
    expect(201, actor.api.create("s"))
    for start in range(0, 120, 40):
        expect(201, actor.api.append(*(_user(str(i), f"e{i}") for i in range(start, start + 40))))
    expect(200, actor.api.append(_user("0", "e0")))
    assert expect(200, actor.api.call("GET", "/v1/sessions/s/events/e1")).json["message"]["content"] == "1"


def create_by_appending(actor: Actor) -> None:
    """With create_if_missing."""
    body = {"events": [{"message": {"role": "user", "content": "x"}}], "create_if_missing": True}
    for _ in range(2):
        expect(201, actor.api.call("POST", "/v1/sessions/s/events", body))
    assert _texts(actor.api.list()) == ["x", "x"]


def page_through_events(actor: Actor) -> None:
    """In both orders, under a filter, and the newest."""
    expect(201, actor.api.create("s"))
    for text in "abcde":
        expect(201, actor.api.append(text))
    for order, expected in (("asc", "abcde"), ("desc", "edcba")):
        pages = actor.api.pages(order=order, limit=2)
        assert "".join(event["message"]["content"] for page in pages for event in page) == expected
    assert _texts(actor.api.list("s", {"keyword": "c"})) == ["c"]
    assert _texts(actor.api.list("s", {"last_n": 2})) == ["d", "e"]


def change(actor: Actor) -> None:
    """Metadata and lifetime, and not under a stale If-Match."""
    expect(201, actor.api.create("s"))
    changed = expect(200, actor.api.call("PATCH", "/v1/sessions/s", {"metadata": {"a": 1}, "ttl_seconds": 3600}))
    assert changed.json["metadata"] == {"a": 1}
    expect(412, actor.api.call("PATCH", "/v1/sessions/s", {"metadata": {}}, If_Match='"1.0.0.0"'))


def delete_and_begin_anew(actor: Actor) -> None:
    """Gone, also from the list; the next life knows nothing of it."""
    expect(201, actor.api.create("s"))
    expect(201, actor.api.append(_user("old", "e")))
    expect(204, actor.api.call("DELETE", "/v1/sessions/s"))
    expect(404, actor.api.call("DELETE", "/v1/sessions/s"))
    assert expect(200, actor.api.call("GET", "/v1/sessions")).json["data"] == []
    expect(201, actor.api.create("s"))
    assert _texts(actor.api.list()) == []
    expect(201, actor.api.append(_user("new", "e")))


def delete(actor: Actor) -> None:
    """Marked, closed, and out of the list."""
    expect(201, actor.api.create("s"))
    expect(204, actor.api.call("DELETE", "/v1/sessions/s"))


def _list_in_order(actor: Actor, order_by: str) -> None:
    for name in "abc":
        expect(201, actor.api.create(name))
        actor.clock.advance(1)
    query: dict[str, Any] = {"order_by": order_by, "limit": 2}
    first = expect(200, actor.api.call("GET", "/v1/sessions", query=query))
    second = expect(200, actor.api.call("GET", "/v1/sessions", query={**query, "cursor": first.json["next_cursor"]}))
    assert sorted(row["id"] for page in (first, second) for row in page.json["data"]) == ["a", "b", "c"]


def list_by_creation(actor: Actor) -> None:
    """Two pages of a user's sessions, in the order of their creation."""
    _list_in_order(actor, "created")


def list_by_activity(actor: Actor) -> None:
    """The same in the order of their activity."""
    _list_in_order(actor, "activity")


def write_a_large_body(actor: Actor) -> None:
    """A body above 32 KB goes to S3 before the item that names it."""
    expect(201, actor.api.create("s"))
    expect(201, actor.api.append(noise(LARGE)))


def read_a_large_body(actor: Actor) -> None:
    """And comes back from there."""
    write_a_large_body(actor)
    assert _texts(actor.api.list()) == [noise(LARGE)]


def upload(actor: Actor) -> None:
    """Asked for, put, found, named in an event, read back."""
    content = b"an image"
    asked = {"media_type": "image/png", "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    expect(201, actor.api.create("s"))
    grant = expect(201, actor.api.call("POST", "/v1/sessions/s/uploads", asked)).json
    actor.put(grant, content)
    found = expect(200, actor.api.call("GET", f"/v1/sessions/s/uploads/{grant['ref']}")).json
    assert actor.fetch(found["url"]) == content
    block = {"type": "media", "media_type": "image/png", "ref": grant["ref"]}
    expect(201, actor.api.append({"message": {"role": "user", "content": [block]}}))


def follow_a_link(actor: Actor) -> None:
    """A message larger than a page is answered with a link to a copy."""
    expect(201, actor.api.create("s"))
    expect(201, actor.api.append(_user("x" * UNPAGED, "large")))
    listed = expect(200, actor.api.list()).json["data"][0]
    single = expect(200, actor.api.call("GET", "/v1/sessions/s/events/large")).json
    for event in (listed, single):
        content = actor.fetch(event["link"]["url"])
        assert hashlib.sha256(content).hexdigest() == event["link"]["sha256"]


def expire(actor: Actor) -> None:
    """Gone at its instant; whoever creates it again cleans the old life up."""
    expect(201, actor.api.create("s", ttl_seconds=60))
    expect(201, actor.api.append("old"))
    actor.clock.advance(61)
    expect(404, actor.api.list())
    expect(404, actor.api.append("late"))
    expect(201, actor.api.create("s"))
    assert _texts(actor.api.list()) == []


def write_the_log(actor: Actor) -> None:
    """As Lambda's runtime does with the function's credentials: a stream, then lines into it."""
    stream = f"in-process/{actor.tenant}"
    actor.logs.create_log_stream(logGroupName=actor.log_group, logStreamName=stream)
    line = {"timestamp": actor.clock.now().ms, "message": "{}"}
    actor.logs.put_log_events(logGroupName=actor.log_group, logStreamName=stream, logEvents=[line])


def compact_strictly(actor: Actor) -> None:
    """Only if the log has not grown."""
    expect(201, actor.api.create("s"))
    for text in "abc":
        expect(201, actor.api.append(text))
    tag = actor.api.list().headers["etag"]
    body = {"strategy": {"type": "turn_window", "max_turns": 1}}
    expect(201, actor.api.call("POST", "/v1/sessions/s/compactions", body, If_Match=tag))
    assert len(expect(200, actor.api.list("s", {"archived": "true"})).json["data"]) == 2


def compact_and_undo(actor: Actor) -> None:
    """A pass, the history that tells of it, and its undo."""
    expect(201, actor.api.create("s"))
    for text in "abc":
        expect(201, actor.api.append(text))
    body = {"strategy": {"type": "turn_window", "max_turns": 1}}
    made = expect(201, actor.api.call("POST", "/v1/sessions/s/compactions", body)).json["id"]
    listed = expect(200, actor.api.call("GET", "/v1/sessions/s/compactions")).json["data"]
    assert [one["id"] for one in listed] == [made]
    expect(200, actor.api.call("POST", f"/v1/sessions/s/compactions/{made}/undo"))
    assert expect(200, actor.api.list("s", {"archived": "true"})).json["data"] == []


def start_a_summary(actor: Actor) -> None:
    """A state machine goes on with it."""
    arn = f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:{actor.stack.machine}"
    StateMachine(arn, lambda: actor.client("stepfunctions")).start(f"x-{actor.tenant}", {"tenant": "t", "job": {}})


OVER_HTTP: tuple[Scenario, ...] = (
    create,
    read_a_session,
    append_and_conflict,
    fold_ids,
    create_by_appending,
    page_through_events,
    change,
    delete,
    delete_and_begin_anew,
    list_by_creation,
    list_by_activity,
    write_a_large_body,
    read_a_large_body,
    upload,
    follow_a_link,
    compact_strictly,
    compact_and_undo,
)
"""What a caller can do at any time: it also runs against the deployed function."""

IN_PROCESS: tuple[Scenario, ...] = (lose_a_race, expire, start_a_summary)
"""What takes a clock, a rival or a client of its own."""

_TABLE, _BODIES, _LINKS, _LOGS = "the table", "the bucket, t/*", "the bucket, l/*", "its own log group"
_STREAM, _MACHINE = "the table's stream", "the state machine"

NEEDED_BY: dict[Grant, Scenario] = {
    Grant("session_api", "dynamodb:BatchGetItem", _TABLE): list_by_creation,
    Grant("session_api", "dynamodb:DeleteItem", _TABLE): delete,
    Grant("session_api", "dynamodb:GetItem", _TABLE): page_through_events,
    Grant("session_api", "dynamodb:PutItem", _TABLE): create,
    Grant("session_api", "dynamodb:Query", _TABLE): read_a_session,
    Grant("session_api", "dynamodb:UpdateItem", _TABLE): change,
    Grant("session_api", "dynamodb:Query", "the index by_created"): list_by_creation,
    Grant("session_api", "dynamodb:Query", "the index by_activity"): list_by_activity,
    Grant("session_api", "s3:GetObject", _BODIES): read_a_large_body,
    Grant("session_api", "s3:PutObject", _BODIES): write_a_large_body,
    Grant("session_api", "s3:GetObject", _LINKS): follow_a_link,
    Grant("session_api", "s3:PutObject", _LINKS): follow_a_link,
    Grant("session_api", "logs:CreateLogStream", _LOGS): write_the_log,
    Grant("session_api", "logs:PutLogEvents", _LOGS): write_the_log,
    Grant("session_api", "dynamodb:ConditionCheckItem", _TABLE): compact_strictly,
    Grant("session_api", "states:StartExecution", _MACHINE): start_a_summary,
    Grant("compaction_worker", "dynamodb:BatchGetItem", _TABLE): of.run_a_pass_over_a_summary,
    Grant("compaction_worker", "dynamodb:DeleteItem", _TABLE): of.lose_a_pass,
    Grant("compaction_worker", "dynamodb:GetItem", _TABLE): of.run_a_due_pass,
    Grant("compaction_worker", "dynamodb:PutItem", _TABLE): of.run_a_due_pass,
    Grant("compaction_worker", "dynamodb:Query", _TABLE): of.run_a_due_pass,
    Grant("compaction_worker", "dynamodb:UpdateItem", _TABLE): of.remember_a_try,
    Grant("compaction_worker", "dynamodb:Query", "the index by_created"): of.find_what_is_due_again,
    Grant("compaction_worker", "s3:GetObject", _BODIES): of.compact_a_large_body,
    Grant("compaction_worker", "states:StartExecution", _MACHINE): of.start_an_execution,
    Grant("compaction_worker", "dynamodb:DescribeStream", _STREAM): of.follow_the_stream,
    Grant("compaction_worker", "dynamodb:GetRecords", _STREAM): of.follow_the_stream,
    Grant("compaction_worker", "dynamodb:GetShardIterator", _STREAM): of.follow_the_stream,
    Grant("compaction_worker", "dynamodb:ListStreams", "no resource"): of.follow_the_stream,
    Grant("compaction_worker", "sqs:SendMessage", "the on-failure queue"): of.send_what_was_given_up,
    Grant("compaction_worker", "logs:CreateLogStream", _LOGS): write_the_log,
    Grant("compaction_worker", "logs:PutLogEvents", _LOGS): write_the_log,
    Grant("compaction_steps", "dynamodb:BatchGetItem", _TABLE): of.summarise_over_a_summary,
    Grant("compaction_steps", "dynamodb:ConditionCheckItem", _TABLE): of.summarise_strictly,
    Grant("compaction_steps", "dynamodb:DeleteItem", _TABLE): of.lose_a_pass,
    Grant("compaction_steps", "dynamodb:GetItem", _TABLE): of.summarise,
    Grant("compaction_steps", "dynamodb:PutItem", _TABLE): of.summarise,
    Grant("compaction_steps", "dynamodb:Query", _TABLE): of.summarise,
    Grant("compaction_steps", "dynamodb:UpdateItem", _TABLE): of.remember_a_failure,
    Grant("compaction_steps", "s3:GetObject", _BODIES): of.summarise_a_large_body,
    Grant("compaction_steps", "s3:GetObject", _LINKS): of.summarise,
    Grant("compaction_steps", "s3:PutObject", _LINKS): of.summarise,
    Grant("compaction_steps", "logs:CreateLogStream", _LOGS): write_the_log,
    Grant("compaction_steps", "logs:PutLogEvents", _LOGS): write_the_log,
}
"""A scenario for each grant that cannot do without it. A grant without one has no reason to be there."""
