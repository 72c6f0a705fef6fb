"""Events through the client: append, read, filter, page; exact to the last digit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from tests.support.fake_api import FakeApi, answered
from turnlog.client import (
    Client,
    EventDraft,
    EventIdReused,
    EventNotFound,
    IdempotencyKeyReused,
    InvalidRequest,
    MalformedJson,
    Message,
    PreconditionFailed,
    Session,
    SessionNotFound,
    UnexpectedResponse,
    assistant,
    draft,
    system,
    tool_call,
    tool_result,
    user,
)
from turnlog.domain.exactjson import loads


@pytest.fixture
def session(client: Client) -> Session:
    """A session that exists."""
    session = client.session("s1")
    session.create()
    return session


def test_the_quick_start_does_what_it_says(client: Client) -> None:
    """Append to a session that does not exist yet, and read it."""
    session = client.session()
    session.append(user("What is a turn?"), assistant("A question and its answer."), create_if_missing=True)

    assert [(1, "user", "What is a turn?"), (2, "assistant", "A question and its answer.")] == [
        (event.seq, event.message.role, event.message.text) for event in session.events()
    ]


def test_append_says_where_each_event_stands(session: Session) -> None:
    """In the order given, with the log's tag after it."""
    first = session.append(draft(user("a"), id="e1"))
    second = session.append(draft(user("b"), id="e2"), draft(user("a"), id="e1"))

    assert [("e1", 1, False)] == [(e.id, e.seq, e.replayed) for e in first.events]
    assert [("e2", 2, False), ("e1", 1, True)] == [(e.id, e.seq, e.replayed) for e in second.events]
    assert (2, 2, False) == (second.last_seq, second.version, second.all_replayed)
    assert first.etag != second.etag
    assert session.append(draft(user("a"), id="e1")).all_replayed


def test_an_append_needs_a_session_unless_it_may_create_one(client: Client) -> None:
    """Find-or-create is asked for in so many words."""
    with pytest.raises(SessionNotFound):
        client.session("new").append(user("hi"))

    assert 1 == client.session("new").append(user("hi"), create_if_missing=True).last_seq


def test_every_event_has_an_id_when_it_is_sent(session: Session, api: FakeApi) -> None:
    """Given ones are kept, the others are made, and no two are equal."""
    session.append(user("same"), draft(user("b"), id="mine"), user("same"))

    sent = [event["id"] for event in loads(api.requests[-1].content)["events"]]
    assert "mine" == sent[1]
    assert 3 == len(set(sent))
    assert ["same", "b", "same"] == [event.message.text for event in session.events()]


def test_a_message_may_be_a_mapping_a_message_or_a_draft(session: Session) -> None:
    """They become the same thing; unknown keys of a mapping are kept."""
    session.append(
        {"role": "user", "content": "hi", "vendor": {"x": 1.0}},
        Message.user("hi"),
        EventDraft(Message.user("hi")),
    )

    assert ['{"role":"user","content":"hi","vendor":{"x":1.0}}', *['{"role":"user","content":"hi"}'] * 2] == [
        event.message.raw for event in session.events()
    ]


def test_anything_else_is_a_type_error(session: Session) -> None:
    """A bare string has no role."""
    with pytest.raises(TypeError, match="not str"):
        session.append("hi")  # type: ignore[arg-type]


def test_everything_of_a_draft_arrives(session: Session) -> None:
    """Id, time, branch and metadata; a datetime is as good as text."""
    noon = datetime(2026, 1, 31, 12, tzinfo=timezone(timedelta(hours=1)))
    session.append(
        draft(user("a"), id="e1", timestamp="2026-01-31T11:00:00.1234567Z", branch="a.b", metadata={"k": [1, None]}),
        draft(user("b"), id="e2", timestamp=noon),
    )

    one, two = session.events()
    assert ("2026-01-31T11:00:00.1234567Z", "a.b", {"k": [1, None]}, "s1", 1, False) == (
        str(one.timestamp),
        one.branch,
        one.metadata,
        one.session_id,
        one.seq,
        one.archived,
    )
    assert ("2026-01-31T11:00:00Z", None, {}) == (str(two.timestamp), two.branch, two.metadata)


