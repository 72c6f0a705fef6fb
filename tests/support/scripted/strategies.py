"""Histories of faulty operations, drawn by hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from .operations import (
    Act,
    Append,
    Compact,
    Create,
    Delete,
    Expire,
    Meanwhile,
    Operation,
    Patch,
    Planned,
    ReadWindow,
    Resend,
    ReuseKey,
    Undo,
    Walk,
)
from .process import Fault, Stale

CALLS = (0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 10, 11)
"""Which call a fault strikes: the first ones more often, because every operation makes them."""

users = st.sampled_from(["alice"] * 9 + ["bob"])
numbers = st.integers(0, 9)
drawn_events = st.lists(
    st.tuples(st.sampled_from(["new", "id", "id", "id", "old", "old", "big", "twin", "altered"]), numbers),
    min_size=1,
    max_size=5,
).map(tuple)

appends = st.builds(
    Append,
    events=drawn_events,
    key=st.booleans(),
    match=st.sampled_from([None] * 5 + ["current", "current", "old"]),
    create=st.sampled_from([True, True, False]),
    user=users,
)
compactions = st.builds(
    Compact,
    count=st.integers(0, 6),
    scattered=st.booleans(),
    summary=st.booleans(),
    stale=st.sampled_from([False] * 5 + [True]),
    strict=st.booleans(),
)
lives = st.one_of(
    st.builds(Create, user=users, token=st.sampled_from([None, 1])), st.builds(Delete, user=users), st.just(Delete())
)
rare = st.one_of(
    st.builds(ReuseKey, numbers),
    st.builds(Expire, st.booleans()),
    st.builds(Patch, st.booleans(), users),
    st.builds(ReadWindow, st.booleans()),
    st.just(Undo()),
    st.just(Undo()),
    st.builds(Walk, st.sampled_from(["asc", "desc"]), st.sampled_from([None, 1, 3])),
)
kinds: dict[str, st.SearchStrategy[Operation]] = {
    "append": appends,
    "plain": st.just(Append((("new", 0), ("new", 0)), create=True)),
    "resend": st.builds(Resend, numbers),
    "compact": compactions,
    "life": lives,
    "rare": rare,
}
operations = st.sampled_from(
    [*["append"] * 7, *["plain"] * 3, *["resend"] * 3, *["compact"] * 3, *["life"] * 2, *["rare"] * 3]
).flatmap(kinds.__getitem__)


def acts(depth: int) -> st.SearchStrategy[Act]:
    """Operations with up to two faults each; ``depth``: how deep races may lie in one another."""
    steps: list[st.SearchStrategy[Planned]] = [
        st.sampled_from([*Fault, Fault.LOST, Fault.LOST]),
        st.builds(Stale, st.lists(st.integers(0, 12), min_size=1, max_size=3).map(tuple)),
    ]
    if depth:
        steps += [st.builds(Meanwhile, acts(depth - 1), st.sampled_from([None, None, 0, 1, 2, 3]))] * 2
    planned = st.lists(st.one_of(steps), min_size=1, max_size=1)
    scripts = st.dictionaries(st.sampled_from(CALLS), planned, min_size=0, max_size=3 if depth else 1)
    return st.builds(Act, operations, scripts, st.integers(0, 1))


histories = st.lists(acts(2), min_size=8, max_size=14)
