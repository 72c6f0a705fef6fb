"""Where the two surfaces differ: waiting, tokens, and work that would block an event loop."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")
Token: TypeAlias = Callable[[], str | None]
"""Returns a token."""

Sleep: TypeAlias = Callable[[float], Any]

sleep: Sleep = time.sleep


def token_from(provider: Token) -> str | None:
    """What the provider returns."""
    return provider()


def in_thread(work: Callable[..., T], *arguments: Any) -> T:
    """Do it here: nobody else waits."""
    return work(*arguments)
