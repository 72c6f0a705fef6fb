"""Who sees which branch (spec/session 10)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.domain import branch

parts = st.lists(st.sampled_from(["a", "b", "ab", "A", "_", "-1"]), min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("event", "researcher", "orch", "orchestra"),
    [
        (None, True, True, True),
        ("orch", True, True, False),
        ("orch.researcher", True, False, False),
        ("orch.writer", False, False, False),
        ("orch.researcher.sum", False, False, False),
        ("orchestra", False, False, True),
    ],
)
def test_the_table_of_the_spec(event: str | None, researcher: bool, orch: bool, orchestra: bool) -> None:
    seen = [branch.is_visible(event, agent) for agent in ("orch.researcher", "orch", "orchestra.r")]
    assert seen == [researcher, orch, orchestra]


@given(parts, parts)
def test_an_agent_sees_its_own_branch_and_its_ancestors(event: list[str], agent: list[str]) -> None:
    assert branch.is_visible(".".join(event), ".".join(agent)) == (agent[: len(event)] == event)


@pytest.mark.parametrize(
    ("event", "agent"), [("orch_a", "orchXa"), ("orch%", "orchXa.b"), ("", "a"), ("a", ""), ("O", "o")]
)
def test_every_character_is_literal(event: str, agent: str) -> None:
    assert not branch.is_visible(event, agent)


def test_the_empty_name_is_a_branch_of_its_own() -> None:
    assert branch.is_visible("", "")
    assert branch.is_visible(None, "")
    assert branch.is_visible("", ".a")


@given(parts)
def test_parts_joined_by_dots_are_a_valid_name(names: list[str]) -> None:
    assert branch.is_valid(".".join(names))


@pytest.mark.parametrize("name", ["", ".", "a.", ".a", "a..b", "a b", "a/b", "é", "a\n", "~", "a" * 257, "٣"])
def test_any_other_name_is_not_valid_over_http(name: str) -> None:
    assert not branch.is_valid(name)


def test_the_longest_name_is_valid() -> None:
    assert branch.is_valid("a" * branch.MAX_LENGTH)
