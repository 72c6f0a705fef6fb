"""What holds after any passes over any conversation (issue of compaction, spec 7)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.windows import CharacterCounter, call, result
from turnlog.compaction import CompactionStrategy, RecursiveSummarization, SlidingWindow, TokenCount, TurnWindow
from turnlog.compaction.passes import compact_strictly
from turnlog.domain.event import SessionEvent
from turnlog.stores.memory import InMemorySessionRepository
from turnlog.testing.builders import START, a_session, tell

STRATEGIES: dict[str, Callable[[int], CompactionStrategy]] = {
    "sliding": SlidingWindow,
    "turns": TurnWindow,
    "tokens": lambda n: TokenCount(10 * n),
    "summary": lambda n: RecursiveSummarization(n, 0, summarizer=lambda _: "As told."),
}


@dataclass
class Talk:
    """A conversation being written."""

    count: int = 0
    open_calls: tuple[str, ...] = ()

    def say(self, kind: str, branch: str | None) -> Any:
        """The next event of a kind."""
        self.count += 1
        id = f"{kind}{self.count}"
        if kind == "c":
            self.open_calls += (id,)
            return {**call(id, id), "branch": branch}
        if kind in "tp" and self.open_calls:
            answered = self.open_calls[0 if self.count % 2 else -1]
            if kind == "t":
                self.open_calls = tuple(c for c in self.open_calls if c != answered)
            return {**result(id, answered, "ok" if kind == "t" else "pending"), "branch": branch}
        kind = kind if kind in "uas" else "a"
        return f"{kind}{self.count}" + (f"@{branch}" if branch else "")


STEPS = st.one_of(
    st.tuples(st.just("say"), st.sampled_from("uuuaaactps"), st.sampled_from([None, None, None, "b", "b.c"])),
    st.tuples(st.just("pass"), st.sampled_from(sorted(STRATEGIES)), st.integers(1, 6)),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(STEPS, max_size=60))
def test_passes_only_move_the_boundary(steps: list[tuple[Any, ...]]) -> None:
    """The log stays whole and in order; the newest turn stays; calls stay with their results; a
    second pass finds nothing to do."""
    repository = InMemorySessionRepository()
    repository.save(a_session())
    talk = Talk()
    told: list[str] = []
    for step in steps:
        if step[0] == "say":
            event = talk.say(step[1], step[2])
            tell(repository, [event])
            told.append(event["id"] if isinstance(event, dict) else event.split("@")[0])
            continue
        strategy = STRATEGIES[step[1]](step[2])
        before = repository.read("s")
        compact_strictly(repository, "s", strategy, now=START, counter=CharacterCounter())
        _check(before, repository.read("s"), told)
        again = compact_strictly(repository, "s", strategy, now=START, counter=CharacterCounter())
        assert again.is_neutral


def _check(before: list[SessionEvent], log: list[SessionEvent], told: list[str]) -> None:
    assert told == [event.id for event in log if event.position is None]
    active = [event for event in log if not event.archived]
    _check_boundary(before, {event.id for event in active})
    assert len([e for e in active if e.role == "system" and not e.synthetic]) <= 1
    assert len([e for e in active if e.synthetic]) in (0, 2)
    _check_exchanges(before, log)


def _check_boundary(before: list[SessionEvent], active: set[str]) -> None:
    """Of the window that the pass saw: its newest turn stays, and what is kept starts where a turn does.
    What counts as a turn may change later, when the first root event joins a session all on branches."""
    window = [e for e in before if not e.archived and not e.synthetic and e.role != "system"]
    on_branches = all(not event.is_root for event in window)
    starts = [i for i, e in enumerate(window) if e.is_turn_start or (on_branches and e.role == "user")]
    newest = window[starts[-1] :] if starts else window
    assert not [event.id for event in newest if event.id not in active]
    kept = [i for i, event in enumerate(window) if event.id in active]
    assert not kept or kept[0] == 0 or kept[0] in starts


def _check_exchanges(before: list[SessionEvent], log: list[SessionEvent]) -> None:
    """What was together stays together; a call that waits stays. The result of a call that had been
    given up and archived may come later, and is alone then."""
    after = {event.id: event for event in log}
    for pair in _pairs(before):
        if len({event.archived for event in pair}) == 1:
            assert 1 == len({after[event.id].archived for event in pair}), [event.id for event in pair]
            status = next((r.status for r in pair[-1].message.tool_results), None)
            assert not (status == "pending" and after[pair[0].id].archived and not pair[0].archived)


def _pairs(log: list[SessionEvent]) -> list[list[SessionEvent]]:
    """Each call with its results; in these conversations an id is used once."""
    pairs = {e.id: [e] for e in log if e.has_tool_calls}
    for event in log:
        for answer in event.message.tool_results:
            pairs[answer.call_id].append(event)
    return list(pairs.values())
