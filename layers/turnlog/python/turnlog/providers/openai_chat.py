"""OpenAI's Chat Completions, and every endpoint that is compatible with it (OpenAI API reference, "Create chat
completion")."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..domain.models import FinishReason, ModelRejected, ModelReply, ModelRequest, ModelSpec, Usage
from .content import said, turns_of, whole
from .http import post

BASE_URL: Final = "https://api.openai.com/v1"

_FINISHES: Final[Mapping[str, FinishReason]] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "refused",
}


class OpenAIChat:
    """One model behind one endpoint. An endpoint of one's own may do without a key."""

    name: Final = "openai"

    def __init__(self, spec: ModelSpec, key: Callable[[], str | None]) -> None:
        self._spec = spec
        self._key = key
        self._base = (spec.base_url or BASE_URL).rstrip("/")

    def complete(self, request: ModelRequest) -> ModelReply:
        """One request."""
        messages = [{"role": role, "content": text} for role, text in turns_of(request)]
        if request.system:
            messages.insert(0, {"role": "system", "content": request.system})
        # Its newer models take only the longer name; other servers know only the shorter one.
        limit = "max_completion_tokens" if self._base == BASE_URL else "max_tokens"
        body = {
            "model": self._spec.model,
            "messages": messages,
            limit: request.max_output_tokens,
        }
        key = self._key()
        headers = {} if key is None else {"authorization": f"Bearer {key}"}
        url = f"{self._base}/chat/completions"
        return _reply(post(url, body, headers, timeout_seconds=self._spec.timeout_seconds), self._spec.model)


def _reply(answer: Mapping[str, Any], model: str) -> ModelReply:
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        raise ModelRejected("the answer has no choice with a message")
    finish: FinishReason = _FINISHES.get(str(choice.get("finish_reason")), "other")
    if message.get("refusal"):
        finish = "refused"
    elif message.get("tool_calls") and finish in ("stop", "other"):  # some servers say "stop" all the same
        finish = "tool_calls"
    usage = answer.get("usage")
    counted: Mapping[str, Any] = usage if isinstance(usage, Mapping) else {}
    return ModelReply(
        text=said([message.get("content")]),
        finish=finish,
        usage=Usage(whole(counted.get("prompt_tokens")), whole(counted.get("completion_tokens"))),
        model=str(answer.get("model") or model),
    )
