"""JSON that comes back as it went in (DESIGN 10, "Exact JSON").

Strings are kept byte for byte, numbers as their text (``1.0`` stays ``1.0``, ``1e400`` and
20-digit integers survive), keys in their order. Refused with :class:`MalformedJson`: NaN and
Infinity tokens, duplicate keys, lone surrogates, nesting deeper than ``MAX_DEPTH``, numbers
longer than ``MAX_NUMBER_DIGITS``.

Most numbers become plain ``int`` or ``float``, because Python writes them back the same way; the
few that it would rewrite (``-0``, ``1E5``, ``0.10``, ``1e400``) become :class:`JsonNumber`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeAlias

from . import locate
from .errors import FieldError, MalformedJson

JsonValue: TypeAlias = Any
"""A parsed JSON value: dict, list, str, int, float, :class:`JsonNumber`, bool or None."""

MAX_DEPTH: Final = 64
MAX_NUMBER_DIGITS: Final = 1000
_MANY_DIGITS: Final = re.compile(rf"(?<![0-9])[0-9]{{{MAX_NUMBER_DIGITS + 1}}}")  # linear: a run is tried once


class JsonNumber:
    """A number whose text Python would not reproduce."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __float__(self) -> float:
        return float(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JsonNumber) and other.text == self.text

    def __hash__(self) -> int:
        return hash(("JsonNumber", self.text))

    def __repr__(self) -> str:
        return f"JsonNumber({self.text!r})"


class _Refusal(Exception):
    """What the parser's hooks refuse; :func:`loads` finds out where it stands."""

    def __init__(self, kind: locate.Kind, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail

    def located(self, text: str) -> MalformedJson:
        """The error for a caller, with a pointer."""
        pointer = locate.pointer_to(self.kind, text, max_depth=MAX_DEPTH, max_digits=MAX_NUMBER_DIGITS)
        if pointer is None:
            return MalformedJson(f"Not JSON: {self.detail}.")
        return MalformedJson(f"{pointer or '/'}: {self.detail}.", errors=[FieldError(pointer, self.detail)])


def _too_long(text: str) -> None:
    if len(text) > MAX_NUMBER_DIGITS and sum(c.isdigit() for c in text) > MAX_NUMBER_DIGITS:
        raise _Refusal("number", f"a number has more than {MAX_NUMBER_DIGITS} digits")


def _int(text: str) -> int | JsonNumber:
    _too_long(text)
    value = int(text)
    return JsonNumber(text) if text == "-0" else value


def _float(text: str) -> float | JsonNumber:
    _too_long(text)
    value = float(text)
    return value if math.isfinite(value) and repr(value) == text else JsonNumber(text)


def _constant(text: str) -> NoReturn:
    raise _Refusal("constant", f"{text} is not JSON")


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        twice = next(k for k, _ in pairs if k in seen or seen.add(k))  # type: ignore[func-returns-value]
        raise _Refusal("key", f"the key {twice!r} stands twice in one object")
    return value


_decoder = json.JSONDecoder(parse_int=_int, parse_float=_float, parse_constant=_constant, object_pairs_hook=_object)


def loads(text: str | bytes) -> JsonValue:
    """Parse JSON text exactly.

    Raises:
        MalformedJson: not UTF-8, not JSON, or one of the refusals above.
    """
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as bad:
            raise MalformedJson(f"The text is not UTF-8: byte {bad.start} cannot be decoded.") from None
    try:
        value = _decoder.decode(text)
    except json.JSONDecodeError as bad:
        what = bad.msg.removesuffix(" at")
        raise MalformedJson(f"Not JSON: {what} at line {bad.lineno}, column {bad.colno}.") from None
    except RecursionError:
        raise _Refusal("depth", _TOO_DEEP).located(text) from None
    except _Refusal as refused:
        raise refused.located(text) from None
    if _is_too_deep(value):
        raise _Refusal("depth", _TOO_DEEP).located(text)
    if "\\u" in text or not _encodable(text):
        _refuse_surrogates(value)
    return value


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


_TOO_DEEP: Final = f"the JSON is nested deeper than {MAX_DEPTH} levels"


def _is_too_deep(value: JsonValue) -> bool:
    level = [value] if isinstance(value, (dict, list)) else []
    depth = 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            return True
        below: list[JsonValue] = []
        for item in level:
            members = item.values() if isinstance(item, dict) else item
            below.extend(m for m in members if isinstance(m, (dict, list)))
        level = below
    return False


def _refuse_surrogates(value: JsonValue, pointer: str = "") -> None:
    if isinstance(value, str):
        if not _encodable(value):
            raise MalformedJson(
                f"{pointer or '/'}: a lone surrogate is not text.",
                errors=[FieldError(pointer, "a lone surrogate is not text")],
            )
    elif isinstance(value, list):
        for i, member in enumerate(value):
            _refuse_surrogates(member, f"{pointer}/{i}")
    elif isinstance(value, dict):
        for key, member in value.items():
            here = f"{pointer}/{escape_pointer(key.encode('utf-8', 'replace').decode())}"
            _refuse_surrogates(key, here)
            _refuse_surrogates(member, here)


def escape_pointer(part: str) -> str:
    """One reference token of an RFC 6901 JSON pointer."""
    return part.replace("~", "~0").replace("/", "~1")


class _HasNumber(Exception):
    """The value holds a :class:`JsonNumber`, which the C encoder cannot write."""


def _on_number(value: object) -> NoReturn:
    if isinstance(value, JsonNumber):
        raise _HasNumber
    raise TypeError(f"{type(value).__name__} is not a JSON value")


_plain = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_on_number)
_sorted = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True, default=_on_number
)


