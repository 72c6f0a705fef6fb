"""A request's body: bytes, then exact JSON, then a model, with every wrong field named."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from turnlog.domain import exactjson
from turnlog.domain.errors import FieldError, InvalidRequest, MalformedJson, PayloadTooLarge
from turnlog.domain.exactjson import JsonValue, escape_pointer

from .fields import ERROR_TYPE
from .limits import BODY_BYTES, ENVELOPE_BYTES, LAMBDA_PAYLOAD_BYTES
from .problems import MalformedRequest

Model = TypeVar("Model", bound=BaseModel)
_MESSAGES: Final = {
    "missing": "is required",
    "extra_forbidden": "is not a known field",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "string_type": "must be a string",
    "list_type": "must be a list",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "dict_type": "must be an object",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "too_short": "must have at least {min_length} {entries}",
    "too_long": "must have at most {max_length} {entries}",
    "string_too_short": "must have at least {min_length} {characters}",
    "string_too_long": "must have at most {max_length} {characters}",
    "union_tag_invalid": "must be one of {expected_tags}",
    "union_tag_not_found": "is required",
}


def read_json(event: Mapping[str, Any]) -> JsonValue:
    """The body of an HTTP API event, parsed exactly.

    Raises:
        MalformedRequest: broken base64.
        MalformedJson: empty, not UTF-8 (even if the gateway made it so), or not JSON.
        PayloadTooLarge: over 4 MiB as sent, or over Lambda's limit once wrapped.
    """
    raw = _bytes(event)
    _check_unaltered(event, raw)
    if not raw.strip():
        raise MalformedJson("The body is empty; send a JSON object.")
    return exactjson.loads(raw)


_REPLACEMENT: Final = "\ufffd".encode()


def _check_unaltered(event: Mapping[str, Any], raw: bytes) -> None:
    """Refuse a body that the gateway had to repair: it decodes text before the function sees it, and
    puts U+FFFD where the bytes are no UTF-8. The length that the caller announced gives that away."""
    headers = event.get("headers") or {}
    announced = headers.get("content-length", "")
    comparable = announced.isdecimal() and headers.get("content-encoding", "identity") == "identity"
    if comparable and int(announced) != len(raw):
        raise MalformedJson(
            f"The body was sent with {announced} bytes and arrived as text of {len(raw)}: it is not UTF-8."
        )
    if not comparable and not event.get("isBase64Encoded") and _REPLACEMENT in raw:
        raise MalformedJson(
            "The body holds U+FFFD, which may stand for bytes that are not UTF-8. If it is meant, write it as "
            "\\ufffd, or send a Content-Length."
        )


def _bytes(event: Mapping[str, Any]) -> bytes:
    text = event.get("body") or ""
    if event.get("isBase64Encoded"):
        try:
            raw = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise MalformedRequest("The body is marked as base64 and is not.") from None
        wrapped = len(text)
    else:
        try:
            raw = text.encode("utf-8")
        except UnicodeEncodeError:
            raise MalformedJson("The text is not UTF-8: it holds a lone surrogate.") from None
        wrapped = len(raw) + raw.count(b'"') + raw.count(b"\\") + raw.count(b"\n")
    if len(raw) > BODY_BYTES:
        raise PayloadTooLarge(f"The body has {len(raw)} bytes; at most {BODY_BYTES} are taken.", limit_bytes=BODY_BYTES)
    # The local engine does not keep this limit of Lambda's; what works there has to work in AWS.
    if wrapped + ENVELOPE_BYTES > LAMBDA_PAYLOAD_BYTES:
        raise PayloadTooLarge(
            f"The body has {wrapped} bytes once it is escaped for the function; send it in smaller batches.",
            limit_bytes=LAMBDA_PAYLOAD_BYTES - ENVELOPE_BYTES,
        )
    return raw


def validate(model: type[Model], value: JsonValue) -> Model:
    """The value as the model.

    Raises:
        InvalidRequest: with one entry for every wrong field.
        PayloadTooLarge: nothing is wrong but the size of a field.
    """
    try:
        return model.model_validate(value)
    except ValidationError as bad:
        found = bad.errors(include_url=False, include_input=False)
    fields = tuple(FieldError(_pointer(error, value), _detail(error)) for error in found)
    limits: list[int | None] = [error.get("ctx", {}).get("limit_bytes") for error in found]
    summary = "; ".join(f"{field.pointer or 'the body'}: {field.detail}" for field in fields[:3])
    if limits[0] is not None and all(limits):
        raise PayloadTooLarge(f"{summary}.", limit_bytes=limits[0], errors=fields)
    more = f"; and {len(fields) - 3} more" if len(fields) > 3 else ""
    raise InvalidRequest(f"{summary}{more}.", errors=fields)


def _detail(error: ErrorDetails) -> str:
    template = _MESSAGES.get(error["type"])
    if template is None:
        return error["msg"]
    limits = error.get("ctx", {})
    one = limits.get("min_length", limits.get("max_length")) == 1
    nouns = (
        {"entries": "entry", "characters": "character"} if one else {"entries": "entries", "characters": "characters"}
    )
    return template.format(**limits, **nouns)


def _pointer(error: ErrorDetails, body: JsonValue) -> str:
    base = "".join(f"/{escape_pointer(str(part))}" for part in _without_tags(error["loc"], body))
    if error["type"] == ERROR_TYPE:
        return base + str(error["ctx"]["pointer"])
    if error["type"].startswith("union_tag"):
        return f"{base}/type"
    return base


_TAGGED: Final = ("compaction", "trigger", "strategy")
"""The members of bodies that hold tagged unions."""


def _without_tags(loc: tuple[int | str, ...], body: JsonValue) -> Iterable[int | str]:
    """A location of pydantic's without the tags of tagged unions, which stand in it like keys. Only a
    compaction's rules are such unions."""
    value, tag = body, None
    for part in loc:
        if tag is not None and part == tag:
            tag = None
            continue
        yield part
        value = _member(value, part)
        tag = value.get("type") if loc[0] in _TAGGED and isinstance(value, dict) else None


def _member(value: JsonValue, part: int | str) -> JsonValue:
    if isinstance(value, dict) and isinstance(part, str):
        return value.get(part)
    if isinstance(value, list) and isinstance(part, int) and part < len(value):
        return value[part]
    return None
