"""What to do when more is to be summarised than the model can read at once (DESIGN 7): chunks, a
partial summary of each, and a summary of those; again, until one is left.

Nothing is left out: a message that is larger than a chunk is divided, and the pieces say so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ..domain.errors import InvalidRequest
from ..domain.ports import TokenCounter
from .recursive_summarization import RecursiveSummarization, Selection, SummaryPrompt, facts_of, prior_summaries
from .request import CompactionRequest

CONTINUED: Final = "(continued) "
"""Begins each piece of a divided message but the first."""

USED_SHARE: Final = 0.75
"""How much of a model's window is planned for: tokens are estimated, and its own count may be higher."""

HEADERS_TOKENS: Final = 150
"""The lines around the sections of a prompt."""

LEAST_BUDGET_TOKENS: Final = 256


@dataclass(frozen=True)
class Chunk:
    """What one question to the model holds."""

    earlier: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    overlap: tuple[str, ...] = ()

    def prompt(self, strategy: RecursiveSummarization) -> SummaryPrompt:
        """The question."""
        return strategy.ask(self.earlier, self.lines, self.overlap)


def budget_of(
    strategy: RecursiveSummarization, counter: TokenCounter, *, window_tokens: int, output_tokens: int
) -> int:
    """How many tokens of material one question may hold.

    Raises:
        InvalidRequest: the model's window leaves too little.
    """
    instructions = counter.count(strategy.system_prompt) + HEADERS_TOKENS
    budget = int(window_tokens * USED_SHARE) - output_tokens - instructions
    room = window_tokens - output_tokens - instructions
    if budget < max(LEAST_BUDGET_TOKENS, 2 * output_tokens) or room < 4 * output_tokens:
        # Two partial summaries have to fit, or there would be no end to it; all of them may be facts.
        raise InvalidRequest.at("/strategy/model", "reads and writes too few tokens at once to summarise")
    return budget


def chunks_of(
    strategy: RecursiveSummarization, request: CompactionRequest, selection: Selection, budget: int
) -> list[Chunk]:
    """The questions of the first level; one when everything fits. The overlap stands in the last."""
    counter = request.counter
    earlier = _divided(prior_summaries(request), budget, counter)
    lines = _divided((strategy.format(event.message) for event in selection.events), budget, counter)
    overlap = tuple(strategy.format(event.message) for event in selection.overlap)
    material = [*((True, text) for text in earlier), *((False, text) for text in lines)]
    room = budget - sum(map(counter.count, overlap))
    groups = list(_groups(material, budget, counter))
    if room < budget and len(groups) == 1 and _cost(groups[0], counter) > room:
        groups = list(_groups(material, max(room, LEAST_BUDGET_TOKENS), counter))
    chunks = [
        Chunk(tuple(t for is_old, t in group if is_old), tuple(t for is_old, t in group if not is_old))
        for group in groups
    ]
    last = chunks[-1]
    if _cost(groups[-1], counter) <= room:
        chunks[-1] = Chunk(last.earlier, last.lines, overlap)
    return chunks


def combinations(parts: Sequence[str], budget: int, counter: TokenCounter) -> list[Chunk]:
    """The questions of the next level, over partial summaries; each holds two at least, except that one
    may be left over: so it comes to an end."""
    groups: list[list[str]] = [[]]
    used = 0
    for part in parts:
        cost = _cost([(True, part)], counter)
        if len(groups[-1]) >= 2 and used + cost > budget:
            groups.append([])
            used = 0
        groups[-1].append(part)
        used += cost
    if len(groups) > 1 and len(groups[-1]) == 1 and len(groups[-2]) > 2:
        groups[-1].insert(0, groups[-2].pop())
    return [Chunk(earlier=tuple(group)) for group in groups]


_Material = tuple[bool, str]
"""Whether it is an earlier summary, and the text."""


def _groups(material: Iterable[_Material], budget: int, counter: TokenCounter) -> Iterator[list[_Material]]:
    group: list[_Material] = []
    used = 0
    for one in material:
        cost = _cost([one], counter)
        if group and used + cost > budget:
            yield group
            group, used = [], 0
        group.append(one)
        used += cost
    if group:
        yield group


def _cost(group: Sequence[_Material], counter: TokenCounter) -> int:
    """A summary's facts stand in the prompt a second time, below their own header."""
    texts = [text for _, text in group]
    again = ["".join(f"- {fact}\n" for fact in facts_of(text)) for is_old, text in group if is_old]
    return sum(map(counter.count, [*texts, *again]))


def _divided(texts: Iterable[str], budget: int, counter: TokenCounter) -> Iterator[str]:
    for text in texts:
        pieces = list(_pieces(text, budget // 2, counter))
        yield pieces[0]
        for piece in pieces[1:]:
            yield CONTINUED + piece


def _pieces(text: str, budget: int, counter: TokenCounter) -> Iterator[str]:
    """Halved until each piece fits; a piece that ends in the middle of a word is the price."""
    if counter.count(text) <= budget or len(text) < 2:
        yield text
        return
    middle = len(text) // 2
    yield from _pieces(text[:middle], budget, counter)
    yield from _pieces(text[middle:], budget, counter)
