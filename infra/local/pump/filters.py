"""Filter criteria of event source mappings (Lambda developer guide, "Control which events Lambda sends to your
function").

A pattern is a JSON object that names fields and, for each, the list of what the field may be. Fields of a pattern add
up; the entries of a list, and the patterns of a mapping, are alternatives.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

MISSING = object()
Test = Callable[[Any], bool]


class PatternError(ValueError):
    """A pattern that Lambda refuses, or that uses what this pump cannot judge; the text says which part."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """One pattern, compiled: whatever it cannot judge is refused before the first record."""

    test: Test

    @classmethod
    def parse(cls, text: str) -> "Pattern":
        """From its JSON.

        Raises:
            PatternError: it is no pattern, or has an operator that is not known here.
        """
        try:
            value = json.loads(text)
        except ValueError:
            raise PatternError(f"not JSON: {text}") from None
        return cls(_object(value, "pattern"))

    def matches(self, record: Mapping[str, Any]) -> bool:
        """Whether a record goes to the function."""
        return self.test(record)


def _object(pattern: Any, at: str) -> Test:
    if not isinstance(pattern, dict) or not pattern:
        raise PatternError(f"{at}: must be an object that names fields")
    tests: list[Test] = []
    for name, wanted in pattern.items():
        if name == "$or":
            tests.append(_either(wanted, f"{at}.$or"))
        elif isinstance(wanted, dict):
            tests.append(_below(name, _object(wanted, f"{at}.{name}")))
        elif isinstance(wanted, list) and wanted:
            tests.append(_field(name, [_value(one, f"{at}.{name}") for one in wanted]))
        else:
            raise PatternError(f"{at}.{name}: must be an object or a list of values")
    return lambda found: isinstance(found, Mapping) and all(test(found) for test in tests)


def _either(wanted: Any, at: str) -> Test:
    if not isinstance(wanted, list) or not wanted:
        raise PatternError(f"{at}: must be a list of patterns")
    tests = [_object(one, at) for one in wanted]
    return lambda found: any(test(found) for test in tests)


def _below(name: str, test: Test) -> Test:
    # A field that is not there is an empty object: `exists: false` may stand below it.
    return lambda found: test(found.get(name) if isinstance(found.get(name), Mapping) else {})


def _field(name: str, tests: list[Test]) -> Test:
    return lambda found: any(test(found.get(name, MISSING)) for test in tests)


def _value(wanted: Any, at: str) -> Test:
    if isinstance(wanted, dict):
        return _operator(wanted, at)
    if isinstance(wanted, list):
        raise PatternError(f"{at}: a list within a list")
    return lambda found: type(found) is type(wanted) and found == wanted


def _operator(wanted: dict[str, Any], at: str) -> Test:
    if len(wanted) != 1:
        raise PatternError(f"{at}: an operator stands alone in its object")
    ((name, operand),) = wanted.items()
    make = _OPERATORS.get(name)
    if make is None:
        raise PatternError(f"{at}: the pump does not know the operator {name!r}")
    return make(operand, at)


def _text(operand: Any, at: str) -> str:
    if not isinstance(operand, str):
        raise PatternError(f"{at}: must be a string")
    return operand


def _prefix(operand: Any, at: str) -> Test:
    wanted = _text(operand, at)
    return lambda found: isinstance(found, str) and found.startswith(wanted)


def _suffix(operand: Any, at: str) -> Test:
    wanted = _text(operand, at)
    return lambda found: isinstance(found, str) and found.endswith(wanted)


def _ignoring_case(operand: Any, at: str) -> Test:
    wanted = _text(operand, at).lower()
    return lambda found: isinstance(found, str) and found.lower() == wanted


def _exists(operand: Any, at: str) -> Test:
    if not isinstance(operand, bool):
        raise PatternError(f"{at}: must be true or false")
    return lambda found: (found is not MISSING) is operand


def _anything_but(operand: Any, at: str) -> Test:
    if isinstance(operand, dict):
        inner = _operator(operand, at)
        return lambda found: found is not MISSING and not inner(found)
    refused = operand if isinstance(operand, list) else [operand]
    tests = [_value(one, at) for one in refused]
    return lambda found: found is not MISSING and not any(test(found) for test in tests)


_OPERATORS: dict[str, Callable[[Any, str], Test]] = {
    "prefix": _prefix,
    "suffix": _suffix,
    "equals-ignore-case": _ignoring_case,
    "exists": _exists,
    "anything-but": _anything_but,
}
