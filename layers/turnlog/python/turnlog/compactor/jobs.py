"""What a summarising pass needs from outside: models, somewhere for the parts of a summary, and
somebody who carries out its steps."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Protocol

from ..domain.models import ModelClient

NAME_LENGTH: Final = 48
"""Step Functions takes names of executions of up to 80 characters."""


@dataclass(frozen=True)
class SummaryJob:
    """One summarising pass on its way: small enough to travel between the steps, without any content.

    ``number`` counts the tries at this generation; ``last_seq`` is how far the log is looked at, and
    ``only_at`` whether it must not have grown when the pass lands. ``strategy`` and ``trigger`` are
    JSON texts: a change of the policy meanwhile changes nothing here.
    """

    session_id: str
    inc: int
    generation: int
    last_seq: int
    number: int
    pass_id: str
    strategy: str
    trigger: str | None = None
    asked_by: str = "trigger"
    user: str | None = None
    only_at: bool = False

    def name(self, tenant: str) -> str:
        """The name of its execution: the same for everybody who starts the same try, so that it runs once.
        (A name is taken for 90 days, whatever became of the execution; no two tries share a pass.)"""
        parts = [tenant, self.session_id, self.inc, self.generation, self.number, self.pass_id]
        return f"compaction-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:NAME_LENGTH]}"

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> SummaryJob:
        """The inverse."""
        return cls(**{name: value[name] for name in cls.__dataclass_fields__})


class SummaryStarter(Protocol):
    """Starts the execution of a job."""

    def start(self, job: SummaryJob) -> None:
        """Start it; a job that has been started before is left alone.

        Raises:
            StoreUnavailable: it could not be started just now.
        """
        ...


@dataclass(frozen=True)
class PartRef:
    """A part of a summary, as it lies in a :class:`PartStore`."""

    key: str
    sha256: str
    size: int


class PartStore(Protocol):
    """Keeps the parts of a summary between the steps, for a day."""

    def put(self, job: SummaryJob, name: str, text: str) -> PartRef:
        """Keep a text; the same name again replaces it. Raises ``StoreUnavailable``."""
        ...

    def get(self, ref: PartRef) -> str:
        """A text again.

        Raises:
            StoreUnavailable: not just now.
            CorruptLog: it is gone, or not what was kept.
        """
        ...


@dataclass(frozen=True)
class SummaryModel:
    """A model that may write summaries, by the name that policies use."""

    name: str
    client: ModelClient
    window_tokens: int
    max_output_tokens: int


class ModelBook(Protocol):
    """The models of a stage."""

    def find(self, name: str) -> SummaryModel | None:
        """The model of that name; None when the stage has none."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """All names, for saying what there is."""
        ...
