"""Every size and range that the HTTP API keeps (DESIGN 5, "limits"); bytes are UTF-8 bytes."""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB

BODY_BYTES: Final = 4 * MIB
"""The largest request body as sent.

An event from a body near it is larger than a page (``PAGE_BODY_BYTES``) and answered with a link.
"""

LAMBDA_PAYLOAD_BYTES: Final = 6 * MIB
"""What Lambda takes and gives in one synchronous invocation, as JSON text (AWS quota)."""

ENVELOPE_BYTES: Final = 64 * KIB
"""Left for everything but the body: headers (the gateway allows 10 KB), claims, context."""

PAGE_BYTES: Final = 5_000_000
"""The most that the proxy answer of one page may have, as JSON text."""

PAGE_BODY_BYTES: Final = PAGE_BYTES - ENVELOPE_BYTES
"""The most that the events of one page may have, each measured in base64. A single event that has
more is answered with a link to its message, wherever it is read."""

METADATA_BYTES: Final = 16 * KIB
POLICY_BYTES: Final = 4 * KIB
PROMPT_CHARS: Final = 3_000

BATCH: Final = 100
EVENTS_LIMIT: Final = 50
SESSIONS_LIMIT: Final = 20
PASSES_LIMIT: Final = 20
MAX_LIMIT: Final = 100

MIN_TTL_SECONDS: Final = 60
MAX_TTL_SECONDS: Final = 100 * 31_557_600
"""100 years of 365.25 days."""

ID_PATTERN: Final = r"[A-Za-z0-9._:-]{1,128}"
CURSOR_CHARS: Final = 2048
IDEMPOTENCY_KEY_CHARS: Final = 255
