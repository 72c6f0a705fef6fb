"""Keys of providers, kept in AWS Secrets Manager."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any, Final

from ..domain.models import ModelRejected, ModelUnavailable

FRESH_SECONDS: Final = 300
"""How long a key is remembered: a rotated one is found after that."""

FIELD: Final = "api_key"


class SecretsManager:
    """Reads secrets by name or ARN; a secret is the key itself, or a JSON object with ``api_key``."""

    def __init__(
        self, make_client: Callable[[], Any] | None = None, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._make_client = make_client or _client
        self._monotonic = monotonic
        self._known: dict[str, tuple[float, str]] = {}

    @cached_property
    def _secrets(self) -> Any:
        return self._make_client()

    def get(self, name: str) -> str:
        """The key.

        Raises:
            ModelRejected: there is no such secret, it may not be read, or it holds no key.
            ModelUnavailable: not just now.
        """
        until, key = self._known.get(name, (0.0, ""))
        if self._monotonic() >= until or not key:
            key = _key_in(self._read(name))
            self._known[name] = (self._monotonic() + FRESH_SECONDS, key)
        return key

    def _read(self, name: str) -> str:
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415  (see _client)
        from botocore.parsers import ResponseParserError  # noqa: PLC0415

        try:
            answer = self._secrets.get_secret_value(SecretId=name)
        except ClientError as error:
            response: Any = error.response
            code = str(response.get("Error", {}).get("Code", ""))
            if response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) >= 500 or "Throttl" in code:
                raise ModelUnavailable(f"the provider's key cannot be read just now: {code}") from None
            raise ModelRejected(f"the provider's key cannot be read: {code}") from None
        except (BotoCoreError, ResponseParserError) as error:  # the latter quotes the answer, and so the key
            raise ModelUnavailable(f"the provider's key cannot be read just now: {type(error).__name__}") from None
        return str(answer.get("SecretString") or "")


def _key_in(text: str) -> str:
    found: Any = text
    if text.lstrip().startswith("{"):
        try:
            found = json.loads(text).get(FIELD)
        except ValueError:
            found = None
    key = found.strip() if isinstance(found, str) else ""
    if not key or not key.isascii() or not key.isprintable():
        raise ModelRejected(f"the secret of the provider's key holds none: a key, or a JSON object with {FIELD}")
    return key


def _client() -> Any:
    from botocore.config import Config  # noqa: PLC0415  (who has a key pays for it)
    from botocore.session import Session  # noqa: PLC0415

    config = Config(connect_timeout=2, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 3})
    return Session().create_client("secretsmanager", config=config)
