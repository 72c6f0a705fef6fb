"""Anthropic's Messages (Claude API reference, "Create a Message")."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..domain.models import FinishReason, ModelRejected, ModelReply, ModelRequest, ModelSpec, Usage
from .content import said, turns_of, whole
from .http import post

BASE_URL: Final = "https://api.anthropic.com"
VERSION: Final = "2023-06-01"

_FINISHES: Final[Mapping[str, FinishReason]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "refused",
}


class AnthropicMessages:
    """One model behind one endpoint."""

    name: Final = "anthropic"

    def __init__(self, spec: ModelSpec, key: Callable[[], str | None]) -> None:
        self._spec = spec
        self._key = key
        self._url = f"{(spec.base_url or BASE_URL).rstrip('/')}/v1/messages"

    def complete(self, request: ModelRequest) -> ModelReply:
        """One request."""
        body = {
            "model": self._spec.model,
            "max_tokens": request.max_output_tokens,
            **({"system": request.system} if request.system else {}),
            "messages": [{"role": role, "content": text} for role, text in turns_of(request)],
        }
        key = self._key()
        headers = {"anthropic-version": VERSION, **({} if key is None else {"x-api-key": key})}
        return _reply(post(self._url, body, headers, timeout_seconds=self._spec.timeout_seconds), self._spec.model)


def _reply(answer: Mapping[str, Any], model: str) -> ModelReply:
    content = answer.get("content")
    if not isinstance(content, list):
        raise ModelRejected("the answer has no content")
    blocks = [block for block in content if isinstance(block, Mapping)]
    usage = answer.get("usage")
    counted: Mapping[str, Any] = usage if isinstance(usage, Mapping) else {}
    return ModelReply(
        text=said(block.get("text") for block in blocks if block.get("type") == "text"),
        finish=_FINISHES.get(str(answer.get("stop_reason")), "other"),
        usage=Usage(whole(counted.get("input_tokens")), whole(counted.get("output_tokens"))),
        model=str(answer.get("model") or model),
    )
