"""SessionService on the reference store: what may happen, and in which order it is decided."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from turnlog.domain import ids
from turnlog.domain.errors import (
    EventIdReused,
    EventNotFound,
    IdempotencyKeyReused,
    InvalidRequest,
    PreconditionFailed,
    SessionExists,
    SessionNotFound,
    StoreUnavailable,
)
from turnlog.domain.event import EventDraft, SessionEvent
from turnlog.domain.exactjson import JsonObject
from turnlog.domain.filter import EventFilter
from turnlog.domain.message import ROLES, Message
from turnlog.domain.ports import AppendRequest, AppendResult, CompactionPlan, IdempotencyKey, Insertion, Order
from turnlog.domain.session import DEFAULT_TTL_SECONDS, Session, SessionChanges, StoredSession
from turnlog.service import (
    CREATE_ROUNDS,
    MAX_LAST_N,
    SCAN_BATCHES,
    CreateSession,
    EventCursor,
    PageLimits,
    ServiceSettings,
    SessionService,
)
from turnlog.stores.memory import InMemorySessionRepository
from turnlog.testing.builders import START, drafts, tell
from turnlog.testing.clock import ManualClock

KEY = IdempotencyKey(b"k" * 16, b"r" * 16)
KEY_OF_ANOTHER_REQUEST = IdempotencyKey(KEY.key, b"R" * 16)


@pytest.fixture
def clock() -> ManualClock:
    """Standing at the start of 2026."""
    return ManualClock()


@pytest.fixture
def repository() -> InMemorySessionRepository:
    """In small batches, so that a listing has to go on."""
    return InMemorySessionRepository(batch_size=3)


@pytest.fixture
def service(repository: InMemorySessionRepository, clock: ManualClock) -> SessionService:
    """With the defaults of the library."""
    return SessionService(repository, clock=clock)


@pytest.fixture
def session(service: SessionService) -> StoredSession:
    """Alice's session "s"."""
    return service.create(CreateSession("alice", "s"))


def _said(text: str = "hi", id: str | None = None, **fields: Any) -> EventDraft:
    return EventDraft(Message.user(text), id=id, **fields)


def _texts(service: SessionService) -> list[str | None]:
    return [event.message.text for event in service.events("alice", "s").events]


# ------------------------------------------------------------------ create


def test_a_session_gets_the_lifetime_it_asks_for_or_the_stages(repository: InMemorySessionRepository) -> None:
    stage = ServiceSettings(default_ttl_seconds=7)
    service = SessionService(repository, clock=ManualClock(), settings=stage)
    assert service.settings == stage
    assert service.create(CreateSession("alice")).record.expires_at == START.plus_seconds(7)
    assert service.create(CreateSession("alice", ttl_seconds=0)).record.expires_at == START
    plain = SessionService(repository, clock=ManualClock())
    assert plain.create(CreateSession("alice")).record.expires_at == START.plus_seconds(DEFAULT_TTL_SECONDS)


def test_create_stores_everything_that_the_request_says(service: SessionService) -> None:
    metadata, policy = JsonObject.of({"a": 1}), JsonObject.of({"strategy": {}})
    made = service.create(CreateSession("alice", "s", 60, metadata, policy, allow_system_messages=True))
    assert made.record == Session("s", "alice", START, START.plus_seconds(60), metadata, policy, True)
    assert service.get("alice", "s") == made


@pytest.mark.parametrize("user", [None, "", " "])
def test_a_session_needs_an_owner(service: SessionService, user: str | None) -> None:
    with pytest.raises(InvalidRequest, match="user_id"):
        service.create(CreateSession(user, "s"))


def test_create_never_takes_a_live_session_over_but_replaces_a_dead_one(
    service: SessionService, clock: ManualClock
) -> None:
    service.create(CreateSession("alice", "s", ttl_seconds=10))
    for user in ("alice", "mallory"):
        with pytest.raises(SessionExists):
            service.create(CreateSession(user, "s"))
    clock.advance(10)
    assert service.create(CreateSession("bob", "s")).record.user_id == "bob"


