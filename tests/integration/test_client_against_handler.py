"""The client in front of the real function: what one writes, the other reads.

The function runs in process over the store in memory, and each of its answers is held against the
OpenAPI document.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from tests.support.session_api import Api, http_event
from turnlog.client import (
    ApiError,
    Client,
    CompactionAttempt,
    EventIdReused,
    EventNotFound,
    Forbidden,
    IdempotencyKeyReused,
    InvalidRequest,
    MalformedJson,
    Message,
    NotNewestPass,
    PassNotFound,
    PayloadTooLarge,
    PreconditionFailed,
    SessionExists,
    SessionNotFound,
    UploadNotFound,
    assistant,
    draft,
    system,
    tool_call,
    tool_result,
    user,
)

POLICY = {
    "trigger": {"type": "any_of", "triggers": [{"type": "turn_count", "max_turns": 20}]},
    "strategy": {"type": "sliding_window", "max_events": 10},
}
TOKENS = {"ann": {"custom:tenant": "acme", "sub": "ann"}, "bob": {"custom:tenant": "acme", "sub": "bob"}, "nobody": {}}


class Gateway(httpx.BaseTransport):
    """Turns requests into HTTP API events, with the claims that the authorizer would add. Answers
    named in ``lose``, counted from the next request on, get lost after the work is done."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.lose: deque[bool] = deque()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """One request through the function."""
        if request.url.host == "uploads.example.com":
            return self._storage(request)
        body = request.read().decode()
        event = http_event(
            request.method,
            request.url.raw_path.decode().partition("?")[0],
            query=request.url.query.decode(),
            body=body or None,
            headers=dict(request.headers),
            claims=TOKENS[request.headers["authorization"].removeprefix("Bearer ")],
        )
        reply = self.api.invoke(event)
        if self.lose and self.lose.popleft():
            raise httpx.ReadTimeout("timed out", request=request)
        return httpx.Response(reply.status, headers=dict(reply.headers), content=reply.content)

    def _storage(self, request: httpx.Request) -> httpx.Response:
        served = self.api.bucket.serve(request.method, str(request.url), dict(request.headers), request.read())
        return httpx.Response(served.status, headers=dict(served.headers), content=served.content)


@pytest.fixture
def gateway() -> Gateway:
    """The function over an empty store."""
    return Gateway(Api())


@pytest.fixture
def client(gateway: Gateway) -> Iterator[Client]:
    """Ann of acme."""
    with Client("https://api.example.test", token="ann", transport=gateway, sleep=lambda seconds: None) as client:
        yield client


@pytest.fixture
def bob(gateway: Gateway) -> Iterator[Client]:
    """Bob of acme, in front of the same store."""
    with Client("https://api.example.test", token="bob", transport=gateway) as client:
        yield client


def test_a_conversation_from_beginning_to_end(client: Client) -> None:
    """Create, append, read, change, delete."""
    session = client.session("s1")
    info = session.create(ttl_seconds=3600, metadata={"title": "Weather"}, compaction=POLICY)
    assert ("s1", "ann", POLICY, None) == (info.id, info.user_id, info.compaction, info.allow_system_messages)

    result = session.append(
        user("Weather in Oslo?"),
        assistant("Looking.", calls=[tool_call("c1", "weather", '{"city": "Oslo"}')]),
        draft(tool_result("c1", "4 °C"), metadata={"ms": 12.0}),
        assistant("Four degrees."),
    )
    assert ([1, 2, 3, 4], 4, False) == ([e.seq for e in result.events], result.last_seq, result.all_replayed)
    assert 5 == session.append(draft(user("bye"), branch="a.b"), if_match=result.etag).last_seq

    events = list(session.events())
    assert ["user", "assistant", "tool", "assistant", "user"] == [e.message.role for e in events]
    assert '{"ms":12.0}' == events[2].metadata.raw
    assert events[1] == session.event(events[1].id)
    assert ["a.b"] == [e.branch for e in session.events(branch="a.b", last_n=1)]

    changed = session.update(metadata={"title": "Oslo"}, ttl_seconds=None, compaction=None, if_match=session.get().etag)
    assert ({"title": "Oslo"}, None, None, 5) == (
        changed.metadata,
        changed.expires_at,
        changed.compaction,
        changed.last_seq,
    )
    session.delete(if_match=changed.etag)
    with pytest.raises(SessionNotFound):
        session.get()


def test_every_filter_is_understood(client: Client) -> None:
    """Under the name and in the form that the function expects."""
    session = client.session("s1")
    session.append(*(user(f"word {i}") if i % 2 else assistant(f"word {i}") for i in range(9)), create_if_missing=True)
    old, new = datetime(2000, 1, 1, tzinfo=UTC), "2100-01-01T00:00:00+02:00"

    def found(**query: object) -> list[str | None]:
        return [event.message.text for event in session.events(**query)]  # type: ignore[arg-type]

    assert ["word 1", "word 3", "word 5", "word 7"] == found(types=["user"], page_size=3)
    assert ["word 8", "word 7"] == found(last_n=2, order="desc", from_=old, to=new)
    assert ["word 3", "word 8"] == found(keywords=["3", "8"], match="any", exclude_synthetic=True, archived=False)
    assert ["word 3"] == found(keyword="3", keywords=("word", "3"), match="all", types={"user", "tool"})
    assert [] == found(archived=True)


def test_pages_follow_one_another(client: Client) -> None:
    """Events and sessions, forwards and backwards."""
    for i in range(5):
        client.session(f"s{i}").append_all([user(str(n)) for n in range(7)], create_if_missing=True)

    assert {f"s{i}" for i in range(5)} == {row.id for row in client.sessions(page_size=2)}
    assert {f"s{i}" for i in range(5)} == {row.id for row in client.sessions(order="asc", order_by="created")}
    assert all(row.last_activity is not None for row in client.sessions())
    events = client.session("s1").events(page_size=3, order="desc")
    assert ["6", "5", "4", "3", "2", "1", "0"] == [event.message.text for event in events]


def test_what_comes_back_is_what_went_in(client: Client) -> None:
    """Field cases E3, E4, E8, A16, to the byte."""
    text = (
        '{"role":"assistant","content":[{"type":"tool_call","id":"c1","name":"t","arguments":"{}"},'
        '{"type":"provider","provider":"p","data":{"t":0.1,"big":1e400,"n":12345678901234567890,"neg0":-0.0,'
        '"f":1.0,"i":1,"nan":"NaN","s":"","l":[],"m":{},"x":null,"nul":"a\\u0000b","e":"👩‍👩‍👧"}}],"own":1E5}'
    )
    session = client.session("s1")
    session.append(Message.parse(text), create_if_missing=True)

    assert [text] == [event.message.raw for event in session.events()]


def test_lost_answers_double_nothing(client: Client, gateway: Gateway) -> None:
    """Create, append, delete, each with its answer lost once."""
    session = client.session("s1")
    gateway.lose.extend([True, False, True, False])
    assert "s1" == session.create(metadata={"a": 1}).id
    assert [1, 2] == [event.seq for event in session.append(user("a"), user("a")).events]
    assert ["a", "a"] == [event.message.text for event in session.events()]

    gateway.lose.extend([True])
    session.delete()
    with pytest.raises(SessionNotFound):
        session.get()


def test_an_interrupted_import_is_gone_on_with(client: Client, gateway: Gateway) -> None:
    """Field case C15."""
    session = client.session("s1")
    gateway.lose.extend([False, True, False])
    session.append_all([user(str(i)) for i in range(250)], create_if_missing=True, idempotency_key="k")
    again = session.append_all([user(str(i)) for i in range(250)], idempotency_key="k")

    assert all(event.replayed for event in again)
    assert [str(i) for i in range(250)] == [event.message.text for event in session.events(page_size=100)]


def test_keys_and_preconditions_hold(client: Client) -> None:
    """Field cases C8, C9, B8."""
    session = client.session("s1")
    seen = session.create().etag
    first = session.append(user("x"), if_match=seen, idempotency_key="k1")
    assert first.events == session.append(user("x"), if_match=seen, idempotency_key="k1").events

    with pytest.raises(IdempotencyKeyReused) as reused:
        session.append(user("y"), idempotency_key="k1")
    assert isinstance(reused.value, ApiError)
    assert 422 == reused.value.status
    with pytest.raises(PreconditionFailed) as stale:
        session.append(user("z"), if_match=seen)
    assert (first.etag, 1) == (stale.value.version, stale.value.number)
    assert 2 == session.append(user("z"), if_match=stale.value.version).last_seq


def test_refusals_say_what_is_wrong(client: Client) -> None:
    """Each as its own error, with the field."""
    session = client.session("s1")
    session.create()
    with pytest.raises(SessionExists) as taken:
        session.create()
    assert "s1" == taken.value.id

    session.append(draft(user("a"), id="e1"))
    with pytest.raises(EventIdReused) as reused:
        session.append(draft(user("b"), id="e1"))
    assert ("e1", "/events/0/id") == (reused.value.id, reused.value.errors[0].pointer)
    with pytest.raises(EventNotFound):
        session.event("e2")
    with pytest.raises(InvalidRequest) as invalid:
        session.append(system("rules"))
    assert "/events/0/message/role" == invalid.value.errors[0].pointer
    with pytest.raises(InvalidRequest) as unknown:
        session.append_all([*[user("a")] * 100, {"role": "user", "content": [{"type": "smell"}]}])
    assert "/events/100/message/content/0/type" == unknown.value.errors[0].pointer
    with pytest.raises(InvalidRequest) as short:
        session.update(ttl_seconds=1)
    assert "/ttl_seconds" == short.value.errors[0].pointer
    with pytest.raises(PayloadTooLarge) as large:
        session.append(user("x" * 5_000_000))
    assert 4 * 1024 * 1024 == large.value.limit_bytes
    with pytest.raises(MalformedJson):
        session.append(draft(user("a"), metadata={"deep": _nested(70)}))
    with pytest.raises(InvalidRequest) as cursor:
        session.events().page("nonsense")
    assert "query:cursor" == cursor.value.errors[0].pointer


def _nested(depth: int) -> object:
    return [] if depth == 0 else [_nested(depth - 1)]


def test_a_foreign_session_is_like_an_unknown_one(client: Client, bob: Client) -> None:
    """Bob cannot tell Ann's session from none."""
    client.session("s1").append(user("private"), create_if_missing=True)
    foreign = bob.session("s1")

    for attempt in (foreign.get, foreign.delete, lambda: list(foreign.events()), lambda: foreign.append(user("x"))):
        with pytest.raises(SessionNotFound):
            attempt()
    assert [] == list(bob.sessions())


