"""How material that is too large for one question is divided (DESIGN 7; field case D11)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.windows import CharacterCounter, window
from turnlog.compaction.chunks import CONTINUED, Chunk, budget_of, chunks_of, combinations
from turnlog.compaction.recursive_summarization import FACTS_HEADING, RecursiveSummarization
from turnlog.domain.errors import InvalidRequest

COUNTER = CharacterCounter()
STRATEGY = RecursiveSummarization(max_events_to_keep=4, overlap_size=2)
HEADERS = 400
"""More characters than the lines around all sections of a question have, and the breaks between them."""


def chunks(told: list[str], budget: int, *, earlier: str | None = None) -> list[Chunk]:
    """The questions over a conversation of users, two turns of which are kept."""
    summary = [] if earlier is None else ["~u0=S", f"~a0={earlier}"]
    request = window([*summary, *(f"u{i}={text}" for i, text in enumerate(told, 1)), "u98", "a98", "u99", "a99"])
    selection = STRATEGY.select(request)
    assert selection is not None
    return chunks_of(STRATEGY, request, selection, budget)


def asked(chunk: Chunk) -> int:
    """The characters of a question."""
    return COUNTER.count(chunk.prompt(STRATEGY).user)


def test_what_fits_is_one_question_with_its_overlap() -> None:
    (chunk,) = chunks(["one", "two"], 1000, earlier="OLD")
    assert chunk == Chunk(("OLD",), ("User: one", "User: two"), ("User: u98", "Assistant: a98"))


def test_the_overlap_stands_in_the_last_question_only() -> None:
    *first, last = chunks(["x" * 100] * 6, 256)
    assert [chunk.overlap for chunk in first] == [()] * 2
    assert last.overlap == ("User: u98", "Assistant: a98")


def test_what_fits_only_without_its_overlap_is_two_questions() -> None:
    first, last = chunks(["x" * 139] * 2, 300)
    assert (len(first.lines), len(last.lines)) == (1, 1)
    assert (first.overlap, last.overlap) == ((), ("User: u98", "Assistant: a98"))


def test_an_overlap_that_does_not_fit_is_left_out_and_nothing_else() -> None:
    """It is context; each event of it is kept, and will be summarised some day."""
    *_, last = chunks(["x" * 114] * 4, 250)
    assert last == Chunk((), ("User: " + "x" * 114,) * 2)


def test_a_divided_message_says_so() -> None:
    text = "".join(f"{i:04d}" for i in range(500))
    pieces = [line for chunk in chunks([text], 600) for line in chunk.lines]
    assert [piece.startswith(CONTINUED) for piece in pieces] == [False] + [True] * 7
    assert "".join(piece.removeprefix(CONTINUED) for piece in pieces) == f"User: {text}"


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, 900), min_size=1, max_size=30), st.integers(300, 1200), st.integers(0, 400))
def test_nothing_is_left_out_and_no_question_is_too_large(sizes: list[int], budget: int, earlier: int) -> None:
    numbers = iter(range(100_000))
    told = ["".join(f"{next(numbers):05d}" for _ in range(size // 5 + 1)) for size in sizes]
    old = f"Told.\n{FACTS_HEADING}\n- {'f' * earlier}" if earlier else None
    found = chunks(told, budget, earlier=old)
    lines = [line.removeprefix(CONTINUED) for chunk in found for line in chunk.lines]
    assert "".join(lines) == "".join(f"User: {text}" for text in told)
    assert "".join(text.removeprefix(CONTINUED) for chunk in found for text in chunk.earlier) == (old or "")
    continued = len(CONTINUED) * sum(len(chunk.lines) + len(chunk.earlier) for chunk in found)
    assert max(map(asked, found)) <= budget + HEADERS + continued


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 120), min_size=2, max_size=60), st.integers(600, 2000))
def test_partial_summaries_fit_with_the_facts_that_are_said_twice(sizes: list[int], budget: int) -> None:
    """A summary's facts stand in the question as part of it, and again as what is to be carried."""
    parts = [f"Told.\n{FACTS_HEADING}\n- {i:03d}{'f' * size}" for i, size in enumerate(sizes)]
    found = combinations(parts, budget, COUNTER)
    assert [part for chunk in found for part in chunk.earlier] == parts
    assert sum(len(chunk.earlier) < 2 for chunk in found) <= 1, "or there would be no end to it"
    assert max(map(asked, found)) <= budget + HEADERS


def test_two_large_parts_are_put_together_all_the_same() -> None:
    assert [2, 2, 2] == [len(chunk.earlier) for chunk in combinations(["x" * 400] * 6, 500, COUNTER)]
    assert [2, 2, 1] == [len(chunk.earlier) for chunk in combinations(["x" * 400] * 5, 500, COUNTER)]
    assert [3, 2, 2] == [len(chunk.earlier) for chunk in combinations(["x" * 160] * 7, 500, COUNTER)]


@pytest.mark.parametrize(
    ("window_tokens", "output_tokens", "fits"),
    [(8000, 1000, True), (5900, 1000, True), (5800, 1000, False), (1600, 10, True), (1300, 10, False)],
)
def test_a_model_has_to_read_two_summaries_and_their_facts(window_tokens: int, output_tokens: int, fits: bool) -> None:
    strategy = RecursiveSummarization(system_prompt="p" * 700)
    if fits:
        budget = budget_of(strategy, COUNTER, window_tokens=window_tokens, output_tokens=output_tokens)
        assert budget + 700 + output_tokens < window_tokens
        assert 4 * output_tokens + 700 + output_tokens < window_tokens
    else:
        with pytest.raises(InvalidRequest) as caught:
            budget_of(strategy, COUNTER, window_tokens=window_tokens, output_tokens=output_tokens)
        assert caught.value.errors[0].pointer == "/strategy/model"
