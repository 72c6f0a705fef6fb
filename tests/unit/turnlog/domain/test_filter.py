"""EventFilter: normalisation, validation, matching, windows, merging (spec/session 4)."""

import re
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.domain.errors import InvalidRequest
from turnlog.domain.event import SessionEvent
from turnlog.domain.filter import DEFAULT_PAGE_SIZE, EventFilter
from turnlog.domain.instant import Instant
from turnlog.domain.message import ROLES
from turnlog.testing.builders import START, history

criteria = st.fixed_dictionaries(
    {},
    optional={
        "from_": st.integers(0, 5).map(START.plus_seconds),
        "to": st.integers(0, 5).map(START.plus_seconds),
        "types": st.frozensets(st.sampled_from(ROLES)),
        "exclude_synthetic": st.booleans(),
        "archived": st.sampled_from([None, True, False]),
        "keyword": st.sampled_from(["a", "B", " "]),
        "keywords": st.lists(st.sampled_from(["a", "B", " "]), max_size=3).map(tuple),
        "match": st.sampled_from(["any", "all"]),
        "branch": st.sampled_from(["", "x", "x.y"]),
    },
)
windows: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"last_n": st.integers(1, 9)}),
    st.fixed_dictionaries({"page_size": st.integers(1, 9)}, optional={"page": st.integers(0, 9)}),
)
filters = st.builds(lambda some, window: EventFilter(**some, **window), criteria, windows)


def _events(story: str) -> list[SessionEvent]:
    return [
        SessionEvent(
            e.id, "s", e.draft.message, e.draft.timestamp or START, e.draft.branch, e.draft.metadata, e.archived, i
        )
        for i, e in enumerate(history(story), 1)
    ]


def _ids(filter: EventFilter, story: str) -> list[str]:
    return [event.id for event in filter.apply(_events(story))]


@pytest.mark.parametrize(
    ("given_value", "kept"),
    [("Ab", "ab"), (" Ab ", " ab "), ("", None), ("  ", None), ("\u00a0", "\u00a0"), ("ÉCOLE", "école")],
)
def test_a_keyword_is_lowered_but_not_trimmed_and_a_blank_one_is_none(given_value: str, kept: str | None) -> None:
    assert EventFilter(keyword=given_value).keyword == kept


def test_keywords_keep_order_and_duplicates_and_lose_blanks() -> None:
    filter = EventFilter(keywords=("B", " ", "a", "b"))
    assert filter.keywords == ("b", "a", "b")
    assert filter.match == "any"
    assert EventFilter(keywords=(" ",), match="all").match is None
    assert EventFilter(match="all").match is None


def test_no_types_are_all_types_and_a_page_size_alone_is_page_0() -> None:
    assert EventFilter(types=frozenset()).types is None
    assert EventFilter(page_size=3).page == 0