def test_a_timestamp_without_a_zone_is_refused_before_it_is_sent() -> None:
    """Whose noon would it be?"""
    with pytest.raises(InvalidRequest) as caught:
        draft(user("a"), timestamp=datetime(2026, 1, 31, 12))  # noqa: DTZ001

    assert "/timestamp" == caught.value.errors[0].pointer


def test_tool_calls_and_results_come_back_as_they_were_written(session: Session) -> None:
    """The model's own text of the arguments is never parsed."""
    session.append(
        user("weather?"),
        assistant("Looking.", calls=[tool_call("c1", "weather", '{"city": "Oslo",  "t":1.0}')]),
        tool_result("c1", "", status="error", name="weather"),
        assistant(calls=[tool_call("c2", "weather", {"city": "Bergen"})]),
    )

    _, call, result, second = session.events()
    assert ['{"city": "Oslo",  "t":1.0}'] == [c.arguments for c in call.message.tool_calls]
    assert [("c1", "weather", "", "error")] == [
        (r.call_id, r.name, r.data, r.status) for r in result.message.tool_results
    ]
    assert ['{"city":"Bergen"}'] == [c.arguments for c in second.message.tool_calls]


def test_numbers_and_strings_come_back_exactly(session: Session) -> None:
    """1.0 is not 1, 1e400 is not infinity, 20 digits are 20 digits, NUL and empty values stay."""
    text = (
        '{"role":"user","content":[{"type":"provider","provider":"p","data":'
        '[1.0,1e400,12345678901234567890,-0.0,-0,0.10,1E5,"",[],{},null,"a\\u0000b","é👩‍👩‍👧"]}]}'
    )
    session.append(Message.parse(text))
    session.append(draft(user("x"), metadata=loads('{"n":1e400,"f":1.0,"empty":{}}')))

    first, second = session.events()
    assert text == first.message.raw
    assert '{"n":1e400,"f":1.0,"empty":{}}' == second.metadata.raw
    assert text == session.event(first.id).message.raw


def test_not_a_number_is_refused_before_it_is_sent(session: Session, api: FakeApi) -> None:
    """JSON has no NaN."""
    sent = len(api.requests)

    with pytest.raises(MalformedJson):
        session.append(user("a"), {"role": "user", "content": float("nan")})

    assert sent == len(api.requests)


def test_a_lone_surrogate_is_refused_with_its_place(session: Session) -> None:
    """The pointer leads into the request."""
    with pytest.raises(MalformedJson) as caught:
        session.append(user("a"), {"role": "user", "content": [{"type": "text", "text": "a\ud83d"}]})

    assert ["/events/1/message/content/0/text"] == [e.pointer for e in caught.value.errors]


@pytest.mark.parametrize(("field", "pointer"), [("id", "/events/0/id"), ("branch", "/events/0/branch")])
def test_a_lone_surrogate_beside_the_message_is_refused_too(session: Session, field: str, pointer: str) -> None:
    """It cannot be sent as UTF-8."""
    with pytest.raises(MalformedJson) as caught:
        session.append(draft(user("a"), **{field: "\udc00"}))  # type: ignore[arg-type]

    assert [pointer] == [e.pointer for e in caught.value.errors]


def test_the_server_judges_the_shape_of_a_mapping(session: Session) -> None:
    """The client sends blocks that it does not know; the answer points at what is wrong."""
    with pytest.raises(InvalidRequest) as caught:
        session.append(user("a"), {"role": "user", "content": [{"type": "smell"}]})

    assert ["/events/1/message/content/0/type"] == [e.pointer for e in caught.value.errors]