def test_a_token_without_its_claims_is_forbidden(gateway: Gateway) -> None:
    """It is valid, and says nothing."""
    with Client("https://api.example.test", token="nobody", transport=gateway) as client, pytest.raises(Forbidden):
        client.session("s1").get()


def test_large_events_come_back_page_by_page(client: Client) -> None:
    """Field case E7: nine megabytes, one loop."""
    session = client.session("s1")
    session.append_all([user(f"{i}" * 900_000) for i in range(10)], create_if_missing=True)

    pages = list(session.events().pages())

    assert [str(i) * 900_000 for i in range(10)] == [event.message.text for page in pages for event in page]
    assert len(pages) > 1


def test_an_upload_goes_in_and_comes_back(client: Client, tmp_path: Path) -> None:
    """And a message may name it, in this session and in no other."""
    content = bytes(range(256)) * 5000
    session = client.session("s1")
    session.create()
    upload = session.upload(content, media_type="image/png")
    session.append(user("Look", upload))

    assert content == session.read_upload(upload.ref)
    assert upload == session.download(upload.ref, tmp_path / "out.png")
    assert content == (tmp_path / "out.png").read_bytes()
    (event,) = session.events()
    assert upload.block() == event.message.blocks[1]

    other = client.session("s2")
    other.create()
    with pytest.raises(InvalidRequest) as caught:
        other.append(user("Look", upload))
    assert ["/events/0/message/content/1/ref"] == [error.pointer for error in caught.value.errors]
    with pytest.raises(UploadNotFound):
        other.read_upload(upload.ref)


