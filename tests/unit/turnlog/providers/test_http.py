"""How long a provider asks to be left alone, and that no failure tells a secret."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.asking import KEY, PROMPT
from turnlog.providers.http import failure, retry_after

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("30", 30.0),
        ("1.5", 1.5),
        (" 0 ", 0.0),
        ("-3", 0.0),
        ("Thu, 01 Jan 2026 12:01:30 GMT", 90.0),
        ("Thu, 01 Jan 2026 14:01:30 +0200", 90.0),
        ("Thu, 01 Jan 2026 12:01:30", 90.0),
        ("Thursday, 01-Jan-26 12:01:30 GMT", 90.0),
        ("Wed, 31 Dec 2025 23:59:59 GMT", 0.0),
        ("", None),
        ("soon", None),
        ("inf", None),
        ("1e999", None),
        ("nan", None),
        ("Thu, 99 Jan 2026 12:00:00 GMT", None),
        ("Thu, 01 Jan 99999999999999999999 12:00:00 GMT", None),
        ("Thu, 01 Jan 2026 12:00:00 +99999999999999", None),
    ],
)
def test_seconds_or_a_date_or_nothing(value: str, seconds: float | None) -> None:
    """What cannot be waited for is no wish."""
    assert seconds == retry_after({"retry-after": value}, NOW)


def test_no_header_is_no_wish() -> None:
    assert retry_after({}, NOW) is None


QUOTES = st.sampled_from([KEY, PROMPT, KEY[:20], f"Incorrect key: {KEY}", f"prompt: {PROMPT}", "overloaded_error"])


def _objects(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.dictionaries(QUOTES | st.sampled_from(["error", "code", "type", "message"]), inner)


VALUES = st.recursive(QUOTES | st.none() | st.integers(), lambda inner: st.lists(inner) | _objects(inner), max_leaves=5)


@given(st.integers(300, 599), st.one_of(VALUES, st.fixed_dictionaries({"error": _objects(VALUES)})), QUOTES)
def test_no_failure_tells_the_key_or_the_prompt(status: int, body: object, header: str) -> None:
    """Whatever the provider quotes, and wherever."""
    error = failure(status, json.dumps(body).encode(), {"retry-after": header}, NOW)
    told = f"{error} {error!r} {error.detail}"
    assert not any(secret in told for secret in (KEY[:20], "4711", PROMPT, "Ada"))


@given(st.integers(300, 599), st.binary(max_size=200), st.text(max_size=40))
def test_every_failure_is_one_of_the_ports(status: int, data: bytes, header: str) -> None:
    """Bytes of any kind are no reason to fall."""
    error = failure(status, data, {"retry-after": header}, NOW)
    assert (status == 429) == (error.reason == "throttled")
    assert error.retryable == (status >= 500 or status in (408, 429))
    assert error.retry_after_seconds is None or error.retry_after_seconds >= 0
