"""Summaries of what is too large for one question, and what such a summary must not lose (DESIGN 7)."""

import pytest

from tests.support.compacting import SomeModel, Stage, reply
from tests.unit.turnlog.compactor.test_summaries import compact, state
from turnlog.compaction.chunks import CONTINUED
from turnlog.domain.event import EventDraft
from turnlog.domain.message import Message
from turnlog.domain.tokens import EstimatingCounter
from turnlog.providers.scripted import ScriptedModel
from turnlog.stores.memory import InMemorySessionRepository

LONG = "word " * 300


def stage_of(*answers: object, said: list[str], window_tokens: int, model: SomeModel | None = None) -> Stage:
    """A session in which a user says this, a turn each; two more follow and are kept."""
    model = model or SomeModel(*answers)  # type: ignore[arg-type]
    stage = Stage(InMemorySessionRepository(), model=model, window_tokens=window_tokens)
    stage.create()
    for text in said:
        stage.service.append("alice", "s", (EventDraft(Message.user(text)), EventDraft(Message.assistant("ok"))))
    stage.turns(1, 2)
    return stage


def lines(question: str) -> list[str]:
    """The part of the conversation that a question holds."""
    return question.partition("Conversation to summarise:\n")[2].partition("\n\n")[0].splitlines()


def questions(stage: Stage) -> list[str]:
    return [stage.model.question(i) for i in range(len(stage.model.asked))]


def largest(stage: Stage) -> int:
    """The tokens that the largest question and its answer may take."""
    count = EstimatingCounter().count
    return max(
        count(request.system) + count(request.messages[0].text or "") + request.max_output_tokens
        for request in stage.model.asked
    )


class TestChunks:
    def test_500_kb_for_a_model_of_32k_tokens(self) -> None:
        """Each character stands in a question, in order, and no question is too large (field case D11)."""
        said = [" ".join(f"w{i:06d}" for i in range(first, first + 625)) for first in range(0, 62_500, 625)]
        model = SomeModel(otherwise=lambda _: "Short.\nFacts:\n- one")
        stage = stage_of(said=said, window_tokens=32_000, model=model)
        assert compact(stage).status == "compacted"
        *first_level, last = questions(stage)
        assert len(first_level) > 5
        told = [line for question in first_level for line in lines(question)]
        assert told == [line for text in said for line in (f"User: {text}", "Assistant: ok")]
        assert lines(last) == []
        assert last.count("Short.") == len(first_level), "the last question is over the parts"
        assert largest(stage) <= 32_000
        assert [bool("context only" in question) for question in first_level] == [False] * 5 + [True]

    def test_a_message_that_is_larger_than_a_chunk_is_divided(self) -> None:
        text = "".join(f"{i:05d}" for i in range(20_000))
        stage = stage_of(said=[text], window_tokens=8_000)
        assert compact(stage).status == "compacted"
        told = [line for question in questions(stage)[:-1] for line in lines(question)]
        assert "".join(line.removeprefix(CONTINUED) for line in told) == f"User: {text}Assistant: ok"
        assert sum(line.startswith(CONTINUED) for line in told) > 3
        assert largest(stage) <= 8_000

    @pytest.mark.parametrize("window_tokens", [4_000, 8_000])
    def test_summaries_that_are_all_facts_come_to_an_end(self, window_tokens: int) -> None:
        """Facts stand in the next question twice, so fewer of such summaries fit into one."""
        numbers = iter(range(100_000))

        def facts(_: str) -> str:
            new = [f"- {next(numbers):06d} is a fact that is to stand" for _ in range(48)]
            return "\n".join(["Told.", "Facts:", *new])

        said = [f"{i} {LONG}" for i in range(window_tokens // 40)]
        stage = stage_of(said=said, window_tokens=window_tokens, model=SomeModel(otherwise=facts))
        assert compact(stage).status == "compacted"
        assert largest(stage) <= window_tokens
        assert sum("Earlier summaries" in question for question in questions(stage)) > 1

    def test_a_failing_chunk_fails_the_whole(self) -> None:
        said = [f"{i} {LONG}" for i in range(60)]
        stage = stage_of(reply("Fine."), reply("Fine."), reply(""), said=said, window_tokens=4_000)
        before = state(stage)
        refused = compact(stage)
        assert (refused.status, refused.reason, state(stage)) == ("refused", "blank", before)
        assert len(stage.model.asked) == 3


class TestFacts:
    @pytest.mark.parametrize("window_tokens", [32_000, 4_000])
    def test_facts_of_turn_one_survive_ten_rounds(self, window_tokens: int) -> None:
        """With a model that copies only what the prompt asks it to carry (field case D10)."""
        stage = Stage(InMemorySessionRepository(), window_tokens=window_tokens)
        scripted = ScriptedModel("facts")
        stage.model.complete = scripted.complete  # type: ignore[method-assign]
        stage.create()
        facts = [
            f"FACT: the {thing} is {i}"
            for i, thing in enumerate(["tram", "mug", "key", "door", "cat", "hat", "map", "pen"])
        ]
        stage.service.append("alice", "s", tuple(EventDraft(Message.user(fact)) for fact in facts))
        for n in range(10):
            stage.turns(n * 10 + 1, n * 10 + 10)
            assert compact(stage).status == "compacted"
        window = stage.repository.window("s")
        assert window is not None
        summary = window.events[1].message.text or ""
        assert [line for line in summary.splitlines() if line.startswith("- the")] == [f"- {f[6:]}" for f in facts]
        log = stage.repository.read("s")
        assert [e.message.text for e in log if e.seq is not None][: len(facts)] == facts, (
            "and the events themselves stay"
        )