def test_with_a_key_a_lost_answer_is_found_again_without_an_id(service: SessionService) -> None:
    made = service.create(CreateSession("alice"), key=KEY)
    assert service.create(CreateSession("alice"), key=KEY) == made
    assert service.create(CreateSession("bob"), key=KEY).id != made.id
    assert service.create(CreateSession("alice")).id != made.id
    with pytest.raises(IdempotencyKeyReused):
        service.create(CreateSession("alice"), key=KEY_OF_ANOTHER_REQUEST)


# ------------------------------------------------------------------ who sees a session


@pytest.mark.parametrize("gone", ["foreign", "unknown", "expired", "deleted"])
def test_a_foreign_session_looks_like_an_unknown_one_to_every_call(
    service: SessionService, clock: ManualClock, gone: str
) -> None:
    owner = "bob" if gone == "foreign" else "alice"
    if gone != "unknown":
        service.create(CreateSession(owner, "s", ttl_seconds=10))
        service.append(owner, "s", (_said("secret", "e1"),), key=KEY)
    if gone == "expired":
        clock.advance(10)
    if gone == "deleted":
        service.delete(owner, "s")
    version = ('"1.2.3"',)
    calls: list[Callable[[], object]] = [
        lambda: service.get("alice", "s"),
        lambda: service.update("alice", "s", SessionChanges(), if_match=version),
        lambda: service.delete("alice", "s", if_match=version),
        lambda: service.append("alice", "s", (_said("x"),), if_match=version),
        lambda: service.append("alice", "s", (_said("other", "e1"),)),
        lambda: service.append("alice", "s", (_said("secret", "e1"),)),
        lambda: service.append("alice", "s", (_said("x"),), key=KEY),
        lambda: service.append("alice", "s", (_said("x"),), key=KEY_OF_ANOTHER_REQUEST),
        lambda: service.append("alice", "s", (EventDraft(Message.system("x")),)),
        lambda: service.event("alice", "s", "e1"),
        lambda: service.events("alice", "s"),
        lambda: service.events("alice", "s", cursor=EventCursor(0)),
    ]
    errors = []
    for call in calls:
        with pytest.raises(SessionNotFound) as refused:
            call()
        errors.append((str(refused.value), refused.value.errors))
    assert set(errors) == {("There is no session 's'.", ())}


def test_a_list_shows_the_users_live_sessions_newest_first(service: SessionService, clock: ManualClock) -> None:
    for name, ttl in (("a", None), ("b", 1), ("c", None)):
        service.create(CreateSession("alice", name, ttl_seconds=ttl))
        clock.advance(1)
    service.create(CreateSession("bob", "d"))
    first = service.list("alice", limit=1)
    assert [e.session.id for e in first.entries] == ["c"]
    rest = service.list("alice", limit=9, token=first.next_token)
    assert [e.session.id for e in rest.entries] == ["a"]
    assert [e.session.id for e in service.list("alice", order="asc").entries] == ["a", "c"]


# ------------------------------------------------------------------ update and delete


def test_an_update_holds_if_any_tag_is_the_sessions(service: SessionService, session: StoredSession) -> None:
    change = SessionChanges(metadata=JsonObject.of({"a": 1}))
    tag = session.version.etag(session.rev)
    updated = service.update("alice", "s", change, if_match=('"0.0.0.0"', "nonsense", tag))
    assert updated.rev == 1
    with pytest.raises(PreconditionFailed) as refused:
        service.update("alice", "s", change, if_match=(tag,))
    assert (refused.value.version, refused.value.number) == (updated.version.etag(1), 0)
    assert service.update("alice", "s", change, if_match=("*",)).rev == 2
    assert service.update("alice", "s", change).rev == 3


def test_a_tag_of_the_log_is_no_tag_of_the_session(service: SessionService, session: StoredSession) -> None:
    """It does not say which revision was seen; a change would undo somebody else's."""
    change = SessionChanges(metadata=JsonObject.of({"a": 1}))
    service.update("alice", "s", change)
    with pytest.raises(PreconditionFailed):
        service.update("alice", "s", change, if_match=(session.version.etag(),))


