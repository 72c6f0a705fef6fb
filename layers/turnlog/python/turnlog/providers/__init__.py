"""Models of one vendor each, behind the port :class:`turnlog.domain.models.ModelClient`.

:func:`connect` makes the one that a stage's setting names, and imports no other.
"""

from __future__ import annotations

from collections.abc import Callable

from ..domain.models import ModelClient, ModelSpec

Secrets = Callable[[str], str]
"""A secret's value by its name."""


def connect(spec: ModelSpec, *, secrets: Secrets | None = None) -> ModelClient:
    """The client of a model. Keys are fetched when the first question is asked.

    Args:
        spec: which model, where, and within which limits.
        secrets: where keys are kept; without it in Secrets Manager.
    """
    if spec.provider == "scripted":
        from .scripted import ScriptedModel  # noqa: PLC0415

        return ScriptedModel(spec.model)
    raise NotImplementedError(spec.provider)
