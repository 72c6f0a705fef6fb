"""One answer, before it becomes the gateway's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

JSON: Final = "application/json"


@dataclass(frozen=True)
class Answer:
    """What a route gives back.

    ``counts`` are the metrics that only the route knows; ``code`` is the problem's, if it is one.
    """

    status: int
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str | None = JSON
    counts: Mapping[str, int] = field(default_factory=dict)
    code: str | None = None
