"""Compactions through the client, on both surfaces: run, list, get, undo, and what a lost answer does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.fake_api import FakeApi, Fault, answer_lost, answered, answered_after, request_lost, unreachable
from turnlog.client import (
    Client,
    Compaction,
    CompactionAttempt,
    CompactionInfo,
    Instant,
    InvalidRequest,
    NotNewestPass,
    PassNotFound,
    PreconditionFailed,
    Session,
    SessionNotFound,
    UnexpectedResponse,
    user,
)

NEWEST: dict[str, Any] = {"type": "turn_window", "max_turns": 1}
SUMMARY: dict[str, Any] = {
    "type": "recursive_summarization",
    "max_events_to_keep": 1,
    "overlap_size": 0,
    "model": "scripted",
}
ANSWER: dict[str, Any] = {
    "id": "1.5f0c2a9b7e11",
    "status": "compacted",
    "dry_run": False,
    "archived": [[1, 2], [5, 5]],
    "tokens_saved": 7,
    "kept_reason": "newest_turn",
    "abandoned_calls": ["call-1"],
    "over_budget": True,
    "reason": None,
    "retry_at": "2026-01-31T12:00:00.000Z",
    "generation": 1,
    "version": 9,
}
TRANSIENT: dict[str, Fault] = {
    "unreachable": unreachable,
    "request lost": request_lost,
    "503": answered(503, {"code": "store-unavailable", "retryable": True}),
    "502": answered(502, "<html>bad gateway</html>"),
}


@pytest.fixture
def session(client: Client) -> Session:
    """Three turns."""
    session = client.session("s1")
    session.append(user("one"), user("two"), user("three"), create_if_missing=True)
    return session


def window(session: Session) -> list[str | None]:
    """What would go to a model."""
    return [event.message.text for event in session.events(archived=False)]


def generations(session: Session) -> list[int]:
    """The history, the newest first."""
    return [info.generation for info in session.compactions(page_size=1)]


# --------------------------------------------------------------------------- what is sent and read


def test_a_compaction_archives_and_tells_what(session: Session) -> None:
    done = session.compact(strategy=NEWEST)

    assert ("compacted", ((1, 2),), 1, 4, False) == (
        done.status,
        done.archived,
        done.generation,
        done.version,
        done.dry_run,
    )
    assert done.tokens_saved > 0
    assert ["three"] == window(session)
    assert session.append(user("four"), if_match=done.etag).last_seq == 4


def test_without_arguments_the_policy_is_carried_out(session: Session, api: FakeApi) -> None:
    """And nothing is sent that was not given."""
    session.update(compaction={"trigger": {"type": "turn_count", "max_turns": 2}, "strategy": NEWEST})
    api.requests.clear()

    assert "compacted" == session.compact().status
    assert "not_triggered" == session.compact().status
    assert [b"{}", b"{}"] == [request.content for request in api.requests]


def test_every_argument_is_sent(session: Session, api: FakeApi) -> None:
    trigger = {"type": "turn_count", "max_turns": 9}
    assert "not_triggered" == session.compact(trigger=trigger, strategy=NEWEST).status
    dry = session.compact(trigger=trigger, strategy=NEWEST, force=True, dry_run=True)
    assert ("compacted", True, None) == (dry.status, dry.dry_run, dry.id)
    assert ["one", "two", "three"] == window(session)
    assert (
        b'{"trigger":{"type":"turn_count","max_turns":9},"strategy":{"type":"turn_window","max_turns":1},'
        b'"force":true,"dry_run":true}'
    ) == api.requests[-2].content


def test_if_match_holds_a_pass_back(session: Session) -> None:
    seen = session.get().etag
    session.append(user("four"))
    with pytest.raises(PreconditionFailed) as caught:
        session.compact(strategy=NEWEST, if_match=seen)
    assert caught.value.version is not None
    assert "compacted" == session.compact(strategy=NEWEST, if_match=caught.value.version).status


def test_every_field_is_read(client: Client, api: FakeApi) -> None:
    api.fail(answered(201, ANSWER, etag='"1.8.1"'))
    expected = Compaction(
        id="1.5f0c2a9b7e11",
        status="compacted",
        dry_run=False,
        archived=((1, 2), (5, 5)),
        tokens_saved=7,
        kept_reason="newest_turn",
        abandoned_calls=("call-1",),
        over_budget=True,
        reason=None,
        retry_at=Instant.parse("2026-01-31T12:00:00.000Z"),
        generation=1,
        version=9,
        etag='"1.8.1"',
    )
    assert expected == client.session("s1").compact()


@pytest.mark.parametrize(
    "wrong",
    [
        {"status": None},
        {"archived": [[1]]},
        {"archived": [[1, "2"]]},
        {"archived": [[True, True]]},
        {"archived": None},
        {"abandoned_calls": [1]},
        {"retry_at": "soon"},
        {"tokens_saved": "7"},
    ],
    ids=str,
)
def test_an_answer_of_another_shape_is_unexpected(client: Client, api: FakeApi, wrong: dict[str, Any]) -> None:
    api.fail(answered(201, ANSWER | wrong, etag='"1.8.1"'))
    with pytest.raises(UnexpectedResponse):
        client.session("s1").compact()


# --------------------------------------------------------------------------- history and undo


def test_the_history_is_a_listing_like_any_other(session: Session) -> None:
    """Page by page, the newest first, with its rules as they were asked for."""
    session.compact(strategy={"type": "turn_window", "max_turns": 2})
    session.compact(strategy=NEWEST)
    newest, oldest = session.compactions()

    assert [2, 1] == generations(session)
    assert ("compacted", "request", "ann", ((2, 2),), (), None) == (
        newest.status,
        newest.asked_by,
        newest.user_id,
        newest.archived,
        newest.inserted,
        newest.model,
    )
    assert ({"type": "turn_window", "max_turns": 2}, None) == (oldest.strategy, oldest.trigger)
    assert isinstance(oldest.created_at, Instant)
    assert oldest == session.compaction(oldest.id) == session.compaction(oldest)
    first = session.compactions(page_size=1).page()
    assert (newest,) == first.items
    assert (oldest,) == session.compactions(page_size=1).page(first.next_cursor).items


@pytest.mark.parametrize("given", ["the answer", "its id", "the history's"])
def test_an_undo_brings_the_window_back(session: Session, given: str) -> None:
    done = session.compact(strategy=NEWEST)
    session.append(user("four"))
    (info,) = session.compactions()
    ways: dict[str, str | Compaction | CompactionInfo] = {"the answer": done, "its id": info.id, "the history's": info}
    undone = session.undo(ways[given])

    assert ("undone", done.id, ((1, 2),)) == (undone.status, undone.undoes, undone.restored)
    assert ["one", "two", "three", "four"] == window(session)
    assert undone == session.undo(info)
    assert [2, 1] == generations(session)
    attempt = session.compaction_attempt()
    assert attempt is not None
    assert ("held", "undone") == (attempt.status, attempt.reason)


def test_what_is_not_there_and_what_is_not_the_newest(session: Session) -> None:
    """Each error says of which session and which compaction."""
    first = session.compact(strategy={"type": "turn_window", "max_turns": 2})
    session.compact(strategy=NEWEST)
    with pytest.raises(NotNewestPass) as late:
        session.undo(first)
    assert ("s1", first.id) == (late.value.session_id, late.value.pass_id)
    for act in (session.compaction, session.undo):
        with pytest.raises(PassNotFound) as caught:
            act("7.abc")
        assert ("s1", "7.abc") == (caught.value.session_id, caught.value.pass_id)


def test_a_compaction_without_an_id_leads_nowhere(session: Session, api: FakeApi) -> None:
    """It has not come into being; nothing is sent."""
    dry = session.compact(strategy=NEWEST, dry_run=True)
    api.requests.clear()
    for id in (dry, "", "..", "a/b"):
        with pytest.raises(InvalidRequest) as caught:
            session.undo(id)
        assert ["path:cid"] == [error.pointer for error in caught.value.errors]
    assert [] == api.requests


def test_an_unknown_session_has_no_compactions(client: Client) -> None:
    with pytest.raises(SessionNotFound):
        list(client.session("nobody").compactions())
    with pytest.raises(SessionNotFound):
        client.session("nobody").compact(strategy=NEWEST)


# --------------------------------------------------------------------------- with a model


def test_a_summary_is_started_and_lands_later(session: Session, api: FakeApi) -> None:
    """Until then its id leads to the attempt."""
    started = session.compact(strategy=SUMMARY)
    assert ("started", 0) == (started.status, started.generation)
    running = session.compaction(started)
    assert isinstance(running, CompactionAttempt)
    assert ("running", started.id, 1) == (running.status, running.id, running.number)
    assert running == session.compaction_attempt()
    assert ("coalesced", started.id) == ((again := session.compact(strategy=NEWEST)).status, again.id)

    api.compactions.write()
    landed = session.compaction(started)
    assert isinstance(landed, CompactionInfo)
    assert ("scripted", 2) == (landed.model, len(landed.inserted))
    assert ["Summarize our conversation so far.", "They talked.", "three"] == window(session)
    assert session.compaction_attempt() is None


def test_a_summary_that_fails_says_why_and_when_it_is_tried_again(session: Session, api: FakeApi) -> None:
    started = session.compact(strategy=SUMMARY)
    api.compactions.model.refuses = True
    api.compactions.write()
    failed = session.compaction(started)
    assert isinstance(failed, CompactionAttempt)
    assert ("failed", "refused") == (failed.status, failed.reason)
    refused = session.compact(strategy=SUMMARY)
    assert ("refused", "refused", failed.retry_at) == (refused.status, refused.reason, refused.retry_at)
    assert "started" == session.compact(strategy=SUMMARY, force=True).status


# --------------------------------------------------------------------------- retries


@pytest.mark.parametrize("name", TRANSIENT)
def test_a_compaction_survives_any_transient_fault(session: Session, api: FakeApi, name: str) -> None:
    api.fail(TRANSIENT[name], TRANSIENT[name])
    assert "compacted" == session.compact(strategy=NEWEST).status
    assert [1] == generations(session)


@pytest.mark.parametrize("fault", [answer_lost, answered_after(504)], ids=["answer lost", "gateway tired"])
def test_what_has_been_done_before_its_answer_got_lost_is_not_done_again(
    session: Session, api: FakeApi, fault: Fault
) -> None:
    """A compaction has nothing to do then, and an undo is the same one."""
    api.fail(fault)
    assert "nothing_to_do" == session.compact(strategy=NEWEST).status
    (info,) = session.compactions()

    api.fail(fault)
    undone = session.undo(info)
    assert (info.id, 2, [2, 1]) == (undone.undoes, undone.generation, generations(session))


def test_under_if_match_it_meets_its_own_work(session: Session, api: FakeApi) -> None:
    """And a note says so: read, and decide again."""
    seen = session.get().etag
    api.fail(answer_lost)
    with pytest.raises(PreconditionFailed) as caught:
        session.compact(strategy=NEWEST, if_match=seen)
    assert "may have been carried out" in caught.value.__notes__[0]
    assert [1] == generations(session)


def test_a_summary_whose_answer_got_lost_is_written_once(session: Session, api: FakeApi) -> None:
    api.fail(answer_lost)
    again = session.compact(strategy=SUMMARY)
    assert ("coalesced", 1) == (again.status, len(api.compactions.jobs))
    assert again.id == api.compactions.jobs[0].pass_id
