r"""How large an answer is once Lambda has wrapped it, and which wrapping is the smaller one.

Lambda returns the proxy answer as JSON text, in which the body is one string. Older runtimes
write every character beyond ASCII as ``\uXXXX``: three bytes of CJK become six. A body marked
``isBase64Encoded`` costs 4/3 of its UTF-8, whatever it holds, and the gateway undoes it.
"""

from __future__ import annotations

import json
from typing import Final

from .limits import PAGE_BODY_BYTES

LONGEST_ESCAPE: Final = 12
"""The most bytes that one character becomes when it is escaped: a surrogate pair."""


def escaped_bytes(text: str) -> int:
    """The size of the text as a JSON string in ASCII, quotes included."""
    return len(json.dumps(text, ensure_ascii=True))


def base64_bytes(size: int) -> int:
    """The size of ``size`` bytes in base64."""
    return 4 * ((size + 2) // 3)


def proxy_body(text: str) -> str | bytes:
    """The body to hand to the resolver: text, or bytes when base64 is needed and smaller.

    Small bodies stay text, which people can read in a log of the gateway or the function.
    """
    limit = PAGE_BODY_BYTES
    if len(text) * LONGEST_ESCAPE <= limit:
        return text
    escaped = escaped_bytes(text)
    if escaped <= limit:
        return text
    encoded = text.encode("utf-8")
    return encoded if base64_bytes(len(encoded)) < escaped else text
