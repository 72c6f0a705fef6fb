"""The scripted table means by a condition what a real engine means by it."""

import pytest

from tests.support.engine import dynamodb_client
from tests.support.scripted.table import Table, holds
from turnlog.stores.dynamodb.aws import DynamoDBRim
from turnlog.stores.dynamodb.rim import (
    Absent,
    Check,
    Compare,
    Condition,
    ConditionFailed,
    Item,
    Page,
    Present,
    Put,
    TransactionFailed,
    Update,
    both,
    either,
)

pytestmark = pytest.mark.engine

CONDITIONS: list[Condition] = [
    Absent(),
    Absent("a"),
    Present("a"),
    *(Compare("a", op, value) for op in ("=", "<", "<=", ">", ">=") for value in (5, "5", b"5")),
    both(Present(), Compare("a", ">", 1), Absent("b")),
    either(Absent("a"), both(Compare("a", "<=", 5), Compare("b", "=", True))),
]
ITEMS: list[Item | None] = [
    None, {}, {"a": 4}, {"a": 5}, {"a": 6}, {"a": "5"}, {"a": b"5"}, {"a": 5, "b": True}, {"a": True}, {"b": False}
]  # fmt: skip


@pytest.fixture
def real(engine: str, engine_table: str) -> DynamoDBRim:
    """A table of the engine."""
    return DynamoDBRim(dynamodb_client(engine), engine_table)


def held(rim: DynamoDBRim, key: tuple[str, str], condition: Condition) -> tuple[bool, Item | None]:
    """Whether a condition holds, and if not the item that is there."""
    try:
        rim.transact([Check(key, condition)])
    except TransactionFailed as failed:
        return False, failed.failed[0]
    return True, None


def test_conditions_hold_for_the_same_items(real: DynamoDBRim) -> None:
    for n, attributes in enumerate(ITEMS):
        item: Item | None = None if attributes is None else {"pk": "p", "sk": f"s{n}", **attributes}
        if item is not None:
            real.put(Put(item))
        for condition in CONDITIONS:
            expected = (True, None) if holds(condition, item) else (False, item)
            assert held(real, ("p", f"s{n}"), condition) == expected, (condition, item)


def test_updates_leave_the_same_items(real: DynamoDBRim) -> None:
    """Set, remove and add, on an item and on none."""
    scripted = Table()
    updates = [
        Update(("p", "s"), Absent(), {"a": 1}, add={"rev": 1}),
        Update(("p", "s"), Present(), {"b": "x"}, ("a", "none"), {"rev": 2}),
        Update(("p", "s"), Compare("rev", "=", 3), {"b": b"y"}),
    ]
    for update in updates:
        assert real.update(update) == scripted.update(update)
    with pytest.raises(ConditionFailed) as failed:
        real.update(updates[0])
    assert failed.value.old == scripted.at(("p", "s"))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 5, 6, None])
def test_pages_end_at_the_same_places(real: DynamoDBRim, descending: bool, limit: int | None) -> None:
    """At its limit a page says that more may follow, whether it does or not."""
    scripted = Table()
    for sk in ("!a", "E1", "E2", "E3", "E4", "~"):
        for table in (real, scripted):
            table.put(Put({"pk": "p", "sk": sk}))
    start = None
    while True:
        page = real.query("p", "E", "~", descending=descending, limit=limit, start=start)
        keys = scripted.keys("p", "E", "~")
        assert page == scripted.query(keys, scripted.at, descending=descending, limit=limit, start=start)
        start = page.next
        if start is None:
            assert isinstance(page, Page)
            return
