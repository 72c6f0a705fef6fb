"""One POST of JSON to a model's endpoint, and what its failures mean.

Nothing is tried again here, no redirect is followed (it would carry the key elsewhere), no proxy of
the environment is used, and an answer has a bound. No error holds the request, its headers, or more
than a word of the answer.
"""

from __future__ import annotations

import json
import math
import re
import time
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

_PIECE_BYTES: Final = 64 * 1024
_WORD: Final = re.compile(r"[A-Za-z_]{1,60}", re.ASCII)


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

    _check(headers)
    failed = urllib3.exceptions
    try:
        status, sent, data = _exchange(url, body, headers, timeout_seconds)
    except (failed.ConnectTimeoutError, failed.NewConnectionError) as error:
        raise ModelUnavailable(f"the endpoint cannot be reached: {type(error).__name__}") from None
    except failed.TimeoutError:
        raise ModelTimeout(f"no answer within {timeout_seconds:g} s") from None
    except failed.LocationValueError:
        raise ModelRejected("the endpoint's URL cannot be read") from None
    except failed.HTTPError as error:
        raise ModelUnavailable(f"the endpoint cannot be reached: {type(error).__name__}") from None
    if status != 200:
        raise failure(status, data, sent, datetime.now(UTC))
    if len(data) > MAX_ANSWER_BYTES:
        raise ModelRejected(f"the answer has more than {MAX_ANSWER_BYTES} bytes")
    value = _loaded(data)
    if not isinstance(value, dict):
        raise ModelRejected("the answer is no JSON object")
    return value


def failure(status: int, data: bytes, headers: Mapping[str, str], now: datetime) -> ModelError:
    """What a status means; of the answer only the provider's own word for the error is told.

    From 500 on it is the provider's failure, as is Anthropic's 529, "overloaded" (Claude API, "Errors").
    """
    word = _word(data)
    detail = f"status {status}{f': {word}' if word else ''}"
    wish = retry_after(headers, now)
    if status == 429:
        return ModelThrottled(detail, retry_after_seconds=wish)
    if status in (408, 504):
        return ModelTimeout(detail, retry_after_seconds=wish)
    if status >= 500:
        return ModelUnavailable(detail, retry_after_seconds=wish)
    return ModelRejected(detail)


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """The seconds that ``Retry-After`` asks for, given as such or as a date (RFC 9110, 10.2.3); None
    when it says nothing that can be waited for."""
    value = (headers.get("retry-after") or "").strip()
    try:
        seconds = float(value)
    except ValueError:
        seconds = _until(value, now)
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _until(date: str, now: datetime) -> float:
    try:
        moment = parsedate_to_datetime(date)
    except (ValueError, OverflowError):
        return math.nan
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - now).total_seconds()


def _check(headers: Mapping[str, str]) -> None:
    """The HTTP library would quote a value that it cannot send, and one of them is the key."""
    for name, value in headers.items():
        if not value.isascii() or not value.isprintable():
            raise ModelRejected(f"the key cannot be sent: {name} has signs that are not printable ASCII")


def _exchange(
    url: str, body: Mapping[str, Any], headers: Mapping[str, str], timeout_seconds: float
) -> tuple[int, Mapping[str, str], bytes]:
    """Status, headers, and as much of the body as it may have, and a byte more."""
    import urllib3  # noqa: PLC0415  (as above)

    deadline = time.monotonic() + timeout_seconds
    answer = _pool().request(
        "POST",
        url,
        # No store gives out a lone surrogate; a caller's own text must not stop a summary for ever.
        body=json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"),
        headers={"content-type": "application/json", **headers},
        timeout=urllib3.Timeout(connect=min(CONNECT_SECONDS, timeout_seconds), read=timeout_seconds),
        redirect=False,
        preload_content=False,
    )
    data = bytearray()
    try:
        while piece := answer.read1(_PIECE_BYTES, decode_content=True):
            data += piece
            if len(data) > MAX_ANSWER_BYTES:
                break
            if time.monotonic() > deadline:  # the library's limit is for each wait, and a slow sender resets it
                raise urllib3.exceptions.TimeoutError
    finally:
        answer.close()
    return answer.status, answer.headers, bytes(data)


def _word(data: bytes) -> str:
    """The provider's code or type of an error: a word without digits, which no key is, and never its
    message, which may quote key and prompt."""
    value = _loaded(data)
    error = value.get("error") if isinstance(value, dict) else None
    if not isinstance(error, dict):
        return ""
    found = (error.get("code"), error.get("type"))
    return next((word for word in found if isinstance(word, str) and _WORD.fullmatch(word)), "")


def _loaded(data: bytes) -> object:
    """None for what is no JSON, or nested without end."""
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value