def test_system_messages_are_refused_where_they_are_off(session: Session) -> None:
    """And stored where they are on."""
    with pytest.raises(InvalidRequest) as caught:
        session.append(system("rules"))
    assert "/events/0/message/role" == caught.value.errors[0].pointer

    session.update(allow_system_messages=True)
    assert 1 == session.append(system("rules")).last_seq


def test_the_same_id_with_other_content_is_a_conflict(session: Session) -> None:
    """The stored event is untouched."""
    session.append(draft(user("a"), id="e1"))

    with pytest.raises(EventIdReused) as caught:
        session.append(draft(user("b"), id="e1"))

    assert ("e1", "/events/0/id") == (caught.value.id, caught.value.errors[0].pointer)


def test_a_resumed_agent_may_send_what_is_stored_already(session: Session) -> None:
    """Field case C9: i1 is a replay, i2 is new, the log has two."""
    call = draft(assistant(calls=[tool_call("c1", "t", "{}")]), id="i1")
    session.append(call)
    session.append(call, draft(tool_result("c1", "done"), id="i2"))

    assert ["i1", "i2"] == [event.id for event in session.events()]


def test_a_key_makes_an_append_repeatable_from_anywhere(session: Session) -> None:
    """Field case C8: the second answer equals the first; with other events the key is refused."""
    first = session.append(user("x"), idempotency_key="k1")

    assert first == session.append(user("x"), idempotency_key="k1")
    with pytest.raises(IdempotencyKeyReused):
        session.append(user("y"), idempotency_key="k1")
    assert ["x"] == [event.message.text for event in session.events()]


def test_the_ids_that_follow_from_a_key_never_change(session: Session, api: FakeApi) -> None:
    """A new release must replay what an old one has sent."""
    session.append(user("a"), user("b"), idempotency_key="k1")

    assert ["da255871-e832-50ce-9b42-5fe27881bbd9", "7b6dbe3c-2bf5-5deb-8440-ab5b1dea9b73"] == [
        event["id"] for event in loads(api.requests[-1].content)["events"]
    ]


def test_two_workers_at_one_version_never_both_win(client: Client) -> None:
    """Field case B8: the second is refused and learns the version to go on from."""
    one, two = client.session("s1"), client.session("s1")
    seen = one.create().etag
    won = one.append(user("one"), if_match=seen)

    with pytest.raises(PreconditionFailed) as caught:
        two.append(user("two"), if_match=seen)
    assert won.etag == caught.value.version

    two.append(user("two"), if_match=caught.value.version)
    assert ["one", "two"] == [event.message.text for event in one.events()]


def test_one_event_is_read_by_its_id(session: Session) -> None:
    """Client's id or server's; an unknown one is named."""
    session.append(draft(user("a"), id="e1", metadata={"k": 1}))
    found = session.event("e1")
    assert ("a", {"k": 1}, 1) == (found.message.text, found.metadata, found.seq)

    with pytest.raises(EventNotFound) as caught:
        session.event("~abc-1")
    assert ("s1", "~abc-1") == (caught.value.session_id, caught.value.event_id)


@pytest.mark.parametrize("id", ["", ".", "..", "a/b", "../s2", "x" * 129, "a~b"])
def test_an_event_id_that_would_name_another_resource_never_leaves(session: Session, id: str) -> None:
    """A path is not walked by an id."""
    with pytest.raises(InvalidRequest) as caught:
        session.event(id)

    assert ["path:eid"] == [e.pointer for e in caught.value.errors]


# --------------------------------------------------------------------------- listing


@pytest.fixture
def long(session: Session) -> Session:
    """Twelve events: users and assistants in turn, 0 to 11."""
    session.append(*(user(str(i)) if i % 2 == 0 else assistant(str(i)) for i in range(12)))
    return session


def texts(session: Session, **query: object) -> list[str | None]:
    """What a listing brings."""
    return [event.message.text for event in session.events(**query)]  # type: ignore[arg-type]


