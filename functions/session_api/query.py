"""The query string, read strictly: a parameter that is unknown, repeated or empty is an error."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeVar
from urllib.parse import unquote_to_bytes

from turnlog.domain import branch as branches
from turnlog.domain.errors import FieldError, InvalidRequest
from turnlog.domain.event import has_text
from turnlog.domain.instant import Instant

from .problems import MalformedRequest

Choice = TypeVar("Choice", bound=str)
_BROKEN_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_WHOLE_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,8})", re.ASCII)


def percent_decode(text: str, pointer: str) -> str:
    """Decode once; raises ``MalformedRequest`` for a broken escape or bytes that are not UTF-8."""
    if _BROKEN_ESCAPE.search(text):
        raise _malformed(pointer, "holds a % that is not an escape")
    try:
        return unquote_to_bytes(text).decode("utf-8")
    except UnicodeError:
        raise _malformed(pointer, "is not UTF-8") from None


def _malformed(pointer: str, detail: str) -> MalformedRequest:
    return MalformedRequest(f"{pointer}: {detail}", errors=[FieldError(pointer, detail)])


class Query:
    """The parameters of one request.

    Raises:
        MalformedRequest: broken percent-encoding.
        InvalidRequest: a parameter that is not in ``known``, or one given twice.
    """

    def __init__(self, raw: str, known: Iterable[str]) -> None:
        self._values: dict[str, str] = {}
        allowed = tuple(known)
        for pair in raw.split("&") if raw else ():
            raw_name, _, raw_value = pair.replace("+", " ").partition("=")
            name = percent_decode(raw_name, "query:")
            value = percent_decode(raw_value, f"query:{name}")
            if name not in allowed:
                expected = f"the parameters are {', '.join(allowed)}" if allowed else "no parameters are taken here"
                raise InvalidRequest.at(f"query:{name}", f"is unknown; {expected}")
            if name in self._values:
                raise InvalidRequest.at(f"query:{name}", "is given twice")
            self._values[name] = value

    @property
    def values(self) -> Mapping[str, str]:
        """What was given, decoded, in its order."""
        return self._values

    def text(self, name: str) -> str | None:
        """The value as it is; it has to have text."""
        value = self._values.get(name)
        if value is not None and not has_text(value):
            raise InvalidRequest.at(f"query:{name}", "must not be blank")
        return value

    def number(self, name: str, low: int, high: int) -> int | None:
        """A whole number within the range, both ends included."""
        value = self._values.get(name)
        if value is None:
            return None
        if not _WHOLE_NUMBER.fullmatch(value) or not low <= int(value) <= high:
            raise InvalidRequest.at(f"query:{name}", f"must be a whole number from {low} to {high}")
        return int(value)

    def choice(self, name: str, choices: tuple[Choice, ...]) -> Choice | None:
        """One of the given words."""
        value = self._values.get(name)
        if value is None:
            return None
        for choice in choices:
            if choice == value:
                return choice
        raise InvalidRequest.at(f"query:{name}", f"must be {' or '.join(choices)}")

    def flag(self, name: str) -> bool | None:
        """``true`` or ``false``."""
        choices: tuple[Literal["true"], Literal["false"]] = ("true", "false")
        value = self.choice(name, choices)
        return None if value is None else value == "true"

    def words(self, name: str) -> tuple[str, ...] | None:
        """A comma-separated list without blank entries."""
        value = self.text(name)
        if value is None:
            return None
        words = tuple(value.split(","))
        if not all(has_text(word) for word in words):
            raise InvalidRequest.at(f"query:{name}", "must not hold a blank entry")
        return words

    def instant(self, name: str) -> Instant | None:
        """An RFC 3339 time with a zone."""
        value = self._values.get(name)
        return None if value is None else Instant.parse(value, pointer=f"query:{name}")

    def branch(self, name: str) -> str | None:
        """A branch name as DESIGN 6 allows it."""
        value = self._values.get(name)
        if value is not None and not branches.is_valid(value):
            raise InvalidRequest.at(f"query:{name}", BRANCH_RULE)
        return value


BRANCH_RULE: Final = (
    f"must be non-empty parts of letters, digits, _ and -, joined by dots, {branches.MAX_LENGTH} characters at most"
)
