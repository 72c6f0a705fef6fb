"""Reads: filters, places, the active window (spec/session 3.5 and 4)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ...domain.event import SessionEvent
from ...domain.filter import EventFilter
from ...domain.message import ROLES
from ...domain.ports import Insertion, Order, Place, SessionRepository, place_of
from ..builders import START, drafts, tell
from .base import Contract, append, archive, current, everything, numbered, said, shape, started

STORY = (
    ["-s1=Speak Dutch.", "-u1=Glass bell", "-a1=No glass", "u2@orch=hot GLASS day", "c2@orch.r", "t2@orch.r", "a2@w"],
    ["~u:sum=What was said?", "~a:sum=Glass."],
    ["u3=100% sure", "a3=a_b", "s2=Speak Welsh.", "u4=", "c4", "t4", "a4=glass bell, sure"],
)
"""A history told in parts: an archived beginning, a summary, the rest."""

seconds = st.integers(-1, 20).map(START.plus_seconds)
words = st.sampled_from(["glass", "BELL", "0%", "a_b", "sure", "é", " ", ""])
criteria = st.fixed_dictionaries(
    {},
    optional={
        "from_": seconds,
        "to": seconds,
        "types": st.frozensets(st.sampled_from(ROLES)),
        "exclude_synthetic": st.booleans(),
        "archived": st.sampled_from([None, True, False]),
        "keyword": words,
        "keywords": st.lists(words, max_size=3).map(tuple),
        "match": st.sampled_from(["any", "all"]),
        "pattern": st.sampled_from([re.compile("[gG]lass"), re.compile("sure$"), re.compile("")]),
        "branch": st.sampled_from(["orch", "orch.r", "orch.r.x", "w", "orc", ""]),
    },
)
windows: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"last_n": st.integers(1, 20)}),
    st.fixed_dictionaries({"page": st.integers(0, 4) | st.just(2**31 - 1), "page_size": st.integers(1, 20)}),
)
filters = st.builds(lambda fields, window: EventFilter(**fields, **window), criteria, windows)
ORDERS: tuple[Order, ...] = ("asc", "desc")


class ReadContract(Contract):
    """Every way to read the log shows the same log."""

    @pytest.fixture
    def told(self, repository: SessionRepository) -> SessionRepository:
        """A repository whose session "s" holds a story with archived and inserted events."""
        started(repository)
        tell(repository, STORY[0])
        append(repository, drafts(STORY[2])[:3])
        archive(repository, "u2", [Insertion(8, drafts(STORY[1])), Insertion(2, (said("preface", "p"),))])
        append(repository, drafts(STORY[2])[3:])
        archive(repository, "", [Insertion(8, (said("second", "q"),)), Insertion(None, (said("last", "z"),))])
        return repository

    def test_the_log_is_in_place_order_with_archived_events_where_they_were(self, told: SessionRepository) -> None:
        logged = "-s1 p -u1 -a1 -u2 c2 t2 a2 ~u:sum ~a:sum q u3 a3 s2 u4 c4 t4 a4 z"
        assert " ".join(shape(told.read("s"))) == logged
        places = [place_of(event) for event in told.read("s")]
        assert places == sorted(places)
        assert [e.seq for e in told.read("s") if e.seq is not None] == list(range(1, 15))

    @settings(
        max_examples=40,
        deadline=None,
        derandomize=True,
        # Every store inherits this one function on purpose.
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    )
    @given(filter=filters)
    def test_a_read_is_the_filter_applied_to_the_whole_log(self, told: SessionRepository, filter: EventFilter) -> None:
        assert everything(told.read("s", filter)) == everything(filter.apply(told.read("s")))

    def test_pages_are_cut_oldest_first_and_last_n_is_exact(self, repository: SessionRepository) -> None:
        started(repository)
        append(repository, numbered(1, 7))
        pages = [shape(repository.read("s", EventFilter(page=i, page_size=3))) for i in range(4)]
        assert pages == [["e1", "e2", "e3"], ["e4", "e5", "e6"], ["e7"], []]
        assert shape(repository.read("s", EventFilter.last(2))) == ["e6", "e7"]
        assert shape(repository.read("s", EventFilter.last(99))) == [f"e{i}" for i in range(1, 8)]

    # ------------------------------------------------------------------ walk

    def test_a_walk_from_any_place_in_either_direction_is_the_rest_of_the_log(self, told: SessionRepository) -> None:
        log = told.read("s")
        for order in ORDERS:
            whole = log if order == "asc" else log[::-1]
            assert everything(_walk(told, order=order)) == everything(whole)
            for i, event in enumerate(whole):
                rest = _walk(told, order=order, after=place_of(event))
                assert everything(rest) == everything(whole[i + 1 :]), (order, event.id)

    def test_a_walk_from_a_place_without_an_event_goes_on_from_there(self, told: SessionRepository) -> None:
        log = told.read("s")
        for place in (Place(0, 0, 0), Place(8, 0, 0), Place(8, 1, 1), Place(8, 9, 0), Place(99, 0, 0)):
            assert shape(_walk(told, after=place)) == shape(e for e in log if place_of(e) > place)
            assert shape(_walk(told, after=place, order="desc")) == shape(e for e in log[::-1] if place_of(e) < place)

    @pytest.mark.parametrize("hint", [1, 2, 5, 1000])
    def test_a_hint_does_not_cut_a_walk_short(self, told: SessionRepository, hint: int) -> None:
        log = shape(told.read("s"))
        assert shape(_walk(told, hint=hint)) == log
        assert shape(_walk(told, hint=hint, order="desc")) == log[::-1]

    @pytest.mark.parametrize("order", ORDERS)
    def test_an_active_walk_misses_no_active_event(self, told: SessionRepository, order: Order) -> None:
        active = shape(told.read("s", EventFilter.active()))
        found = [event for event in _walk(told, order=order, active_only=True) if not event.archived]
        assert shape(found) == (active if order == "asc" else active[::-1])

    @pytest.mark.parametrize("order", ORDERS)
    def test_a_walk_of_a_long_log_in_packed_commits_is_complete(
        self, repository: SessionRepository, order: Order
    ) -> None:
        started(repository)
        for first in range(1, 400, 40):
            append(repository, numbered(first, first + 39))
        archive(repository, " ".join(f"e{i}" for i in range(30, 371)), [Insertion(50, (said("s", "s"),))])
        log = repository.read("s") if order == "asc" else repository.read("s")[::-1]
        assert len(log) == 401
        for cut in (0, 1, 20, 39, 40, 41, 50, 51, 200, 399):
            assert shape(_walk(repository, order=order, after=place_of(log[cut]), hint=3)) == shape(log[cut + 1 :]), cut
        found = [e for e in _walk(repository, order=order, active_only=True) if not e.archived]
        assert shape(found) == shape(e for e in log if not e.archived)

    def test_a_walk_of_an_empty_log_is_empty(self, repository: SessionRepository) -> None:
        session = started(repository)
        for order in ORDERS:
            assert [e for batch in repository.walk(session, order=order) for e in batch] == []

    # ------------------------------------------------------------------ the window

    def test_the_window_is_the_active_events_with_session_and_state(self, told: SessionRepository) -> None:
        window = told.window("s")
        assert window is not None
        assert everything(window.events) == everything(told.read("s", EventFilter.active()))
        assert window.session == current(told)
        for event in told.read("s"):
            assert window.archive.is_active(event) is not event.archived, event.id

    def test_a_window_is_at_least_as_new_as_the_version_that_an_append_answered(
        self, repository: SessionRepository
    ) -> None:
        started(repository)
        for i in range(1, 6):
            version = append(repository, numbered(i, i)).version
            window = repository.window("s", min_version=version)
            assert window is not None
            assert version.reached_by(window.session.version)
            assert [e.seq for e in window.events] == list(range(1, i + 1))

    def test_a_window_whose_whole_log_is_archived_is_empty(self, repository: SessionRepository) -> None:
        started(repository)
        append(repository, numbered(1, 3))
        archive(repository, "e1 e2 e3")
        window = repository.window("s")
        assert window is not None
        assert window.events == ()
        append(repository, numbered(4, 4))
        window = repository.window("s")
        assert window is not None
        assert shape(window.events) == ["e4"]

    def test_a_window_keeps_events_left_active_among_archived_ones(self, repository: SessionRepository) -> None:
        started(repository)
        for i in range(1, 41):
            append(repository, numbered(i, i))
        kept = {1, 2, 17, 39, 40}
        archive(repository, " ".join(f"e{i}" for i in range(1, 41) if i not in kept))
        window = repository.window("s")
        assert window is not None
        assert [e.seq for e in window.events] == sorted(kept)


def _walk(
    repository: SessionRepository,
    *,
    order: Order = "asc",
    after: Place | None = None,
    active_only: bool = False,
    hint: int | None = None,
) -> list[SessionEvent]:
    session = current(repository)
    batches: Iterable[Sequence[SessionEvent]] = repository.walk(
        session, after=after, order=order, active_only=active_only, hint=hint
    )
    return [event for batch in batches for event in batch]
