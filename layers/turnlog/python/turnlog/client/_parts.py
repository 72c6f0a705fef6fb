"""What requests are made of: paths, headers, queries, bodies. No I/O."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import quote

from ..domain.errors import FieldError, InvalidRequest
from ..domain.uploads import REF_PATTERN
from ._messages import text_of
from ._models import Upload
from .errors import as_client_errors

_SESSION_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}", re.ASCII)
EVENT_ID: Final = re.compile(r"~?[A-Za-z0-9._:-]{1,128}", re.ASCII)
REF: Final = re.compile(REF_PATTERN, re.ASCII)
_HEADER_VALUE: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?", re.ASCII)


def new_key() -> str:
    """A request key nobody has used."""
    return str(uuid.uuid4())


def key_of(key: str | None) -> str:
    """The caller's request key, or a new one.

    Raises:
        InvalidRequest: one that no header can hold; an empty one is no key, and no wish for a new one.
    """
    if key is None:
        return new_key()
    header("Idempotency-Key", key)
    return key


def ref_of(upload: str | Upload) -> str:
    """The ref of an upload, or a ref."""
    return upload.ref if isinstance(upload, Upload) else upload


def checked_session_id(session_id: str) -> str:
    """The id, if it can stand in a path (DESIGN 5): an id such as ``..`` would name another
    resource.

    Raises:
        InvalidRequest: it can't.
    """
    part(_SESSION_ID, session_id, "sid")
    return session_id


def session_path(session_id: str) -> str:
    """The path of a session; raises like :func:`checked_session_id`."""
    return f"/v1/sessions/{part(_SESSION_ID, session_id, 'sid')}"


@as_client_errors()
def part(grammar: re.Pattern[str], value: str, name: str) -> str:
    """One segment of a path; raises ``InvalidRequest`` for what is not of the grammar."""
    if not isinstance(value, str) or not grammar.fullmatch(value) or value in (".", ".."):
        raise InvalidRequest.at(f"path:{name}", f"must match {grammar.pattern} and be neither . nor ..")
    return quote(value, safe="")


@as_client_errors()
def header(name: str, value: str | None) -> dict[str, str]:
    """A header, unless the value is None; raises ``InvalidRequest`` for what HTTP cannot carry."""
    if value is None:
        return {}
    if not isinstance(value, str) or not is_header_value(value):
        detail = "must be printable ASCII without blanks around it"
        raise InvalidRequest(f"{name} {detail}.", errors=[FieldError(f"header:{name}", detail)])
    return {name: value}


def is_header_value(value: str) -> bool:
    """Whether HTTP can carry it."""
    return _HEADER_VALUE.fullmatch(value) is not None


@as_client_errors()
def words_of(name: str, values: Iterable[str] | None) -> str | None:
    """A list as the API reads it, joined by commas: a word that holds one would become two."""
    if isinstance(values, str):
        raise TypeError(f"{name} is a list of words, not one string")
    words = tuple(values or ())
    if any("," in word for word in words):
        raise InvalidRequest.at(f"query:{name}", "a word must not hold a comma")
    return ",".join(words) or None


def query_of(**parameters: str | int | bool | None) -> tuple[tuple[str, str], ...]:
    """Parameters as they stand in the URL; None leaves one out."""
    out: list[tuple[str, str]] = []
    for name, value in parameters.items():
        if isinstance(value, bool):
            out.append((name, "true" if value else "false"))
        elif value is not None:
            text_of(str(value), f"query:{name}")
            out.append((name, str(value)))
    return tuple(out)


def written(fields: Mapping[str, str]) -> str:
    """An object of members that are JSON text already, so that none is parsed and written twice."""
    return "{" + ",".join(f'"{name}":{text}' for name, text in fields.items()) + "}"
