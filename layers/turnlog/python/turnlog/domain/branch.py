"""Branches: dot-separated paths that isolate sub-agents from one another (spec/session 10)."""

from __future__ import annotations

import re
from typing import Final

_PATH: Final = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*", re.ASCII)
MAX_LENGTH: Final = 256


def is_valid(branch: str) -> bool:
    """Whether the name may be given over HTTP (DESIGN 6): non-empty parts of ``[A-Za-z0-9_-]``
    joined by dots. The repository port takes any string."""
    return len(branch) <= MAX_LENGTH and _PATH.fullmatch(branch) is not None


def is_visible(event_branch: str | None, agent_branch: str) -> bool:
    """Whether an agent on ``agent_branch`` sees an event of ``event_branch``.

    It sees the root, its own branch and its ancestors; never children or siblings (spec 10.2).
    """
    return event_branch is None or agent_branch == event_branch or agent_branch.startswith(f"{event_branch}.")