def test_a_delete_holds_to_its_tag_and_happens_once(service: SessionService, session: StoredSession) -> None:
    service.append("alice", "s", (_said(),))
    with pytest.raises(PreconditionFailed):
        service.delete("alice", "s", if_match=(session.version.etag(),))
    current = service.get("alice", "s")
    service.delete("alice", "s", if_match=(current.version.etag(current.rev),))
    with pytest.raises(SessionNotFound):
        service.delete("alice", "s")


def test_a_repeated_delete_lets_the_store_finish_the_first(clock: ManualClock) -> None:
    class HalfDead(InMemorySessionRepository):
        asked = 0

        def delete(self, session_id: str) -> bool:
            self.asked += 1
            return super().delete(session_id)

    repository = HalfDead()
    with pytest.raises(SessionNotFound):
        SessionService(repository, clock=clock).delete("alice", "s")
    assert repository.asked == 1


# ------------------------------------------------------------------ append


@pytest.mark.usefixtures("session")
class TestAppend:
    """What an append to a live session of one's own may do."""

    def test_a_batch_is_stored_in_its_order_at_the_time_of_the_clock(
        self, service: SessionService, clock: ManualClock
    ) -> None:
        clock.advance(5)
        result = service.append("alice", "s", (_said("a"), _said("b", "mine")))
        assert [(e.seq, e.replayed) for e in result.events] == [(1, False), (2, False)]
        assert result.version == service.get("alice", "s").version
        assert [e.timestamp for e in service.events("alice", "s").events] == [START.plus_seconds(5)] * 2

    def test_an_empty_batch_is_refused(self, service: SessionService) -> None:
        with pytest.raises(InvalidRequest) as refused:
            service.append("alice", "s", ())
        assert refused.value.errors[0].pointer == "/events"

    def test_the_same_content_again_is_a_replay(self, service: SessionService) -> None:
        batch = (_said("a", "e1"), _said("b", "e2", timestamp=START))
        first = service.append("alice", "s", batch)
        again = service.append("alice", "s", batch)
        assert again.all_replayed
        assert again.version == first.version
        assert [e.seq for e in again.events] == [1, 2]

    @pytest.mark.parametrize(
        "other",
        [
            _said("other", "e1"),
            _said("a", "e1", branch="b"),
            _said("a", "e1", metadata=JsonObject.of({"a": 1})),
            _said("a", "e1", timestamp=START.plus_seconds(1)),
        ],
        ids=["message", "branch", "metadata", "timestamp"],
    )
    def test_the_same_id_with_other_content_is_a_conflict_that_names_the_event(
        self, service: SessionService, other: EventDraft
    ) -> None:
        service.append("alice", "s", (_said("a", "e1"),))
        with pytest.raises(EventIdReused) as refused:
            service.append("alice", "s", (_said("new"), other))
        assert refused.value.id == "e1"
        assert refused.value.errors[0].pointer == "/events/1/id"
        assert _texts(service) == ["a"]

    def test_one_id_twice_in_a_batch_is_one_event_if_the_content_is_the_same(self, service: SessionService) -> None:
        twins = (_said("a", "e"), _said("a", "e", timestamp=START), _said("a", "e"))
        assert [(e.seq, e.replayed) for e in service.append("alice", "s", twins).events] == [
            (1, False),
            (1, True),
            (1, True),
        ]
        for other in (_said("b", "f"), _said("a", "f", branch="x"), _said("a", "f", metadata=JsonObject.of({"a": 1}))):
            with pytest.raises(EventIdReused) as refused:
                service.append("alice", "s", (_said("a", "f"), other))
            assert refused.value.errors[0].pointer == "/events/1/id"
        times = [_said("a", "f", timestamp=START.plus_seconds(i)) for i in range(2)]
        with pytest.raises(EventIdReused):
            service.append("alice", "s", tuple(times))
        assert _texts(service) == ["a"]

    def test_an_append_holds_to_its_tag(self, service: SessionService, session: StoredSession) -> None:
        tag = session.version.etag()
        first = service.append("alice", "s", (_said("a", "e1"),), if_match=(tag,))
        with pytest.raises(PreconditionFailed) as refused:
            service.append("alice", "s", (_said("b", "e2"),), if_match=(tag,))
        assert (refused.value.version, refused.value.number) == (first.version.etag(), 1)
        service.append("alice", "s", (_said("c"),), if_match=(tag, first.version.etag()))
        service.append("alice", "s", (_said("d"),), if_match=("*",))
        assert _texts(service) == ["a", "c", "d"]

    def test_replays_are_answered_before_the_tag_is_compared(
        self, service: SessionService, session: StoredSession
    ) -> None:
        tag = (session.version.etag(),)
        service.append("alice", "s", (_said("a", "e1"),), if_match=tag)
        keyed = service.append("alice", "s", (_said("b"),), key=KEY)
        assert service.append("alice", "s", (_said("a", "e1"),), if_match=tag).all_replayed
        assert service.append("alice", "s", (_said("b"),), if_match=tag, key=KEY) == keyed
        with pytest.raises(PreconditionFailed):
            service.append("alice", "s", (_said("a", "e1"), _said("new")), if_match=tag)
        with pytest.raises(EventIdReused):
            service.append("alice", "s", (_said("other", "e1"),), if_match=tag)

    def test_a_key_of_another_request_is_refused(self, service: SessionService) -> None:
        service.append("alice", "s", (_said("a"),), key=KEY)
        with pytest.raises(IdempotencyKeyReused):
            service.append("alice", "s", (_said("b"),), key=KEY_OF_ANOTHER_REQUEST)
        assert _texts(service) == ["a"]

    def test_only_the_server_makes_ids_that_begin_with_a_tilde(
        self, service: SessionService, session: StoredSession
    ) -> None:
        made = service.append("alice", "s", (_said("a"),)).events[0].id
        mixed = service.append("alice", "s", (_said("a", made), _said("b")))
        assert [(e.seq, e.replayed) for e in mixed.events] == [(1, True), (2, False)]
        with pytest.raises(EventIdReused):
            service.append("alice", "s", (_said("other", made),))
        for made_up in ("~", "~mine", ids.logged(session.version.inc, 3), ids.logged(session.version.inc, 99)):
            with pytest.raises(InvalidRequest) as refused:
                service.append("alice", "s", (_said("new"), _said("b", made_up)))
            assert refused.value.errors[0].pointer == "/events/1/id"
        assert _texts(service) == ["a", "b"]

    def test_an_inserted_event_posted_back_is_a_replay(
        self, service: SessionService, repository: InMemorySessionRepository
    ) -> None:
        service.append("alice", "s", (_said("a"),))
        plan = CompactionPlan(insert=(Insertion(1, (_said("summary"),)),))
        assert repository.apply_compaction("s", plan, 1, now=START)
        summary = service.events("alice", "s").events[0]
        assert service.append("alice", "s", (_said("summary", summary.id),)).events[0].seq is None

    def test_a_system_message_is_refused_with_the_ways_out(self, service: SessionService) -> None:
        plain = EventDraft(Message.system("be nice"))
        for draft in (plain, replace(plain, metadata=JsonObject.of({"synthetic": True}))):
            with pytest.raises(InvalidRequest) as refused:
                service.append("alice", "s", (_said(), draft))
            assert refused.value.errors[0].pointer == "/events/1/message/role"
            for word in ("request", "metadata", "allow_system_messages", "docs/system-messages.md"):
                assert word in str(refused.value)
        assert _texts(service) == []


