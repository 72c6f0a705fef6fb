"""A model that needs no key and no network: it does what its name says, the same each time."""

from __future__ import annotations

from typing import Final

from ..compaction.recursive_summarization import FACTS_HEADING
from ..domain.models import ModelRejected, ModelReply, ModelRequest, Usage
from .content import turns_of

CARRIED: Final = "Facts to carry forward, word for word:\n"
CONVERSATION: Final = "Conversation to summarise:\n"
ENDS: Final = ("\n\nWhat follows it, as context only", "\n\nWrite the summary now.")
"""Sections of the question that :class:`~turnlog.compaction.RecursiveSummarization` asks."""

FACT: Final = "FACT:"
"""What stands after it on a line of the conversation is a fact."""

CHARACTERS_OF_A_TOKEN: Final = 4


class ScriptedModel:
    """``facts`` writes a summary of what it is asked to carry and what the conversation marks as a
    fact, and of nothing else; ``echo`` repeats the last message."""

    name: Final = "scripted"

    def __init__(self, model: str = "facts") -> None:
        self._model = model

    def complete(self, request: ModelRequest) -> ModelReply:
        """The reply. Nothing limits its length.

        Raises:
            ModelRejected: there is no such script.
            InvalidRequest: as the port says.
        """
        texts = [text for _, text in turns_of(request)]
        if self._model == "facts":
            reply = _summary("\n".join(texts))
        elif self._model == "echo":
            reply = "".join(texts[-1:])
        else:
            raise ModelRejected("a scripted model is facts or echo")
        return ModelReply(reply, "stop", Usage(_tokens(request.system, *texts), _tokens(reply)), self._model)


def _summary(prompt: str) -> str:
    facts = [line[2:] for line in _carried(prompt).splitlines() if line.startswith("- ")]
    facts += [line.partition(FACT)[2].strip() for line in _conversation(prompt).splitlines() if FACT in line]
    lines = [f"- {fact}" for fact in dict.fromkeys(facts)]
    return "\n".join([f"The conversation so far, in {len(prompt)} characters.", FACTS_HEADING, *lines])


def _carried(prompt: str) -> str:
    return prompt.partition(CARRIED)[2].partition("\n\n")[0]


def _conversation(prompt: str) -> str:
    """Without what follows it: that is kept in words."""
    told = prompt.partition(CONVERSATION)[2]
    for end in ENDS:
        before, found, _ = told.rpartition(end)
        if found:
            return before
    return told


def _tokens(*texts: str) -> int:
    return sum(map(len, texts)) // CHARACTERS_OF_A_TOKEN
