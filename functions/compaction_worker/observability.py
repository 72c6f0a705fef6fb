"""One log line and one count for each session that was looked at.

Never in the log: message content, metadata, or the name of a tenant or a session (their hashes are there).
"""

from __future__ import annotations

from typing import Final

from turnlog.compactor import CompactionAnswer
from turnlog.hosting.telemetry import Telemetry, hashed

SERVICE: Final = "compaction_worker"

telemetry = Telemetry(SERVICE)
logger = telemetry.logger
count = telemetry.count


def looked_at(tenant_key: str, session_id: str, answer: CompactionAnswer | None) -> None:
    """A session was looked at; ``answer`` is None when it is gone or has no policy."""
    outcome = "gone" if answer is None else answer.status
    line: dict[str, object] = {"outcome": outcome, **named(tenant_key, session_id)}
    if answer is not None and answer.reason is not None:
        line["reason"] = answer.reason
    if answer is not None and answer.id is not None:
        line["compaction"] = answer.id
    logger.info("compaction", extra=line)
    count("Compactions", outcome=outcome)
    if answer is not None and answer.status == "nothing_to_do":
        count("CompactionsFutile")


def failed(error: Exception, tenant_key: str, session_id: str) -> None:
    """A session could not be looked at; its records are delivered again."""
    logger.error("failed", exc_info=error, extra=named(tenant_key, session_id))
    count("CompactionErrors")


def unreadable(error: Exception, sequence_number: str) -> None:
    """A record that nothing can be made of."""
    logger.error("unreadable record", exc_info=error, extra={"sequence_number": sequence_number})
    count("UnreadableRecords")


def named(tenant_key: str, session_id: str) -> dict[str, str]:
    """A session, for whoever knows it."""
    return {"tenant_hash": hashed(tenant_key), "session_hash": hashed(session_id)}
