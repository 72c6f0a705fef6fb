"""A model that needs no key and no network: it does what its name says, the same each time."""

from __future__ import annotations

from typing import Final

from ..compaction.recursive_summarization import FACTS_HEADING
from ..domain.models import ModelReply, ModelRequest, Usage

CARRIED: Final = "Facts to carry forward, word for word:"
FACT: Final = "FACT:"


class ScriptedModel:
    """``facts`` copies what the prompt asks it to carry, and what the conversation marks as a fact."""

    name: Final = "scripted"

    def __init__(self, model: str = "facts") -> None:
        self._model = model

    def complete(self, request: ModelRequest) -> ModelReply:
        """The reply."""
        text = "\n".join(message.text or "" for message in request.messages)
        section = text.partition(CARRIED)[2].partition("\n\n")[0]
        facts = [line[2:] for line in section.splitlines() if line.startswith("- ")]
        facts += [line.partition(FACT)[2].strip() for line in text.splitlines() if FACT in line]
        lines = [f"- {fact}" for fact in dict.fromkeys(facts)]
        summary = "\n".join([f"The conversation so far, in {len(text)} characters.", FACTS_HEADING, *lines])
        return ModelReply(summary, "stop", Usage(len(text) // 4, len(summary) // 4), self._model)
