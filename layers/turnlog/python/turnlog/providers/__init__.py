"""Models of one vendor each, behind the port :class:`turnlog.domain.models.ModelClient`.

:func:`connect` makes the one that a stage's setting names, and imports no other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from ..domain.models import ModelClient, ModelSpec

if TYPE_CHECKING:
    from .secrets import SecretsManager

Secrets = Callable[[str], str]
"""A provider's key by the name of its secret; raises ``ModelError``."""


def connect(spec: ModelSpec, *, secrets: Secrets | None = None) -> ModelClient:
    """The client of a model. A key is fetched when the first question is asked.

    Args:
        spec: which model, where, and within which limits.
        secrets: where keys are kept; without it in AWS Secrets Manager.
    """
    if spec.provider == "bedrock":
        from .bedrock import BedrockConverse  # noqa: PLC0415  (only the vendor that is asked)

        return BedrockConverse(spec)
    if spec.provider == "scripted":
        from .scripted import ScriptedModel  # noqa: PLC0415

        return ScriptedModel(spec.model)

    def key() -> str | None:
        return None if spec.secret is None else (secrets or _secrets().get)(spec.secret)

    if spec.provider == "anthropic":
        from .anthropic import AnthropicMessages  # noqa: PLC0415

        return AnthropicMessages(spec, key)
    from .openai_chat import OpenAIChat  # noqa: PLC0415

    return OpenAIChat(spec, key)


@cache
def _secrets() -> SecretsManager:
    from .secrets import SecretsManager  # noqa: PLC0415

    return SecretsManager()
