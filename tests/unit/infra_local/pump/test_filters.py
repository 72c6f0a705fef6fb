"""Which records a pattern lets through, and which patterns are refused before the first record."""

import json
from typing import Any

import pytest

from infra.constructs.compaction import FILTERS
from infra.local.pump import Pattern, PatternError


def matches(pattern: Any, record: dict[str, Any]) -> bool:
    return Pattern.parse(json.dumps(pattern)).matches(record)


@pytest.mark.parametrize(
    ("pattern", "record", "expected"),
    [
        ({"a": [1]}, {"a": 1}, True),
        ({"a": [1]}, {"a": 2}, False),
        ({"a": [1]}, {"a": True}, False),
        ({"a": [True]}, {"a": 1}, False),
        ({"a": ["1"]}, {"a": 1}, False),
        ({"a": [1, 2]}, {"a": 2}, True),
        ({"a": [None]}, {"a": None}, True),
        ({"a": [None]}, {}, False),
        ({"a": [1], "b": [2]}, {"a": 1}, False),
        ({"a": [1], "b": [2]}, {"a": 1, "b": 2}, True),
        ({"a": {"b": {"c": ["x"]}}}, {"a": {"b": {"c": "x"}}}, True),
        ({"a": {"b": {"c": ["x"]}}}, {"a": {"b": "x"}}, False),
        ({"a": {"b": ["x"]}}, {"a": None}, False),
        ({"a": [{"prefix": "E#"}]}, {"a": "E#1"}, True),
        ({"a": [{"prefix": "E#"}]}, {"a": "~"}, False),
        ({"a": [{"prefix": "E#"}]}, {"a": 3}, False),
        ({"a": [{"suffix": "1"}]}, {"a": "E#1"}, True),
        ({"a": [{"suffix": "1"}]}, {}, False),
        ({"a": [{"equals-ignore-case": "İX"}]}, {"a": "İx"}, True),
        ({"a": [{"equals-ignore-case": "x"}]}, {"a": "xy"}, False),
        ({"a": [{"exists": True}]}, {"a": None}, True),
        ({"a": [{"exists": False}]}, {"a": None}, False),
        ({"a": [{"exists": False}]}, {}, True),
        ({"a": {"b": [{"exists": False}]}}, {}, True),
        ({"a": [{"anything-but": "x"}]}, {"a": "y"}, True),
        ({"a": [{"anything-but": ["x", "y"]}]}, {"a": "y"}, False),
        ({"a": [{"anything-but": ["x"]}]}, {}, False),
        ({"a": [{"anything-but": {"prefix": "E"}}]}, {"a": "E#1"}, False),
        ({"a": [{"anything-but": {"prefix": "E"}}]}, {"a": "~"}, True),
        ({"$or": [{"a": [1]}, {"b": [1]}]}, {"b": 1}, True),
        ({"$or": [{"a": [1]}, {"b": [1]}]}, {"b": 2}, False),
        ({"$or": [{"a": [1]}, {"b": [1]}], "c": [1]}, {"b": 1}, False),
    ],
)
def test_a_pattern_says_which_records(pattern: Any, record: dict[str, Any], expected: bool) -> None:
    """Fields add up, entries of a list are alternatives, and types are not mixed."""
    assert expected == matches(pattern, record)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "not JSON"),
        ("[]", "pattern: must be an object"),
        ("{}", "pattern: must be an object"),
        ('{"a": {}}', "pattern.a: must be an object"),
        ('{"a": []}', "pattern.a: must be an object or a list"),
        ('{"a": 1}', "pattern.a: must be an object or a list"),
        ('{"a": [[1]]}', "pattern.a: a list within a list"),
        ('{"a": {"b": [{"cidr": "10.0.0.0/8"}]}}', "pattern.a.b: the pump does not know the operator 'cidr'"),
        ('{"a": [{"prefix": "x", "suffix": "y"}]}', "pattern.a: an operator stands alone"),
        ('{"a": [{}]}', "pattern.a: an operator stands alone"),
        ('{"a": [{"prefix": 1}]}', "pattern.a: must be a string"),
        ('{"a": [{"exists": "yes"}]}', "pattern.a: must be true or false"),
        ('{"$or": {"a": [1]}}', "pattern.$or: must be a list"),
        ('{"a": [{"anything-but": {"numeric": [">", 1]}}]}', "pattern.a: the pump does not know the operator"),
    ],
)
def test_what_cannot_be_judged_is_refused(text: str, told: str) -> None:
    """A pump that ignored an operator would let records through, or lose them."""
    with pytest.raises(PatternError) as refused:
        Pattern.parse(text)
    assert told in str(refused.value)


def change(name: str, sk: str, **new: Any) -> dict[str, Any]:
    inner: dict[str, Any] = {"Keys": {"pk": {"S": "p"}, "sk": {"S": sk}}}
    return {"eventName": name, "dynamodb": {**inner, "NewImage": new} if name != "REMOVE" else inner}


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (change("INSERT", "E#1", due={"BOOL": True}), True),
        (change("INSERT", "E#1"), False),
        (change("INSERT", "E#1", due={"BOOL": False}), False),
        (change("MODIFY", "~", due={"BOOL": True}), True),
        (change("MODIFY", "~", due={"S": "x"}), False),
        (change("MODIFY", "E#1", due={"BOOL": True}), False),
        (change("REMOVE", "E#1"), False),
    ],
)
def test_the_deployed_filters_want_what_is_due(record: dict[str, Any], expected: bool) -> None:
    """A commit whose append was due, and a head that a new policy made due: nothing else costs an invocation."""
    assert expected is any(matches(pattern, record) for pattern in FILTERS)
