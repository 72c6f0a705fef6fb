"""docs/limits.md says what the code does."""

from __future__ import annotations

import pytest

from infra.settings import Settings
from session_api import limits
from tests.support.tree import ROOT
from turnlog import service
from turnlog.domain import archive, branch, exactjson, uploads
from turnlog.domain.session import DEFAULT_TTL_SECONDS

DAY = 86_400
RATES = Settings()
PAGE = (ROOT / "docs/limits.md").read_text()
CELLS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.split("\n") if line.startswith("| ")]
ROWS = {name: rest[0] for name, *rest in CELLS}


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ("session id", limits.ID_PATTERN.partition("]")[0].strip("[")),
        ("session id", limits.ID_PATTERN.partition(",")[2].strip("}")),
        ("branch", f"{branch.MAX_LENGTH:,} characters"),
        ("`Idempotency-Key`", f"1 to {limits.IDEMPOTENCY_KEY_CHARS:,} "),
        ("`cursor`", f"{limits.CURSOR_CHARS:,} characters"),
        ("events in one append", f"1 to {limits.BATCH:,}"),
        ("request body", f"{limits.BODY_BYTES:,} bytes"),
        ("request body", f"({limits.LAMBDA_PAYLOAD_BYTES // limits.MIB} MB)"),
        ("`metadata` of a session or an event", f"{limits.METADATA_BYTES:,} bytes"),
        ("compaction policy; the trigger and the strategy of one compaction", f"{limits.POLICY_BYTES:,} bytes"),
        ("`system_prompt`, `shadow_prompt` of a policy", f"{limits.PROMPT_CHARS:,} characters"),
        ("`limit` of compactions", f"1 to {limits.MAX_LIMIT:,}, default {limits.PASSES_LIMIT:,}"),
        ("JSON nesting", f"{exactjson.MAX_DEPTH:,} levels"),
        ("one number", f"{exactjson.MAX_NUMBER_DIGITS:,} digits"),
        ("`ttl_seconds`", f"{limits.MIN_TTL_SECONDS:,} seconds"),
        ("`ttl_seconds`", f"{limits.MAX_TTL_SECONDS // (365 * DAY):,} years"),
        ("`ttl_seconds`", f"{DEFAULT_TTL_SECONDS // DAY:,} days"),
        ("`limit` of events", f"1 to {limits.MAX_LIMIT:,}, default {limits.EVENTS_LIMIT:,}"),
        ("`limit` of sessions", f"1 to {limits.MAX_LIMIT:,}, default {limits.SESSIONS_LIMIT:,}"),
        ("`last_n`", f"{service.MAX_LAST_N:,}"),
        ("one page", f"{limits.PAGE_BYTES:,} bytes"),
        ("store reads of one listing", f"{service.SCAN_BATCHES:,}, "),
        ("archive state", f"{archive.MAX_BYTES:,} bytes"),
        ("one upload", f"1 to {uploads.MAX_BYTES:,} bytes ({uploads.MAX_BYTES // limits.MIB} MiB)"),
        ("`media_type` of an upload", f"{uploads.MEDIA_TYPE_CHARS:,} characters"),
        ("a URL to upload to or read from", f"{uploads.URL_SECONDS // 60} minutes"),
        ("a route with a token", f"{RATES.request_rate:,} requests a second, {2 * RATES.request_rate:,} in a burst"),
        ("a public route", f"{RATES.public_rate:,} requests a second, {2 * RATES.public_rate:,} in a burst"),
    ],
)
def test_the_page_states_the_limit_that_the_code_keeps(row: str, text: str) -> None:
    """A changed constant changes the page, or this fails."""
    assert text in ROWS[row]