def test_a_listing_goes_over_all_pages(long: Session, api: FakeApi) -> None:
    """And only as far as somebody reads."""
    api.requests.clear()
    assert [str(i) for i in range(12)] == texts(long, page_size=5)
    assert 3 == len(api.requests)

    api.requests.clear()
    assert "0" == next(iter(long.events(page_size=5))).message.text
    assert 1 == len(api.requests)


def test_a_listing_can_be_read_again(long: Session) -> None:
    """Each loop starts anew, and sees what is there then."""
    events = long.events(page_size=5)
    assert 12 == len(list(events))
    long.append(user("12"))

    assert 13 == len(list(events))


def test_pages_can_be_taken_one_at_a_time(long: Session) -> None:
    """A cursor may be kept and used by another client later."""
    first = long.events(page_size=5).page()
    assert (["0", "1", "2", "3", "4"], True, 5) == ([e.message.text for e in first], first.has_more, len(first))

    rest = list(long.events(page_size=5).pages(first.next_cursor))
    assert [(5, True), (2, False)] == [(len(page), page.has_more) for page in rest]
    assert rest[0].items == long.events(page_size=5).page(first.next_cursor).items


def test_a_listing_backwards(long: Session) -> None:
    """Newest first."""
    assert [str(i) for i in reversed(range(12))] == texts(long, order="desc", page_size=5)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"types": ["user"], "last_n": 2}, ["8", "10"]),
        ({"last_n": 3}, ["9", "10", "11"]),
        ({"keyword": "1"}, ["1", "10", "11"]),
        ({"keywords": ["1", "0"]}, ["0", "1", "10", "11"]),
        ({"keywords": ("1", "0"), "match": "all"}, ["10"]),
        ({"archived": True}, []),
        ({"archived": False, "keyword": "7"}, ["7"]),
        ({"exclude_synthetic": True, "types": {"assistant"}, "last_n": 1}, ["11"]),
        ({"branch": "a.b", "last_n": 1}, ["11"]),
        ({"to": "2000-01-01T00:00:00Z"}, []),
        ({"from_": datetime(2000, 1, 1, tzinfo=UTC), "last_n": 1}, ["11"]),
        ({"types": []}, [str(i) for i in range(12)]),
    ],
)
def test_filters_reach_the_server(long: Session, query: dict[str, object], expected: list[str]) -> None:
    """Each under its name in the API."""
    assert expected == texts(long, **query)


def test_an_empty_page_is_not_the_end(long: Session, api: FakeApi) -> None:
    """Only a cursor of null is."""
    cursor = long.events(page_size=5).page().next_cursor
    api.fail(answered(200, {"data": [], "next_cursor": cursor, "has_more": True}))

    assert [str(i) for i in range(5, 12)] == texts(long)


def test_a_page_that_leads_to_itself_is_not_followed_for_ever(session: Session, api: FakeApi) -> None:
    """Some proxy answers from its cache, whatever the cursor."""
    api.fail(*[answered(200, {"data": [], "next_cursor": "same", "has_more": True})] * 3)

    with pytest.raises(UnexpectedResponse, match="leads to itself"):
        list(session.events())
    assert 1 == len(api.faults)


def test_words_that_cannot_be_told_apart_are_refused(session: Session) -> None:
    """The API joins them by commas."""
    with pytest.raises(InvalidRequest) as caught:
        session.events(keywords=["a,b"])
    assert "query:keywords" == caught.value.errors[0].pointer

    with pytest.raises(TypeError, match="keywords is a list of words"):
        session.events(keywords="abc")


def test_a_query_that_cannot_be_sent_is_refused_with_its_place(session: Session) -> None:
    """A lone surrogate in a keyword."""
    with pytest.raises(MalformedJson) as caught:
        session.events(keyword="\ud800")

    assert ["query:keyword"] == [e.pointer for e in caught.value.errors]