@pytest.mark.parametrize(
    ("stage", "own", "allowed"),
    [
        (False, None, False),
        (True, None, True),
        (False, True, True),
        (True, False, False),
    ],
)
def test_the_session_decides_about_system_messages_before_the_stage(
    repository: InMemorySessionRepository, stage: bool, own: bool | None, allowed: bool
) -> None:
    service = SessionService(repository, clock=ManualClock(), settings=ServiceSettings(allow_system_messages=stage))
    service.create(CreateSession("alice", "s", allow_system_messages=own))
    system = (EventDraft(Message.system("be nice"), id="s1"),)
    if allowed:
        service.append("alice", "s", system)
        service.update("alice", "s", SessionChanges(set_allow_system_messages=True, allow_system_messages=False))
        mixed = service.append("alice", "s", (*system, _said("new")))
        assert [e.replayed for e in mixed.events] == [True, False]
        return
    with pytest.raises(InvalidRequest, match="system messages"):
        service.append("alice", "s", system)


# ------------------------------------------------------------------ find or create


def test_an_append_may_create_its_session(service: SessionService) -> None:
    result = service.append("alice", "s", (_said("a"),), create_if_missing=True)
    assert [e.seq for e in result.events] == [1]
    again = service.append("alice", "s", (_said("b"),), create_if_missing=True)
    assert [e.seq for e in again.events] == [2]
    assert again.version.inc == result.version.inc
    assert service.get("alice", "s").record.expires_at == START.plus_seconds(DEFAULT_TTL_SECONDS)


