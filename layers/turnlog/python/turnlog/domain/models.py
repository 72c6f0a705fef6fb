"""Models that answer in text: the port, what it says when it cannot, and how a stage names its models.

The port knows no vendor. Later parts add tools; for now a request is instructions and a conversation
in text, and a reply is text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal, Protocol, cast, get_args

from . import exactjson
from .errors import InvalidRequest
from .exactjson import escape_pointer
from .message import Message

FinishReason = Literal["stop", "length", "tool_calls", "refused", "other"]
"""``length``: cut off. ``refused``: by the model, or by a filter of its provider."""

Provider = Literal["bedrock", "openai", "anthropic", "scripted"]

NAME: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}", re.ASCII)
DEFAULT_OUTPUT_TOKENS: Final = 2048
DEFAULT_TIMEOUT_SECONDS: Final = 60
MAX_TIMEOUT_SECONDS: Final = 240
MIN_WINDOW_TOKENS: Final = 1024

BASE_URL: Final = re.compile(
    r"https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/(?!.*[?#@])[!-~]*)?", re.ASCII
)
"""Paths are appended to it, and it stands in logs: no query, no fragment, no name and password."""

KEYED: Final = ("openai", "anthropic")
"""Providers whose own endpoints ask for a key."""


@dataclass(frozen=True)
class ModelRequest:
    """What a model is asked: instructions, and messages of users and assistants in text."""

    system: str
    messages: tuple[Message, ...]
    max_output_tokens: int


@dataclass(frozen=True)
class Usage:
    """Tokens as the provider counts them; None where it does not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True)
class ModelReply:
    """What it answered; ``text`` is None when there was none. ``model`` as the provider names it."""

    text: str | None
    finish: FinishReason
    usage: Usage
    model: str


class ModelClient(Protocol):
    """One model of one provider."""

    @property
    def name(self) -> str:
        """The provider's name."""
        ...

    def complete(self, request: ModelRequest) -> ModelReply:
        """Ask once; nothing is tried again here.

        Raises:
            ModelError: there is no answer; its class says why.
            InvalidRequest: the request holds what this port cannot send.
        """
        ...


class ModelError(Exception):
    """A model gave no answer. ``reason`` is a word for logs and histories; ``detail`` holds neither
    prompts nor keys. ``retry_after_seconds`` is the provider's wish, if it has one."""

    reason: ClassVar[str]
    retryable: ClassVar[bool]

    def __init__(self, detail: str, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(detail)
        self.detail = detail
        self.retry_after_seconds = retry_after_seconds


class ModelThrottled(ModelError):
    """Too many requests, or a quota is used up."""

    reason = "throttled"
    retryable = True


class ModelUnavailable(ModelError):
    """The provider fails, is overloaded, or cannot be reached."""

    reason = "unavailable"
    retryable = True


class ModelTimeout(ModelError):
    """No answer in time."""

    reason = "timeout"
    retryable = True


class ModelRejected(ModelError):
    """The request, the key or the model's name is refused, or the answer cannot be read."""

    reason = "rejected"
    retryable = False


@dataclass(frozen=True)
class ModelSpec:
    """A model of a stage. ``secret`` names where the provider's key is kept; ``base_url`` None is the
    vendor's own. :meth:`parse` holds a setting to the bounds; a test may go below them."""

    provider: Provider
    model: str
    window_tokens: int
    max_output_tokens: int = DEFAULT_OUTPUT_TOKENS
    base_url: str | None = None
    secret: str | None = None
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS

    @classmethod
    def parse(cls, name: str, value: object) -> ModelSpec:
        """From its JSON.

        Raises:
            InvalidRequest: a part is missing, unknown or out of range; the pointer says which.
        """
        at = f"/{escape_pointer(name)}"
        if not NAME.fullmatch(name):
            raise InvalidRequest.at(at, "must be 1 to 128 of letters, digits and . _ : -")
        if not isinstance(value, Mapping):
            raise InvalidRequest.at(at, "must be an object")
        for key in value:
            if key not in cls.__dataclass_fields__:
                pointer = f"{at}/{escape_pointer(str(key))}"
                raise InvalidRequest.at(pointer, f"is not known; known are {', '.join(cls.__dataclass_fields__)}")
        provider = value.get("provider")
        if provider not in get_args(Provider):
            raise InvalidRequest.at(f"{at}/provider", f"must be one of {', '.join(get_args(Provider))}")
        spec = cls(
            provider=cast("Provider", provider),
            model=_text(value, "model", at) or "",
            window_tokens=_number(value, "window_tokens", at, None),
            max_output_tokens=_number(value, "max_output_tokens", at, DEFAULT_OUTPUT_TOKENS),
            base_url=_text(value, "base_url", at, optional=True),
            secret=_text(value, "secret", at, optional=True),
            timeout_seconds=_number(value, "timeout_seconds", at, DEFAULT_TIMEOUT_SECONDS),
        )
        spec._check(at)
        return spec

    def _check(self, at: str) -> None:
        if self.window_tokens < MIN_WINDOW_TOKENS:
            raise InvalidRequest.at(f"{at}/window_tokens", f"must be {MIN_WINDOW_TOKENS} or more")
        if not 1 <= self.max_output_tokens < self.window_tokens:
            raise InvalidRequest.at(f"{at}/max_output_tokens", "must be from 1 to less than window_tokens")
        if not 1 <= self.timeout_seconds <= MAX_TIMEOUT_SECONDS:
            raise InvalidRequest.at(f"{at}/timeout_seconds", f"must be from 1 to {MAX_TIMEOUT_SECONDS}")
        if self.base_url is not None and not BASE_URL.fullmatch(self.base_url):
            detail = "must be an http or https URL of a host and a path, without name, password, query or fragment"
            raise InvalidRequest.at(f"{at}/base_url", detail)
        if self.provider in KEYED and self.base_url is None and self.secret is None:
            raise InvalidRequest.at(f"{at}/secret", "must name where the key is kept, when base_url is not set")


def parse_models(text: str) -> Mapping[str, ModelSpec]:
    """The models of a stage: a JSON object of names and what they stand for.

    Raises:
        MalformedJson: it is no JSON.
        InvalidRequest: it is no object, or a part of it is not valid.
    """
    value = exactjson.loads(text) if text.strip() else {}
    if not isinstance(value, dict):
        raise InvalidRequest.at("", "must be an object")
    return MappingProxyType({name: ModelSpec.parse(name, spec) for name, spec in value.items()})


def _text(value: Mapping[str, Any], name: str, at: str, *, optional: bool = False) -> str | None:
    found = value.get(name)
    if found is None and optional:
        return None
    if not isinstance(found, str) or not found.strip():
        raise InvalidRequest.at(f"{at}/{name}", "must be a text")
    return found


def _number(value: Mapping[str, Any], name: str, at: str, default: int | None) -> int:
    found = value.get(name, default)
    if not isinstance(found, int) or isinstance(found, bool):
        raise InvalidRequest.at(f"{at}/{name}", "must be a whole number")
    return found
