"""The model is worth its time: it finds each of three stores that are broken on purpose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.support.scripted.operations import Act, run_history
from tests.support.scripted.scenarios import FAULTS, SCENARIOS
from tests.support.scripted.small import FOLD_BEFORE, small_limits
from tests.support.scripted.strategies import histories
from turnlog.domain.errors import CorruptLog
from turnlog.stores.dynamodb import append, keys
from turnlog.stores.dynamodb.items import Commit
from turnlog.stores.dynamodb.known import Known
from turnlog.stores.dynamodb.rim import Item
from turnlog.stores.dynamodb.view import View


def no_cid_check(patch: pytest.MonkeyPatch) -> None:
    """A put that is refused by its own earlier self is taken for a lost race."""

    def of_another(item: Item) -> Commit:
        return replace(Commit.of(item), cid=b"another")

    class OfAnother:
        def __getattr__(self, name: str) -> Any:
            return getattr(Commit, name)

        def __call__(self, *arguments: Any, **named: Any) -> Commit:
            return Commit(*arguments, **named)

        of = staticmethod(of_another)

    patch.setattr(append, "Commit", OfAnother())


def no_inc_in_the_key(patch: pytest.MonkeyPatch) -> None:
    """Commits of all lives stand in one row of slots, told apart by an attribute only."""
    item, of = Commit.item, Commit.of

    def without(self: Commit) -> Item:
        return {**item(self), "inc": self.inc}

    def from_attribute(stored: Item) -> Commit:
        inc = stored["inc"]
        assert isinstance(inc, int)
        return replace(of(stored), inc=inc)

    patch.setattr(keys, "commit_prefix", lambda inc: f"E#{'0' * 9}#")
    patch.setattr(Commit, "item", without)
    patch.setattr(Commit, "of", staticmethod(from_attribute))


def trim_before_fold(patch: pytest.MonkeyPatch) -> None:
    """A commit leaves out the older ids first; only then a block is written for them."""
    with_ids = append.Appender._with_ids
    trimmed: dict[tuple[str, int], tuple[int, Known]] = {}

    def trim(self: append.Appender, request: Any, view: View, placed: Any, lookup: Any) -> Any:
        with pytest.MonkeyPatch.context() as never:
            never.setattr(append, "FOLD_BEFORE", 10**9)
            judged = with_ids(self, request, view, placed, lookup)
        if judged.known.count <= FOLD_BEFORE or view.tail is None:
            return judged
        trimmed[view.tail.pk, view.last_seq] = judged.fold, lookup.carried
        return replace(judged, known=judged.known.after(view.last_seq), fold=view.last_seq)

    def then_fold(self: append.Appender, judged: Any, commit: Commit) -> None:
        if (commit.pk, commit.fold) in trimmed:
            fold, known = trimmed.pop((commit.pk, commit.fold))
            self._blocks.put(commit.pk, commit.inc, fold, commit.fold, known)

    patch.setattr(append.Appender, "_with_ids", trim)
    patch.setattr(append.Appender, "_fold_after", then_fold)


FOUND = {
    no_cid_check: "an event is doubled",
    no_inc_in_the_key: "shows another log|unavailable, though nobody was in the way",
    trim_before_fold: "a commit folded up to",
}
"""How each shows itself."""

CAUGHT = (AssertionError, CorruptLog)
HARMLESS = ("append", "append with a key", "append that folds after", "append that folds before", "pass")


@pytest.fixture(params=FOUND.items(), ids=lambda found: found[0].__name__)
def symptom(request: pytest.FixtureRequest) -> Iterator[str]:
    """A broken store; how it shows."""
    mutant, symptom = request.param
    with small_limits() as patch:
        mutant(patch)
        yield symptom


def test_it_is_not_seen_when_nothing_goes_wrong(symptom: str) -> None:
    """In one life, from one writer, without a fault: so it is the faults that find it."""
    for name in HARMLESS:
        actor, _ = SCENARIOS[name].play({})
        actor.act(Act(SCENARIOS[name].again))
        actor.ledger.settle()


def test_the_enumeration_catches_it(symptom: str) -> None:
    """Some write, broken at some call."""

    def search() -> None:
        for scenario in SCENARIOS.values():
            for fault in FAULTS:
                for index in range(8):
                    actor, _ = scenario.play({index: [fault]})
                    actor.ledger.settle()
                    actor.act(Act(scenario.again))
                    actor.ledger.settle()

    with pytest.raises(CAUGHT, match=symptom):
        search()


@pytest.mark.slow
def test_the_random_histories_catch_it(symptom: str) -> None:
    """The same histories that the real store passes, cut off at the first failure."""

    @settings(
        max_examples=500,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
        report_multiple_bugs=False,
        print_blob=False,
    )
    @given(histories)
    def search(history: list[Act]) -> None:
        run_history(history)

    with pytest.raises(CAUGHT, match=symptom):
        search()
