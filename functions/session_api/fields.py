"""The types of body fields: each checks its value and yields the domain's own type.

A field refuses with ``PydanticCustomError`` of type ``turnlog``; its context carries the pointer
below the field (for a message) or the byte limit (for a size), which ``body.py`` puts together
with pydantic's own findings.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Final, TypeVar

from pydantic import BeforeValidator, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import PydanticCustomError, core_schema

from turnlog.domain import branch as branches
from turnlog.domain import ids
from turnlog.domain.errors import InvalidRequest
from turnlog.domain.exactjson import JsonNumber, JsonObject
from turnlog.domain.instant import Instant
from turnlog.domain.message import Message
from turnlog.domain.uploads import (
    MEDIA_TYPE_CHARS,
    MEDIA_TYPE_PATTERN,
    SHA256_PATTERN,
    wrong_media_type,
    wrong_sha256,
)

from .limits import ID_PATTERN, METADATA_BYTES
from .query import BRANCH_RULE

ERROR_TYPE: Final = "turnlog"
_ID: Final = re.compile(ID_PATTERN, re.ASCII)
EVENT_ID_PATTERN: Final = f"(?:{ID_PATTERN}|{ids.SERVER_MADE_PATTERN})"
ID_RULE: Final = "must be 1 to 128 of letters, digits, . _ : and -, and not . or .. alone"
EVENT_ID_RULE: Final = f"{ID_RULE}; or an id that the server made, such as ~mkq1x2y3-17"
PASS_ID_PATTERN: Final = r"[1-9][0-9]{0,8}(?:\.[0-9a-f]{1,32})?"
PASS_ID_RULE: Final = "must be an id of a compaction, such as 3.5f0c2a9b7e11"
_WHOLE_DIGITS: Final = 30
T = TypeVar("T")
Json = dict[str, Any]


def is_id(text: str) -> bool:
    """Whether it may name a new session or event over HTTP (DESIGN 5)."""
    return _ID.fullmatch(text) is not None and text not in (".", "..")


def is_event_id(text: str) -> bool:
    """Whether it may name an event: a caller's id, or one that the server made."""
    return is_id(text) or ids.parse(text) is not None


def refusal(detail: str, *, pointer: str = "", limit_bytes: int | None = None) -> PydanticCustomError:
    """The error of one field; ``pointer`` goes below the field."""
    context = {"detail": detail, "pointer": pointer, "limit_bytes": limit_bytes}
    return PydanticCustomError(ERROR_TYPE, "{detail}", context)


def bounded_object(value: object, limit: int) -> JsonObject:
    """A JSON object of at most ``limit`` bytes of compact text."""
    if not isinstance(value, dict):
        raise refusal("must be an object")
    json = JsonObject.of(value)
    if len(json.raw.encode("utf-8")) > limit:
        raise refusal(f"has more than {limit} bytes", limit_bytes=limit)
    return json


def _whole(value: object) -> object:
    """JSON Schema counts 1.0 and 1e2 as integers, because a sender's language may write them so."""
    if isinstance(value, (float, JsonNumber)):
        number = Decimal(value.text if isinstance(value, JsonNumber) else value)
        # Where the exponent is large the integer would have millions of digits; no field of ours takes it.
        if number.adjusted() < _WHOLE_DIGITS and number == number.to_integral_value():
            return int(number)
    return value


def _metadata(value: object) -> JsonObject:
    return bounded_object(value, METADATA_BYTES)


def _message(value: object) -> Message:
    return _located(lambda: Message.of(value, pointer=""))  # type: ignore[arg-type]  # Message.of checks it


def _timestamp(value: object) -> Instant:
    if not isinstance(value, str):
        raise refusal("must be a string in RFC 3339 format")
    return _located(lambda: Instant.parse(value, pointer=""))


def _branch(value: object) -> str:
    if not isinstance(value, str) or not branches.is_valid(value):
        raise refusal(BRANCH_RULE)
    return value


def _session_id(value: object) -> str:
    if not isinstance(value, str) or not is_id(value):
        raise refusal(ID_RULE)
    return value


def _event_id(value: object) -> str:
    if not isinstance(value, str) or not is_event_id(value):
        raise refusal(EVENT_ID_RULE)
    return value


def _told(value: object, wrong: Callable[[str], str | None]) -> str:
    """A string with which nothing is wrong."""
    if not isinstance(value, str):
        raise refusal("must be a string")
    if (detail := wrong(value)) is not None:
        raise refusal(detail)
    return value


def _located(make: Callable[[], T]) -> T:
    try:
        return make()
    except InvalidRequest as bad:
        found = bad.errors[0]
        raise refusal(found.detail, pointer=found.pointer) from None


@dataclass(frozen=True, eq=False)
class _Checked:
    """Marks a field whose value one function checks and converts, and how OpenAPI describes it.

    pydantic's ``PlainValidator`` would also build a schema of the domain type, for nothing.
    """

    check: Callable[[object], Any]
    schema: Json

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self.check)

    def __get_pydantic_json_schema__(self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler) -> Json:
        return dict(self.schema)


def _string(pattern: str, example: str, **more: Any) -> Json:
    return {"type": "string", "pattern": f"^{pattern}$", **more, "examples": [example]}


_NOT_DOTS: Final = r"(?!\.{1,2}$)"
_TIME: Final = {"type": "string", "format": "date-time", "examples": ["2026-01-31T12:00:00.000Z"]}
_OBJECT: Final = {
    "type": "object",
    "additionalProperties": True,
    "description": f"Any JSON object of at most {METADATA_BYTES} bytes; it comes back as it was sent.",
}
_BRANCH: Final = r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*"

WHOLE: Final = BeforeValidator(_whole)
"""Stands behind the bounds of an integer field, or pydantic leaves them out of the JSON Schema."""
SessionId = Annotated[str, _Checked(_session_id, _string(_NOT_DOTS + ID_PATTERN, "support-4711"))]
EventId = Annotated[str, _Checked(_event_id, _string(_NOT_DOTS + EVENT_ID_PATTERN, "msg-1"))]
Timestamp = Annotated[Instant, _Checked(_timestamp, _TIME)]
Branch = Annotated[str, _Checked(_branch, _string(_BRANCH, "orchestrator.researcher", maxLength=branches.MAX_LENGTH))]
Metadata = Annotated[JsonObject, _Checked(_metadata, _OBJECT)]
StoredMessage = Annotated[Message, _Checked(_message, {"x-component": "Message"})]
MediaType = Annotated[
    str,
    _Checked(
        lambda value: _told(value, wrong_media_type),
        _string(MEDIA_TYPE_PATTERN, "image/png", maxLength=MEDIA_TYPE_CHARS),
    ),
]
Sha256 = Annotated[
    str,
    _Checked(
        lambda value: _told(value, wrong_sha256),
        _string(SHA256_PATTERN, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ),
]
