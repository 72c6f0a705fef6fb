"""The fields of an answer, each of the type that the API promises. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ..domain.exactjson import EMPTY, JsonObject
from ..domain.instant import Instant
from ..domain.session import ETag
from ._models import Page

T = TypeVar("T")


class NotOurs(Exception):
    """A field is missing, or is not of the type that the API promises."""


def needed(value: Mapping[str, Any], key: str, kind: type[T]) -> T:
    """A field that has to be there, of this type; raises :class:`NotOurs`."""
    found = value.get(key)
    if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
        raise NotOurs(f"{key!r} is not of type {kind.__name__}")
    return found


def optional(value: Mapping[str, Any], key: str, kind: type[T]) -> T | None:
    """A field that may be missing or null."""
    return None if value.get(key) is None else needed(value, key, kind)


def instant(value: Mapping[str, Any], key: str) -> Instant:
    """A time; raises ``InvalidRequest`` for what is none."""
    return Instant.parse(needed(value, key, str), pointer=key)


def optional_instant(value: Mapping[str, Any], key: str) -> Instant | None:
    """A time that may be missing or null."""
    return None if value.get(key) is None else instant(value, key)


def json_object(value: Mapping[str, Any], key: str) -> JsonObject:
    """A JSON object; empty when it is missing or null."""
    found = optional(value, key, dict)
    return JsonObject.of(found) if found else EMPTY


def optional_object(value: Mapping[str, Any], key: str) -> JsonObject | None:
    """A JSON object that may be missing or null."""
    found = optional(value, key, dict)
    return None if found is None else JsonObject.of(found)


def etag(headers: Mapping[str, str]) -> str:
    """The tag of an answer, strong again."""
    tag = headers.get("etag", "")
    # A proxy that compresses may have weakened it; the server compares strong tags only.
    tag = tag.removeprefix("W/")
    if ETag.parse(tag) is None:
        raise NotOurs("the ETag header is missing")
    return tag


def page(body: Mapping[str, Any], cursor: str | None, item: Callable[[Mapping[str, Any]], T]) -> Page[T]:
    """The page at ``cursor``, whose rows ``item`` reads."""
    items = tuple(item(value) for value in needed(body, "data", list))
    following = optional(body, "next_cursor", str)
    if following is not None and following == cursor:
        raise NotOurs("the page leads to itself, so reading on would never end")
    return Page(items, following)