@pytest.mark.parametrize(
    ("bad", "pointer"),
    [
        ({"last_n": 0}, "last_n"),
        ({"last_n": -1}, "last_n"),
        ({"last_n": 0, "page_size": 0}, "last_n"),
        ({"last_n": 5, "page_size": 0}, "last_n"),
        ({"last_n": 5, "page_size": 5}, "last_n"),
        ({"page_size": 0}, "page_size"),
        ({"page_size": -1, "page": -1}, "page_size"),
        ({"page": -1}, "page"),
        ({"page": -1, "page_size": 1}, "page"),
        ({"page": 0}, "page"),
        ({"types": frozenset({"robot"})}, "types"),
        ({"keywords": ("a",), "match": "some"}, "match"),
    ],
)
def test_what_is_not_valid_names_its_field(bad: dict[str, Any], pointer: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        EventFilter(**bad)
    assert [error.pointer for error in refused.value.errors] == [pointer]


STORY = "-u1=Red -a1=blue ~u:sum=red c1 t1 s1=RED u2@x=reddish a2@x.y=no u3="


@pytest.mark.parametrize(
    ("filter", "ids"),
    [
        (EventFilter.all(), "u1 a1 ~u:sum c1 t1 s1 u2 a2 u3"),
        (EventFilter.active(), "~u:sum c1 t1 s1 u2 a2 u3"),
        (EventFilter(archived=True), "u1 a1"),
        (EventFilter.real_only(), "u1 a1 c1 t1 s1 u2 a2 u3"),
        (EventFilter(types=frozenset({"tool", "system"})), "t1 s1"),
        (EventFilter(keyword="rEd"), "u1 ~u:sum s1 u2"),
        (EventFilter(keywords=("red", "ish")), "u1 ~u:sum s1 u2"),
        (EventFilter(keywords=("red", "ish"), match="all"), "u2"),
        (EventFilter(keyword="red", keywords=("ish",), pattern=re.compile("^red")), "u2"),
        (EventFilter(pattern=re.compile("Red")), "u1"),
        (EventFilter(pattern=re.compile("")), "u1 a1 ~u:sum t1 s1 u2 a2 u3"),
        (EventFilter.for_branch("x"), "u1 a1 ~u:sum c1 t1 s1 u2 u3"),
        (EventFilter.for_branch("x.y"), "u1 a1 ~u:sum c1 t1 s1 u2 a2 u3"),
        (EventFilter.for_branch(""), "u1 a1 ~u:sum c1 t1 s1 u3"),
        (EventFilter(from_=START.plus_seconds(1), to=START.plus_seconds(3)), "a1 ~u:sum c1"),
        (EventFilter(from_=START.plus_seconds(3), to=START.plus_seconds(1)), ""),
        (EventFilter.last(2), "a2 u3"),
        (EventFilter(keyword="red", last_n=2), "s1 u2"),
        (EventFilter.last(99), "u1 a1 ~u:sum c1 t1 s1 u2 a2 u3"),
        (EventFilter(page=1, page_size=4), "t1 s1 u2 a2"),
        (EventFilter(page=2**31 - 1, page_size=10), ""),
        (EventFilter(keyword="tool"), ""),
    ],
)
def test_every_criterion_holds_and_then_the_window_is_cut(filter: EventFilter, ids: str) -> None:
    assert _ids(filter, STORY) == ids.split()


def test_the_bounds_of_time_are_inclusive_to_the_nanosecond() -> None:
    moment = Instant.parse("2026-01-01T00:00:00.000000001Z")
    event = SessionEvent("e", "s", history("u1")[0].draft.message, moment)
    assert EventFilter(from_=moment, to=moment).matches(event)
    assert not EventFilter(from_=Instant.of_ns(moment.ns + 1)).matches(event)
    assert not EventFilter(to=Instant.of_ns(moment.ns - 1)).matches(event)


def test_the_search_factories_give_the_first_page() -> None:
    first = (0, DEFAULT_PAGE_SIZE)
    made = [
        EventFilter.keyword_search("A"),
        EventFilter.keywords_search(["A"], "all"),
        EventFilter.pattern_search(re.compile("a")),
    ]
    assert [(f.page, f.page_size) for f in made] == [first, first, first]
    assert (made[0].keyword, made[1].keywords, made[1].match) == ("a", ("a",), "all")
    assert EventFilter.keyword_search("a", 3, 7) == EventFilter(keyword="a", page=3, page_size=7)


# ------------------------------------------------------------------ merge

APART = {"exclude_synthetic", "archived", "last_n", "page", "page_size"}


@given(filters, filters)
def test_a_merge_takes_each_set_field_of_the_other(base: EventFilter, other: EventFilter) -> None:
    merged = base.merge(other)
    for name in {f.name for f in fields(EventFilter)} - APART:
        wanted = getattr(other, name)
        assert getattr(merged, name) == (getattr(base, name) if wanted is None else wanted), name


@given(filters, filters)
def test_exclusions_add_up_in_a_merge_and_are_never_taken_back(base: EventFilter, other: EventFilter) -> None:
    merged = base.merge(other)
    assert merged.exclude_synthetic == (base.exclude_synthetic or other.exclude_synthetic)
    if False in (base.archived, other.archived):
        assert merged.archived is False
    else:
        assert merged.archived == (base.archived if other.archived is None else other.archived)


@given(filters, filters)
def test_last_n_and_the_page_are_one_unit_in_a_merge(base: EventFilter, other: EventFilter) -> None:
    def unit(filter: EventFilter) -> tuple[int | None, int | None, int | None]:
        return filter.last_n, filter.page, filter.page_size

    assert unit(base.merge(other)) == (unit(base) if unit(other) == (None, None, None) else unit(other))


@given(filters)
def test_a_merge_with_nothing_changes_nothing(base: EventFilter) -> None:
    assert base.merge(None) == base
    assert base.merge(EventFilter()) == base
    assert EventFilter().merge(base) == base


@given(filters)
def test_without_its_window_a_filter_has_its_criteria_alone(filter: EventFilter) -> None:
    events = _events(STORY)
    bare = filter.without_window()
    assert filter.window(bare.apply(events)) == filter.apply(events)
    assert bare.merge(EventFilter(last_n=filter.last_n, page=filter.page, page_size=filter.page_size)) == filter