@pytest.mark.parametrize("media_type", ["image png", "application/x-www-form-urlencoded", ""])
def test_a_media_type_that_is_none_is_pointed_at(client: Client, media_type: str) -> None:
    """By the server, whose rule it is."""
    session = client.session("s1")
    session.create()
    with pytest.raises(InvalidRequest) as caught:
        session.upload(b"x", media_type=media_type)
    assert ["/media_type"] == [error.pointer for error in caught.value.errors]


def test_a_message_too_large_for_an_answer_comes_back_whole(client: Client) -> None:
    """The API answers with a link; the caller sees an event like any other."""
    session = client.session("s1")
    text = "\u0001" * 650_000
    stored = session.append(user("before"), draft(user(text), id="big"), user("after"), create_if_missing=True)

    assert [1, 2, 3] == [event.seq for event in stored.events]
    assert ["before", text, "after"] == [event.message.text for event in session.events()]
    assert text == session.event("big").message.text


def test_a_window_is_compacted_looked_at_and_brought_back(client: Client) -> None:
    """By the session's policy and by a strategy that is asked for."""
    session = client.session("s1")
    session.create(compaction={"trigger": {"type": "turn_count", "max_turns": 3}, "strategy": POLICY["strategy"]})
    session.append(*(user(text) for text in "abc"))
    assert ("not_triggered", None) == ((quiet := session.compact()).status, quiet.id)
    newest = {"type": "turn_window", "max_turns": 1}
    dry = session.compact(strategy=newest, dry_run=True)
    assert ("compacted", True, ((1, 2),)) == (dry.status, dry.dry_run, dry.archived)

    done = session.compact(strategy=newest, if_match=session.get().etag)
    (info,) = session.compactions()
    assert (done.id, done.archived, done.tokens_saved) == (info.id, info.archived, info.tokens_saved)
    assert (newest, None, "ann") == (info.strategy, info.trigger, info.user_id)
    assert info == session.compaction(info)
    undone = session.undo(info)
    assert ["a", "b", "c"] == [event.message.text for event in session.events(archived=False)]
    assert [undone, info] == list(session.compactions(page_size=1))
    attempt = session.compaction_attempt()
    assert attempt is not None
    assert ("held", "undone") == (attempt.status, attempt.reason)

    session.undo(undone)
    with pytest.raises(NotNewestPass):
        session.undo(info)
    with pytest.raises(PassNotFound):
        session.compaction("9.abc")
    with pytest.raises(InvalidRequest) as refused:
        session.compact(strategy={"type": "turn_window", "max_turns": 0})
    assert "/strategy/max_turns" == refused.value.errors[0].pointer


