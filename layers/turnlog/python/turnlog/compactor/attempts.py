"""How tries are counted, named, and spread in time."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Final

from ..compaction.triggers import CompactionTrigger, Watermark
from ..domain.due import Attempt, WindowSize
from ..domain.instant import Instant
from ..domain.passes import new_pass_id
from ..domain.session import StoredSession, Version

FIRST_WAIT_SECONDS: Final = 60
LONGEST_WAIT_SECONDS: Final = 24 * 3600
"""A model that never gives a summary is asked once a day, at most."""

NONCE_BYTES: Final = 6
MAX_DETAIL: Final = 300
"""Characters of a reason that stand on the head, which every append reads."""


def next_number(session: StoredSession) -> int:
    """The number of the next try at the session's generation."""
    return 1 if session.attempt is None else session.attempt.number + 1


def pass_id_of(session_id: str, version: Version, number: int, at: Instant) -> str:
    """The id of the pass that a try makes. The number alone would come again when a change of the policy
    has made the session forget its attempts: so the instant of the claim goes into it."""
    parts = json.dumps([session_id, version.inc, version.generation, number, at.ns])
    return new_pass_id(version.generation + 1, hashlib.sha256(parts.encode()).digest()[:NONCE_BYTES])


def holds_back(attempt: Attempt | None, trigger: CompactionTrigger, size: WindowSize, now: Instant) -> bool:
    """Whether a trigger that fires has to wait: for the model, for the next try, or until what it looks
    at has grown since the pass that was of no use, or was undone."""
    if attempt is None:
        return False
    if attempt.status in ("running", "failed"):
        return attempt.waits(now)
    return not (isinstance(trigger, Watermark) and trigger.has_grown(attempt.size, size))


def failed_attempt(running: Attempt, now: Instant, reason: str, detail: str) -> Attempt:
    """What is remembered of a try that failed. Each failure doubles the time until the next try."""
    wait = min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2 ** min(running.number - 1, 20))
    return replace(
        running,
        status="failed",
        at=now,
        reason=reason,
        detail=detail[:MAX_DETAIL],
        retry_at=now.plus_seconds(wait),
    )
