"""Amazon Bedrock's Converse (Amazon Bedrock API reference, "Converse")."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final

from ..domain.models import (
    FinishReason,
    ModelError,
    ModelRejected,
    ModelReply,
    ModelRequest,
    ModelSpec,
    ModelThrottled,
    ModelTimeout,
    ModelUnavailable,
    Usage,
)
from .content import said, turns_of, whole

CONNECT_SECONDS: Final = 5

_FINISHES: Final[Mapping[str, FinishReason]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "guardrail_intervened": "refused",
    "content_filtered": "refused",
}

_KINDS: Final[Mapping[str, type[ModelError]]] = {
    "ThrottlingException": ModelThrottled,
    "TooManyRequestsException": ModelThrottled,
    "ServiceQuotaExceededException": ModelThrottled,
    "ModelTimeoutException": ModelTimeout,
    "RequestTimeout": ModelTimeout,
    "ServiceUnavailableException": ModelUnavailable,
    "InternalServerException": ModelUnavailable,
    "ModelNotReadyException": ModelUnavailable,
    "ModelErrorException": ModelUnavailable,
}
"""Every other code is a refusal: the request, the access or the model's name."""


class BedrockConverse:
    """One model; the client is made when the first question is asked."""

    name: Final = "bedrock"

    def __init__(self, spec: ModelSpec, make_client: Callable[[ModelSpec], Any] | None = None) -> None:
        self._spec = spec
        self._make_client = make_client or _client

    @cached_property
    def _bedrock(self) -> Any:
        return self._make_client(self._spec)

    def complete(self, request: ModelRequest) -> ModelReply:
        """One request."""
        from botocore import exceptions as failed  # noqa: PLC0415  (see _client)
        from botocore.parsers import ResponseParserError  # noqa: PLC0415

        messages = [{"role": role, "content": [{"text": text}]} for role, text in turns_of(request)]
        try:
            answer = self._bedrock.converse(
                modelId=self._spec.model,
                messages=messages,
                **({"system": [{"text": request.system}]} if request.system else {}),
                inferenceConfig={"maxTokens": request.max_output_tokens},
            )
        except failed.ClientError as error:
            raise _failure(error.response) from None
        except failed.ReadTimeoutError:
            raise ModelTimeout(f"no answer within {self._spec.timeout_seconds:g} s") from None
        except (failed.HTTPClientError, failed.ConnectionError, failed.IncompleteReadError) as error:
            raise ModelUnavailable(f"Bedrock cannot be reached: {type(error).__name__}") from None
        except (failed.BotoCoreError, ResponseParserError) as error:
            # Their messages quote parameters and answers.
            raise ModelRejected(f"Bedrock cannot be asked, or not be understood: {type(error).__name__}") from None
        return _reply(answer, self._spec.model)


def _client(spec: ModelSpec) -> Any:
    from botocore.config import Config  # noqa: PLC0415  (who asks Bedrock pays for it)
    from botocore.session import Session  # noqa: PLC0415

    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=spec.timeout_seconds,
        retries={"mode": "standard", "total_max_attempts": 1},  # who asks decides when to ask again
    )
    return Session().create_client("bedrock-runtime", config=config, endpoint_url=spec.base_url)


def _failure(response: Any) -> ModelError:
    code = str(response.get("Error", {}).get("Code", ""))
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    fallback: type[ModelError] = ModelUnavailable if status >= 500 else ModelRejected
    return _KINDS.get(code, fallback)(code or f"status {status}")


def _reply(answer: Mapping[str, Any], model: str) -> ModelReply:
    try:
        text = said(block.get("text") for block in answer["output"]["message"]["content"])
    except (KeyError, TypeError):
        raise ModelRejected("the answer has no message") from None
    usage = answer.get("usage", {})
    return ModelReply(
        text=text,
        finish=_FINISHES.get(str(answer.get("stopReason")), "other"),
        usage=Usage(whole(usage.get("inputTokens")), whole(usage.get("outputTokens"))),
        model=model,
    )