def test_a_summary_is_started_once(client: Client, gateway: Gateway) -> None:
    """Also when the answer gets lost: the attempt that the second one meets is the first one's."""
    session = client.session("s1")
    session.append(user("a"), user("b"), create_if_missing=True)
    gateway.lose.append(True)
    done = session.compact(
        strategy={"type": "recursive_summarization", "max_events_to_keep": 1, "overlap_size": 0, "model": "scripted"}
    )
    assert ("coalesced", "running") == (done.status, done.reason)
    found = session.compaction(done)
    assert isinstance(found, CompactionAttempt)
    assert (done.id, done.retry_at) == (found.id, found.retry_at)
    assert [done.id] == [job.pass_id for job in gateway.api.starter.jobs]


def test_an_empty_event_id_is_refused_and_not_taken_for_a_wish_for_a_new_one(client: Client) -> None:
    """With a new one the event would be stored twice when it comes again."""
    session = client.session("s1")
    session.create()
    with pytest.raises(InvalidRequest) as caught:
        session.append(draft(user("x"), id=""))
    assert ["/events/0/id"] == [error.pointer for error in caught.value.errors]


def test_a_tag_of_the_log_says_too_little_for_a_change_of_the_record(client: Client) -> None:
    """Somebody else may have changed it since, and the log does not tell."""
    session = client.session("s1")
    session.create()
    seen = session.append(user("x"))
    session.update(metadata={"v": "somebody else"})
    with pytest.raises(PreconditionFailed):
        session.update(metadata={"v": "mine"}, if_match=seen.etag)
    with pytest.raises(PreconditionFailed):
        session.delete(if_match=seen.etag)
    assert 2 == session.append(user("y"), if_match=session.get().etag).last_seq