def dumps(value: JsonValue) -> str:
    """Compact JSON text, keys in their order, no escapes beyond those that JSON demands.

    Raises:
        ValueError: a float that is not finite.
        TypeError: not a JSON value.
    """
    try:
        return _plain.encode(value)
    except _HasNumber:
        return "".join(_write(value, ordered=False))


def canonical(value: JsonValue) -> str:
    """JSON text with sorted keys: equal texts are equal values, numbers compared by their text."""
    try:
        return _sorted.encode(value)
    except _HasNumber:
        return "".join(_write(value, ordered=True))


def _write(value: JsonValue, *, ordered: bool) -> Iterator[str]:
    if isinstance(value, JsonNumber):
        yield value.text
    elif isinstance(value, Mapping):
        yield "{"
        items = sorted(value.items()) if ordered else value.items()
        for i, (key, member) in enumerate(items):
            yield f"{',' if i else ''}{_plain.encode(key)}:"
            yield from _write(member, ordered=ordered)
        yield "}"
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield "["
        for i, member in enumerate(value):
            if i:
                yield ","
            yield from _write(member, ordered=ordered)
        yield "]"
    else:
        yield _plain.encode(value)


class JsonObject(Mapping[str, JsonValue]):
    """An immutable JSON object that remembers its text.

    The text is what is stored and answered; the parsed view is made when somebody looks. Two
    objects are equal when their canonical texts are (keys in any order, numbers by text).
    """

    __slots__ = ("_canonical", "_raw", "_value")

    def __init__(self, raw: str) -> None:
        """Trusts ``raw`` to be the text of an object; use :meth:`parse` or :meth:`of` for input."""
        self._raw = raw
        self._value: dict[str, JsonValue] | None = None
        self._canonical: str | None = None

    @classmethod
    def parse(cls, text: str | bytes) -> JsonObject:
        """From JSON text.

        Raises:
            MalformedJson: not exact JSON, or not an object.
        """
        value = loads(text)
        if not isinstance(value, dict):
            raise MalformedJson("Expected a JSON object.")
        return cls.of(value)

    @classmethod
    def of(cls, value: Mapping[str, JsonValue]) -> JsonObject:
        """From a parsed mapping. An existing ``JsonObject`` is returned as it is.

        Raises:
            MalformedJson: something in it is not a JSON value.
        """
        if isinstance(value, JsonObject):
            return value
        try:
            raw = dumps(dict(value))
            if not _encodable(raw):
                _refuse_surrogates(dict(value))
        except (TypeError, ValueError, RecursionError) as bad:
            raise MalformedJson(f"Not JSON: {bad}.") from None
        if raw.count("{") + raw.count("[") > MAX_DEPTH or _MANY_DIGITS.search(raw):
            loads(raw)  # refuses what could not be read back
        return cls(raw)

    @property
    def raw(self) -> str:
        """The compact JSON text."""
        return self._raw

    @property
    def canonical(self) -> str:
        """The text by which two objects are compared."""
        if self._canonical is None:
            self._canonical = canonical(self._parsed())
        return self._canonical

    def to_python(self) -> dict[str, JsonValue]:
        """A fresh copy that the caller may change."""
        value: dict[str, JsonValue] = _decoder.decode(self._raw)
        return value

    def _parsed(self) -> dict[str, JsonValue]:
        if self._value is None:
            self._value = self.to_python()
        return self._value

    def __getitem__(self, key: str) -> JsonValue:
        return self._parsed()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parsed())

    def __len__(self) -> int:
        return len(self._parsed())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, JsonObject):
            return self._raw == other._raw or self.canonical == other.canonical
        return isinstance(other, Mapping) and self._parsed() == other

    def __hash__(self) -> int:
        return hash(self.canonical)

    def __repr__(self) -> str:
        return f"JsonObject({self._raw!r})"


EMPTY: Final = JsonObject("{}")
"""The object without members."""