@pytest.mark.parametrize(
    ("drafts", "if_match", "error"),
    [
        ((_said("a"),), ('"1.2.3"',), PreconditionFailed),
        ((_said("a"),), ("*",), PreconditionFailed),
        ((EventDraft(Message.system("rules")),), None, InvalidRequest),
        ((_said("a", "~abc-1"),), None, InvalidRequest),
    ],
)
def test_an_append_that_is_refused_creates_no_session(
    service: SessionService, drafts: tuple[EventDraft, ...], if_match: tuple[str, ...] | None, error: type[Exception]
) -> None:
    """A refused write must not take the id."""
    with pytest.raises(error):
        service.append("alice", "new", drafts, create_if_missing=True, if_match=if_match)

    with pytest.raises(SessionNotFound):
        service.get("alice", "new")


def test_an_append_that_creates_gives_nobody_anothers_session(service: SessionService) -> None:
    service.create(CreateSession("bob", "s"))
    with pytest.raises(SessionNotFound):
        service.append("alice", "s", (_said("a"),), create_if_missing=True)
    assert service.events("bob", "s").events == ()


def test_an_append_that_creates_begins_a_new_life_after_a_dead_one(service: SessionService, clock: ManualClock) -> None:
    old = service.create(CreateSession("bob", "s", ttl_seconds=10))
    service.append("bob", "s", (_said("old", "e1"),))
    clock.advance(10)
    result = service.append("alice", "s", (_said("new", "e1"),), create_if_missing=True)
    assert [(e.seq, e.replayed) for e in result.events] == [(1, False)]
    assert result.version.inc > old.version.inc


def test_an_append_that_finds_the_session_gone_again_and_again_gives_up(clock: ManualClock) -> None:
    """The caller said "create it", so this is a reason to come again and not a 404."""

    class Vanishing(InMemorySessionRepository):
        appends = 0

        def append(self, request: AppendRequest) -> AppendResult:
            self.appends += 1
            self.delete(request.session_id)
            return super().append(request)

    repository = Vanishing()
    with pytest.raises(StoreUnavailable):
        SessionService(repository, clock=clock).append("alice", "s", (_said(),), create_if_missing=True)
    assert repository.appends == CREATE_ROUNDS


def test_whoever_loses_the_race_to_create_says_so_to_the_store(clock: ManualClock) -> None:
    class Raced(InMemorySessionRepository):
        crowded: list[bool]

        def append(self, request: AppendRequest) -> AppendResult:
            self.crowded.append(request.crowded)
            try:
                return super().append(request)
            except SessionNotFound:
                super().create(Session("s", "alice", START, None), now=START)
                raise

    repository = Raced()
    repository.crowded = []
    result = SessionService(repository, clock=clock).append("alice", "s", (_said(),), create_if_missing=True)
    assert [e.seq for e in result.events] == [1]
    assert repository.crowded == [False, True]


# ------------------------------------------------------------------ reading


