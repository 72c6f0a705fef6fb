"""Checks what a stage is told about compaction, before it is deployed: ``python -m turnlog.hosting.stage``.

Reads ``{"compaction": <policy or null>, "models": {…}}`` from standard input; says what is wrong on
standard error, with status 2. The functions would find the same, each at its start.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from ..compaction.policy import CompactionPolicy
from ..compaction.recursive_summarization import RecursiveSummarization
from ..domain import exactjson
from ..domain.errors import InvalidRequest, TurnlogError
from ..domain.models import ModelSpec


def check(stage: Mapping[str, Any]) -> None:
    """Look at both.

    Raises:
        InvalidRequest: one of them is not valid, or the policy names a model that there is not.
    """
    models: Any = stage.get("models") or {}
    if not isinstance(models, Mapping):
        raise InvalidRequest.at("/models", "must be an object")
    for name, spec in models.items():
        ModelSpec.parse(name, spec)
    text: Any = stage.get("compaction")
    if text is None:
        return
    if not isinstance(text, Mapping):
        raise InvalidRequest.at("/compaction", "must be an object")
    strategy = CompactionPolicy.parse(text).strategy
    if isinstance(strategy, RecursiveSummarization) and strategy.model not in models:
        known = ", ".join(models) or "none"
        raise InvalidRequest.at("/compaction/strategy/model", f"is not a model of this stage; there is: {known}")


def main() -> int:
    """The exit status: 0, or 2 with the reason on standard error."""
    try:
        stage = exactjson.loads(sys.stdin.buffer.read())
        check(stage if isinstance(stage, dict) else {})
    except TurnlogError as wrong:
        sys.stderr.write(f"{wrong.detail}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
