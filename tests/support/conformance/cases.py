"""Vector files, their cases, and how an outcome is held against what a case says."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from turnlog.domain.errors import Conflict, InvalidRequest, SessionNotFound, TurnlogError

KINDS: Mapping[str, tuple[type[TurnlogError], ...]] = {
    "invalid_argument": (InvalidRequest, SessionNotFound),
    "illegal_state": (Conflict,),
}
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Case:
    """One case of a vector file."""

    file: str
    id: str
    area: str
    given: Mapping[str, Any]
    when: Mapping[str, Any]
    then: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The test's id."""
        return f"{self.file}-{self.id}"


def load(folder: Path) -> list[Case]:
    """The cases of every vector file in a folder."""
    return [
        Case(path.name, case["id"], case["area"], case["given"], case["when"], case["then"])
        for path in sorted(folder.glob("*.json"))
        for case in json.loads(path.read_text(encoding="utf-8"))["cases"]
    ]


def only(mapping: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """The mapping, which holds nothing that the runner would pass over."""
    unknown = set(mapping) - set(keys)
    assert not unknown, f"the runner does not know {sorted(unknown)}"
    return mapping


def check(then: Mapping[str, Any], run: Callable[[], Mapping[str, Any]]) -> None:
    """Hold the outcome of `run` against every key of `then`."""
    assert then, "a case without an expectation proves nothing"
    if "error" in then:
        mismatch = _mismatch(then, outcome(run))
        assert mismatch is None, mismatch
        return
    facts = run()
    for key, expected in then.items():
        assert key in facts, f"the runner does not report {key!r}"
        mismatch = _mismatch(expected, facts[key])
        assert mismatch is None, f"{key}: {mismatch}"


def outcome(run: Callable[[], Any]) -> Any:
    """What `run` answers, or the error of this library that it raises."""
    try:
        return run()
    except TurnlogError as error:
        return error


def _mismatch(expected: Any, actual: Any) -> str | None:
    """What is wrong; None when the value is as expected."""
    if isinstance(expected, Mapping) and "error" in expected:
        return _error_mismatch(only(expected, "error", "mentions"), actual)
    if isinstance(actual, TurnlogError):
        return f"expected {expected!r}, but {actual!r} was raised"
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        found = (_mismatch(e, a) for e, a in zip(expected, actual, strict=True))
        return next((f"[{i}]: {text}" for i, text in enumerate(found) if text), None)
    if expected == "<uuid>" and isinstance(actual, str) and _UUID.fullmatch(actual):
        return None
    same = expected == actual and type(expected) is type(actual)
    return None if same else f"expected {expected!r}, got {actual!r}"


def _error_mismatch(expected: Mapping[str, Any], actual: Any) -> str | None:
    if not isinstance(actual, KINDS[expected["error"]]):
        return f"expected {expected['error']}, got {actual!r}"
    text = str(actual).lower()
    missing = [word for word in expected.get("mentions", ()) if not re.search(rf"(?<!\w){_snake(word)}(?!\w)", text)]
    return f"{text!r} does not mention {missing}" if missing else None


def _snake(word: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", r"_\1", word).lower()