@pytest.mark.usefixtures("session")
def test_an_event_is_found_by_its_id_with_its_session(service: SessionService) -> None:
    made = service.append("alice", "s", (_said("a", "e1"), _said("b"))).events
    for event in made:
        session, found = service.event("alice", "s", event.id)
        assert (session.id, found.id, found.seq) == ("s", event.id, event.seq)
    with pytest.raises(EventNotFound) as refused:
        service.event("alice", "s", "e9")
    assert refused.value.event_id == "e9"


STORY = (
    ["-s1=Be nice", "-u1=red", "-a1=blue", "-u2@x=red", "-a2@x.y=blue", "-u3", "-a3"],
    ["~u:sum=red", "~a:sum=blue"],
    ["u4=red fox", "c4", "t4", "a4=blue", "u5@x=red", "a5@x", "u6", "a6", "u7=red", "a7", "u8", "a8=red", "u9", "a9"],
)


@pytest.fixture(scope="module")
def told() -> SessionService:
    """A service whose session "s" has 21 logged and 4 inserted events."""
    repository = InMemorySessionRepository(batch_size=2)
    service = SessionService(repository, clock=ManualClock(), settings=ServiceSettings(allow_system_messages=True))
    service.create(CreateSession("alice", "s"))
    tell(repository, STORY[0])
    service.append("alice", "s", drafts(STORY[2]))
    inserts = (
        Insertion(8, drafts(STORY[1])),
        Insertion(3, (_said("red preface", "p"),)),
        Insertion(None, (_said("z", "z"),)),
    )
    assert repository.apply_compaction("s", CompactionPlan(insert=inserts), repository.version("s"), now=START)
    service.append("alice", "s", drafts(["u10=red", "a10"]))
    return service


filters = st.builds(
    EventFilter,
    types=st.none() | st.frozensets(st.sampled_from(ROLES), min_size=1),
    exclude_synthetic=st.booleans(),
    archived=st.sampled_from([None, False, True]),
    keyword=st.sampled_from([None, None, "red", "fox", "nothing"]),
    branch=st.sampled_from([None, None, "x", "x.y"]),
    last_n=st.none() | st.integers(1, 30),
)
limits = st.builds(
    PageLimits,
    events=st.integers(1, 30),
    size=st.integers(1, 30),
    measure=st.just(lambda event: len(event.id)),
)


def _page_through(
    service: SessionService, filter: EventFilter, order: Order, limits: PageLimits
) -> Iterator[tuple[SessionEvent, ...]]:
    cursor: EventCursor | None = None
    for _ in range(300):
        page = service.events("alice", "s", filter, order=order, limits=limits, cursor=cursor)
        yield page.events
        cursor = page.cursor
        if cursor is None:
            return
    raise AssertionError("the listing does not end")


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(filter=filters, order=st.sampled_from(["asc", "desc"]), limits=limits)
def test_the_pages_of_a_listing_are_exactly_the_matches_in_order(
    told: SessionService, filter: EventFilter, order: Order, limits: PageLimits
) -> None:
    everything = [event for page in _page_through(told, EventFilter(), "asc", PageLimits()) for event in page]
    expected = [event.id for event in filter.apply(everything)]
    pages = list(_page_through(told, filter, order, limits))
    assert [event.id for page in pages for event in page] == (expected if order == "asc" else expected[::-1])
    for page in pages:
        assert len(page) <= 1 or sum(len(event.id) for event in page) <= limits.size
        assert filter.last_n is not None or len(page) <= limits.events


@pytest.mark.usefixtures("session")
def test_a_listing_shows_the_whole_log_in_place_order(service: SessionService, told: SessionService) -> None:
    log = [event for page in _page_through(told, EventFilter(), "asc", PageLimits()) for event in page]
    assert len(log) == 27
    assert [e.seq for e in log if e.seq is not None] == list(range(1, 24))
    assert [log.index(e) for e in log if e.position is not None] == [2, 8, 9, 24]
    assert service.events("alice", "s").events == ()


