"""The two public routes: is it up, and what does it offer."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from turnlog import __version__

from ..answer import Answer
from ..call import Call

DOCUMENT: Final = Path(__file__).parent.parent / "openapi.json"


def health(call: Call) -> Answer:
    """``GET /v1/health``: the function runs. It asks no other service."""
    call.query()
    return Answer(200, f'{{"status":"ok","version":"{__version__}"}}')


def openapi(call: Call) -> Answer:
    """``GET /v1/openapi.json``: the committed document, as it is."""
    call.query()
    return Answer(200, _document())


@cache
def _document() -> str:
    return DOCUMENT.read_text(encoding="utf-8")
