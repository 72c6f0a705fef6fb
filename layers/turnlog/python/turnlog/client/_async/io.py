"""Where the two surfaces differ: waiting, tokens, and work that would block the event loop."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeVar

import anyio
import anyio.to_thread

T = TypeVar("T")
AsyncToken: TypeAlias = Callable[[], str | Awaitable[str] | None]
"""Returns a token, at once or when awaited."""

Sleep: TypeAlias = Callable[[float], Awaitable[Any]]

sleep: Sleep = anyio.sleep


async def token_from(provider: AsyncToken) -> str | None:
    """What the provider returns."""
    token = provider()
    return await token if inspect.isawaitable(token) else token


async def in_thread(work: Callable[..., T], *arguments: Any) -> T:
    """Run what waits for a disk in a thread."""
    return await anyio.to_thread.run_sync(work, *arguments)
