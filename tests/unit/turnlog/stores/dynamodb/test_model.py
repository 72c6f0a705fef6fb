"""Random histories under crashes, lost answers, races, stale and torn reads (issue: "It must hold" 4)."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.support.scripted.operations import Act, run_history
from tests.support.scripted.small import small_limits
from tests.support.scripted.strategies import histories


@pytest.fixture(autouse=True, scope="module")
def _small() -> Iterator[None]:
    with small_limits():
        yield


@pytest.mark.slow
@settings(
    max_examples=500,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
)
@given(histories)
def test_whatever_goes_wrong_nothing_is_lost_doubled_or_reordered(history: list[Act]) -> None:
    """Whatever was answered holds, whatever was not has happened once or never."""
    run_history(history)
