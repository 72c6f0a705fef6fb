"""The models of a stage by their names, each connected when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from ..compactor.jobs import SummaryModel
from ..domain.models import ModelClient, ModelSpec, parse_models
from . import connect

Connect = Callable[[ModelSpec], ModelClient]

SUMMARY_SHARE: Final = 8
"""A summary takes at most an eighth of its model's window: two of them and the instructions have to
fit into the next question."""


class StageModels:
    """A :class:`turnlog.compactor.ModelBook` over a stage's setting."""

    def __init__(self, specs: Mapping[str, ModelSpec], *, connect_to: Connect = connect) -> None:
        self._specs = specs
        self._connect = connect_to
        self._connected: dict[str, ModelClient] = {}

    @classmethod
    def parse(cls, text: str) -> StageModels:
        """From the setting's JSON; raises ``InvalidRequest`` or ``MalformedJson``."""
        return cls(parse_models(text))

    @property
    def names(self) -> tuple[str, ...]:
        """All names."""
        return tuple(self._specs)

    def find(self, name: str) -> SummaryModel | None:
        """The model of that name."""
        spec = self._specs.get(name)
        if spec is None:
            return None
        if name not in self._connected:
            self._connected[name] = self._connect(spec)
        output = min(spec.max_output_tokens, spec.window_tokens // SUMMARY_SHARE)
        return SummaryModel(name, self._connected[name], spec.window_tokens, output)
