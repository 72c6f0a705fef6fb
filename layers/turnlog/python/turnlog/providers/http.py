"""One POST of JSON to a model's endpoint, and what its failures mean.

Nothing is tried again here, no redirect is followed (it would carry the key elsewhere), and an
answer has a bound. No error holds the request, its headers, or more than a word of the answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from ..domain.models import ModelError, ModelRejected, ModelThrottled, ModelTimeout, ModelUnavailable

if TYPE_CHECKING:
    import urllib3

MAX_ANSWER_BYTES: Final = 4 * 1024 * 1024
CONNECT_SECONDS: Final = 5.0
OVERLOADED: Final = 529
"""Anthropic's status for "overloaded" (Claude API, "Errors")."""


@cache
def _pool() -> urllib3.PoolManager:
    import urllib3  # noqa: PLC0415  (who asks a model over HTTP pays for it)

    return urllib3.PoolManager(retries=False)


def post(url: str, body: Mapping[str, Any], headers: Mapping[str, str], *, timeout_seconds: float) -> dict[str, Any]:
    """The JSON object that the endpoint answers.

    Raises:
        ModelError: it does not, by kind.
    """
    import urllib3  # noqa: PLC0415  (as above)

    timeout = urllib3.Timeout(connect=min(CONNECT_SECONDS, timeout_seconds), read=timeout_seconds)
    try:
        answer = _pool().request(
            "POST",
            url,
            body=json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass"),
            headers={"content-type": "application/json", **headers},
            timeout=timeout,
            redirect=False,
            preload_content=False,
        )
        try:
            status, sent = answer.status, answer.headers
            data = answer.read(MAX_ANSWER_BYTES + 1, decode_content=True)
        finally:
            answer.close()
    except urllib3.exceptions.TimeoutError:
        raise ModelTimeout(f"no answer within {timeout_seconds:g} s") from None
    except urllib3.exceptions.HTTPError as error:
        raise ModelUnavailable(f"the endpoint cannot be reached: {type(error).__name__}") from None
    if status != 200:
        raise failure(status, data, sent)
    if len(data) > MAX_ANSWER_BYTES:
        raise ModelRejected(f"the answer has more than {MAX_ANSWER_BYTES} bytes")
    return _object(data)


def failure(status: int, data: bytes, headers: Mapping[str, str]) -> ModelError:
    """What a status means; of the answer only the provider's own word for the error is told."""
    word = _word(data)
    detail = f"status {status}{f': {word}' if word else ''}"
    if status == 429:
        return ModelThrottled(detail, retry_after_seconds=retry_after(headers))
    if status in (408, 504):
        return ModelTimeout(detail, retry_after_seconds=retry_after(headers))
    if status >= 500:
        return ModelUnavailable(detail, retry_after_seconds=retry_after(headers))
    return ModelRejected(detail)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that ``Retry-After`` asks for, given as such or as a date (RFC 9110, 10.2.3)."""
    value = (headers.get("retry-after") or "").strip()
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _word(data: bytes) -> str:
    """The provider's type or code of an error: a word, never its message, which may quote the prompt."""
    try:
        error = json.loads(data).get("error")
    except (ValueError, AttributeError):
        return ""
    found = (error.get("code") or error.get("type")) if isinstance(error, dict) else None
    return found if isinstance(found, str) and len(found) <= 60 and found.replace("_", "").isalnum() else ""


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ModelRejected("the answer is no JSON object")
    return value