@pytest.mark.usefixtures("session")
def test_a_listing_that_finds_little_answers_with_what_it_has_and_a_cursor(service: SessionService) -> None:
    service.append("alice", "s", tuple(_said("needle" if i == 0 else "hay") for i in range(SCAN_BATCHES * 3 * 2)))
    rare = EventFilter(keyword="needle")
    first = service.events("alice", "s", rare)
    assert [event.seq for event in first.events] == [1]
    assert first.cursor is not None
    orders: tuple[Order, ...] = ("asc", "desc")
    for order in orders:
        assert [len(page) for page in _page_through(service, rare, order, PageLimits())].count(0) >= 1
    newest = EventFilter(keyword="needle", last_n=1)
    assert service.events("alice", "s", newest).events == ()
    assert [e.seq for page in _page_through(service, newest, "asc", PageLimits()) for e in page] == [1]


@pytest.mark.usefixtures("session")
def test_the_newest_n_stay_the_newest_n_of_the_moment_they_were_asked_for(service: SessionService) -> None:
    service.append("alice", "s", tuple(_said(str(i)) for i in range(60)))
    newest = EventFilter(types=frozenset({"user"}), last_n=40)
    first = service.events("alice", "s", newest, limits=PageLimits(events=10))
    pages = [first]
    while pages[-1].cursor is not None:
        service.append("alice", "s", (_said("later"),))
        pages.append(service.events("alice", "s", newest, limits=PageLimits(events=10), cursor=pages[-1].cursor))
    assert len(pages) > 1
    assert [e.message.text for page in pages for e in page.events] == [str(i) for i in range(20, 60)]


def test_what_is_appended_while_a_listing_begins_is_not_among_the_newest_n(clock: ManualClock) -> None:
    class Busy(InMemorySessionRepository):
        def walk(self, session: StoredSession, **options: Any) -> Iterator[Sequence[SessionEvent]]:
            self.append(AppendRequest("s", (_said("later"),), START))
            return super().walk(session, **options)

    service = SessionService(Busy(), clock=clock)
    service.append("alice", "s", (_said("a"), _said("b"), _said("c")), create_if_missing=True)
    assert [e.message.text for e in service.events("alice", "s", EventFilter.last(2)).events] == ["b", "c"]


@pytest.mark.usefixtures("session")
def test_a_listing_that_has_all_it_wants_has_no_cursor(service: SessionService) -> None:
    service.append("alice", "s", tuple(_said(str(i)) for i in range(60)))
    page = service.events("alice", "s", EventFilter.last(SCAN_BATCHES * 3), order="desc")
    assert [event.seq for event in page.events] == list(range(60, 60 - SCAN_BATCHES * 3, -1))
    assert page.cursor is None


@pytest.mark.usefixtures("session")
def test_an_event_over_the_size_of_a_page_has_a_page_of_its_own(service: SessionService) -> None:
    service.append("alice", "s", (_said("a"), _said("b" * 99), _said("c")))
    limits = PageLimits(size=50, measure=lambda event: len(event.message.text or ""))
    orders: tuple[Order, ...] = ("asc", "desc")
    for order in orders:
        pages = _page_through(service, EventFilter(), order, limits)
        assert [[len(e.message.text or "") for e in page] for page in pages] == [[1], [99], [1]]
    newest = _page_through(service, EventFilter.last(2), "asc", limits)
    assert [[len(e.message.text or "") for e in page] for page in newest] == [[99], [1]]


def test_a_cursor_belongs_to_one_life(service: SessionService, session: StoredSession) -> None:
    service.delete("alice", "s")
    service.create(CreateSession("alice", "s"))
    with pytest.raises(InvalidRequest, match="cursor"):
        service.events("alice", "s", cursor=EventCursor(session.version.inc))


@pytest.mark.usefixtures("session")
def test_last_n_has_a_limit(service: SessionService) -> None:
    service.events("alice", "s", EventFilter.last(MAX_LAST_N))
    with pytest.raises(InvalidRequest, match="last_n"):
        service.events("alice", "s", EventFilter.last(MAX_LAST_N + 1))
