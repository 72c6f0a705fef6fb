"""Summaries instead of what is archived (spec/session 7.7)."""

import pytest

from tests.support.windows import window
from turnlog.compaction import RecursiveSummarization, SummaryPrompt
from turnlog.compaction.recursive_summarization import FACTS_HEADING, facts_of
from turnlog.domain.errors import InvalidRequest

STRATEGY = RecursiveSummarization(max_events_to_keep=2, overlap_size=1)


def test_without_a_summarizer_it_says_so() -> None:
    with pytest.raises(RuntimeError, match="summarizer"):
        STRATEGY.compact(window("u1 a1 u2 a2"))


def test_what_the_model_raises_goes_through() -> None:
    """A failing model is not a blank answer: the caller has to know."""

    def broken(prompt: SummaryPrompt) -> str:
        raise TimeoutError("no answer")

    with pytest.raises(TimeoutError):
        RecursiveSummarization(max_events_to_keep=2, overlap_size=0, summarizer=broken).compact(window("u1 a1 u2 a2"))


@pytest.mark.parametrize("answer", [None, "", "  \n\t"])
def test_a_blank_answer_changes_nothing_but_superseded_system_messages(answer: str | None) -> None:
    request = window("s1 u1 a1 s2 u2 a2")
    selection = STRATEGY.select(request)
    assert selection
    done = STRATEGY.conclude(request, selection, answer)
    assert (["s1"], (), "summary_failed") == ([e.id for e in done.archived], done.inserted, done.kept_reason)


def test_the_summary_is_a_turn_of_its_own_on_the_root_marked_as_made() -> None:
    request = window("u1@b a1 u0 a0 u2 a2")
    selection = STRATEGY.select(request)
    assert selection
    done = STRATEGY.conclude(request, selection, " As told. ")
    question, answer = done.inserted
    assert ("user", "assistant") == (question.message.role, answer.message.role)
    assert " As told. " == answer.message.text
    for draft in done.inserted:
        assert (None, None, None) == (draft.branch, draft.id, draft.timestamp)
        assert {"synthetic": True, "compactionSource": "recursive-summarization"} == draft.metadata.to_python()
    assert 5 == done.before_seq


def test_the_prompt_has_its_sections_in_order() -> None:
    request = window(["~u0=S", "~a0=OLD", "u1", "a1", "u2", "a2"])
    selection = STRATEGY.select(request)
    assert selection
    prompt = STRATEGY.prompt(request, selection)
    parts = ["Earlier summaries", "OLD", "Conversation to summarise", "User: u1", "Assistant: a1", "context only",
             "User: u2", "Write the summary"]  # fmt: skip
    places = [prompt.user.index(part) for part in parts]
    assert sorted(places) == places
    assert "a2" not in prompt.user


def test_no_section_stands_without_content() -> None:
    strategy = RecursiveSummarization(max_events_to_keep=2, overlap_size=0)
    request = window("u1 a1 u2 a2")
    selection = strategy.select(request)
    assert selection
    user = strategy.prompt(request, selection).user
    assert not [header for header in ("Earlier", "Facts", "context only") if header in user]


def test_facts_are_what_stands_below_their_heading() -> None:
    summary = f"- not one\nText.\n{FACTS_HEADING}\n- Ada's birthday: 1815-12-10\nprose\n-  two \n"
    assert ["Ada's birthday: 1815-12-10", "two"] == facts_of(summary)
    assert [] == facts_of("No facts: at all")
    assert ["x"] == facts_of(f"{FACTS_HEADING}\n- x")


def test_a_fact_of_turn_one_survives_ten_rounds_with_a_model_that_copies_only_what_it_is_told_to_carry() -> None:
    """Each round sees the summary of the round before and nothing older."""

    def copies(prompt: SummaryPrompt) -> str:
        told = [line for line in prompt.user.splitlines() if line.startswith("- ")]
        new = [f"- {line.removeprefix('User: ')}" for line in prompt.user.splitlines() if line.startswith("User: The")]
        facts = dict.fromkeys(told + [line for line in new if line not in told])
        return "\n".join(["They talked.", FACTS_HEADING, *facts])

    summary: list[str] = []
    text: str | None = None
    strategy = RecursiveSummarization(max_events_to_keep=2, overlap_size=0, summarizer=copies)
    for n in range(10):
        talk = ["u1=The code is 4711", "a1"] if n == 0 else [f"u{n}", f"a{n}"]
        request = window([*summary, *talk, "u99", "a99"])
        text = strategy.compact(request).inserted[1].message.text
        assert text
        summary = ["~u0=S", f"~a0={text}"]
    assert text
    assert ["The code is 4711"] == facts_of(text)


@pytest.mark.parametrize("name", ["system_prompt", "shadow_prompt"])
def test_a_prompt_has_text(name: str) -> None:
    with pytest.raises(InvalidRequest, match=name):
        RecursiveSummarization(**{name: " "})  # type: ignore[arg-type]
