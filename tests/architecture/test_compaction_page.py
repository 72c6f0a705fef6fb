"""docs/compaction.md: it has every trigger, strategy, status and reason that there is, and its JSON is taken."""

from __future__ import annotations

import json
import re
from typing import Any, get_args

import pytest

from session_api.compaction_answers import AttemptAnswer, CompactionAnswer
from tests.support.tree import ROOT
from turnlog.compaction.boundary import KeptReason
from turnlog.compaction.policy import _STRATEGIES, _TRIGGERS, CompactionPolicy, parse_strategy
from turnlog.compactor.summaries import _no_summary
from turnlog.domain import models
from turnlog.domain.models import ModelError, ModelReply, ModelSpec, Usage, parse_models

PAGE = (ROOT / "docs/compaction.md").read_text(encoding="utf-8")


def section(heading: str) -> str:
    """What stands under a heading, up to the next one."""
    found = re.search(rf"^#+ {re.escape(heading)}$(.*?)(?=^#+ |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None, heading
    return found[1]


def first_cells(text: str) -> set[str]:
    """The names in the first column of the tables."""
    rows = re.findall(r"^\| (`[^|]+`) \|", text, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)} - {"type", "status", "reason"}


def test_every_trigger_and_strategy_has_its_row() -> None:
    assert {*_TRIGGERS, "any_of"} == first_cells(section("Triggers"))
    assert _STRATEGIES.keys() == first_cells(section("Strategies"))


def test_every_parameter_of_a_strategy_stands_in_its_row() -> None:
    rows = [
        line
        for line in section("Strategies").splitlines()
        if line.startswith("| `") and not line.startswith("| `type`")
    ]
    for (kind, (_, required, optional)), row in zip(sorted(_STRATEGIES.items()), sorted(rows), strict=True):
        assert {kind, *required, *optional} == set(re.findall(r"`([^`]+)`", row))


@pytest.mark.parametrize(
    ("heading", "answer"), [("Asking for one", CompactionAnswer), ("What an attempt says", AttemptAnswer)]
)
def test_every_status_has_its_row(heading: str, answer: Any) -> None:
    asked = {"strategy", "trigger", "force", "dry_run"} if answer is CompactionAnswer else set()
    assert set(get_args(answer.model_fields["status"].annotation)) == first_cells(section(heading)) - asked


def test_every_reason_why_more_stays_is_explained() -> None:
    """But for a summary that the library itself got no text for: over HTTP that is an attempt."""
    named = re.findall(r"`(\w+)`", section("What stays together"))
    assert set(get_args(KeptReason)) - {"summary_failed"} <= set(named)


def _replies() -> list[ModelReply]:
    """A reply for each way to end, without a text and with one."""
    return [
        ModelReply(text, finish, Usage(), "m") for finish in get_args(models.FinishReason) for text in (None, "Fine.")
    ]


def test_every_way_in_which_a_model_fails_has_its_row() -> None:
    errors = {error.reason for error in ModelError.__subclasses__()}
    replies = {reason for reply in _replies() if (reason := _no_summary(reply)) is not None}

    assert errors | replies <= first_cells(section("When a model fails"))


def test_the_models_of_the_page_can_be_set_and_every_part_of_a_model_is_explained() -> None:
    text = re.search(r"^```json\n(.*?)^```$", section("Models"), re.MULTILINE | re.DOTALL)
    assert text is not None
    assert {"small", "mini"} == parse_models(text[1]).keys()
    assert ModelSpec.__dataclass_fields__.keys() == first_cells(section("Models"))


def test_the_policies_of_the_page_are_taken() -> None:
    """Those of the shell; what Python sends is run against the API."""
    given = [
        *re.findall(r"COMPACTION='(\{.*?\})'$", PAGE, re.MULTILINE),
        *re.findall(r"""--data '\{"compaction": (\{.*?\n\})\}'""", PAGE, re.DOTALL),
    ]
    strategies = re.findall(r"""--data '(\{"strategy": .*?\})'$""", PAGE, re.MULTILINE)

    assert (2, 2) == (len(given), len(strategies))
    for policy in given:
        CompactionPolicy.parse(json.loads(policy))
    for asked in strategies:
        parse_strategy(json.loads(asked)["strategy"])
