"""Where in a JSON text something stands that Turnlog refuses.

The parser says what it refuses, not where. This scan is slow and only made for a refused text: it
walks the tokens, keeps the path to the current member, and stops at the first offender.
"""

from __future__ import annotations

import json
import re
from typing import Final, Literal

Kind = Literal["constant", "number", "key", "depth"]

CONSTANTS: Final = ("NaN", "Infinity", "-Infinity")
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)


def pointer_to(kind: Kind, text: str, *, max_depth: int, max_digits: int) -> str | None:
    """The RFC 6901 pointer to the first constant that is not JSON, number with too many digits,
    repeated key, or container nested too deep. None when the text is too broken to tell."""
    path: list[str | int] = []
    keys: list[set[str] | None] = []  # of each open object; None for an array
    repeated: list[str | None] = []  # the pointer to the first key of each open container that came before
    at_key = False
    for token in (match[0] for match in _TOKEN.finditer(text)):
        if token in ("{", "["):
            if kind == "depth" and len(path) == max_depth:
                return _pointer(path)
            at_key = token == "{"
            path.append("" if at_key else 0)
            keys.append(set() if at_key else None)
            repeated.append(None)
        elif not path or token == ":":
            at_key = False
        elif token in ("}", "]"):
            path.pop()
            keys.pop()
            if (found := repeated.pop()) is not None:  # the parser, too, sees an object when it ends
                return found
            at_key = False
        elif token == ",":
            at_key = keys[-1] is not None
            path[-1] = path[-1] + 1 if isinstance(path[-1], int) else path[-1]
        elif at_key and keys[-1] is not None:
            name = _name(token)
            if name is None:
                return None
            path[-1] = name
            if kind == "key" and name in keys[-1] and repeated[-1] is None:
                repeated[-1] = _pointer(path)
            keys[-1].add(name)
        elif (kind == "constant" and token in CONSTANTS) or (kind == "number" and _digits(token) > max_digits):
            return _pointer(path)
    return None


def _name(token: str) -> str | None:
    try:
        name = json.loads(token)
    except ValueError:
        return None
    return name if isinstance(name, str) else None


def _digits(token: str) -> int:
    return 0 if token.startswith('"') else sum(c.isdigit() for c in token)


def _pointer(path: list[str | int]) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)
