"""Every case of every vector file is one test: pure ones run once, store ones on each store.

Nothing is left out in silence. What is not run stands in one of the two lists here and is shown as skipped.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.support.conformance import compaction, pure, stored
from tests.support.conformance.cases import Case, check, load
from tests.support.engine import create_bucket, create_table
from turnlog.domain.ports import SessionRepository
from turnlog.stores.dynamodb import connect
from turnlog.stores.memory import InMemorySessionRepository

NOT_YET = {
    "advisor.after": 5,
    "advisor.before": 5,
    "tool.conversation_search": 6,
    "tool.cross_session_search": 6,
}
"""Areas that a later issue builds: area -> issue. This list may only shrink."""

SKIPPED: dict[str, str] = {}
"""Cases that the design decides otherwise: test id -> reason."""

EXECUTED = {
    "branch.visibility": 6,
    "compaction.recursive": 16,
    "compaction.sliding_window": 9,
    "compaction.token_count": 7,
    "compaction.turn_window": 11,
    "event.build": 4,
    "filter.find": 24,
    "filter.merge": 10,
    "filter.normalise": 11,
    "format": 7,
    "log": 10,
    "log.cas": 2,
    "message_filter": 7,
    "session.create": 8,
    "session.delete": 1,
    "session.expiry": 3,
    "session.list": 1,
    "system": 16,
    "trigger": 12,
}
"""How many cases of each area are run; a case cannot vanish."""

STORES = ("memory", "engine")
PURE = {**pure.OPERATIONS, **compaction.PURE}
STORED = {**stored.OPERATIONS, **compaction.STORED}
CASES = load(Path(__file__).parent / "vectors")


def _why_not(case: Case) -> str | None:
    if case.name in SKIPPED:
        return SKIPPED[case.name]
    return f"not yet: issue {NOT_YET[case.area]}" if case.area in NOT_YET else None


@pytest.mark.parametrize("case", [c for c in CASES if c.when["op"] in PURE], ids=lambda c: c.name)
def test_pure(case: Case) -> None:
    """What the domain says alone."""
    if why_not := _why_not(case):
        pytest.skip(why_not)
    check(case.then, lambda: PURE[case.when["op"]](case))


@pytest.fixture(scope="module")
def tenants_on_engine(engine: str) -> Iterator[SessionRepository]:
    """Repositories of new tenants, all in one table."""
    repositories = connect(create_table(engine), create_bucket(engine), endpoint_url=engine)
    return (repositories(f"tenant-{n}") for n in count())


@pytest.fixture
def repository(request: pytest.FixtureRequest) -> SessionRepository:
    """An empty repository of the store that the test's id names."""
    if request.param == "memory":
        return InMemorySessionRepository()
    tenants: Iterator[SessionRepository] = request.getfixturevalue("tenants_on_engine")
    return next(tenants)


@pytest.mark.parametrize(
    ("case", "repository"),
    [
        pytest.param(case, store, id=f"{case.name}-{store}", marks=[pytest.mark.engine] if store == "engine" else [])
        for case in CASES
        if case.when["op"] in STORED and _why_not(case) is None
        for store in STORES
    ],
    indirect=["repository"],
)
def test_stored(case: Case, repository: SessionRepository) -> None:
    """What a store does."""
    check(case.then, lambda: STORED[case.when["op"]](case, repository))


@pytest.mark.parametrize(
    "case",
    [c for c in CASES if c.when["op"] not in PURE and (_why_not(c) or c.when["op"] not in STORED)],
    ids=lambda c: c.name,
)
def test_not_run(case: Case) -> None:
    """Shows what is not run, and fails for a case that nobody has decided about."""
    why_not = _why_not(case)
    assert why_not, f"the runner does not know the operation {case.when['op']!r}"
    pytest.skip(why_not)


def test_every_case_is_run_or_listed() -> None:
    """The number of executed cases is known, each id is there once, and no list names what is not there."""
    assert Counter(case.area for case in CASES if _why_not(case) is None) == EXECUTED
    assert [name for name, count in Counter(case.name for case in CASES).items() if count > 1] == []
    assert set(NOT_YET) <= {case.area for case in CASES}
    assert set(SKIPPED) <= {case.name for case in CASES}
