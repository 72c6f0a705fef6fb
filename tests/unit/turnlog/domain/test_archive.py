"""ArchiveState against the simplest model: a set of archived seqs, a set of active passes."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.domain.archive import MAX_BYTES, ActiveInsert, ArchiveState
from turnlog.domain.errors import TooFragmented
from turnlog.domain.event import Position, SessionEvent
from turnlog.domain.message import Message
from turnlog.testing.builders import START

LAST = 60
seqs = st.sets(st.integers(1, LAST), max_size=25)
stretches = st.builds(lambda first, length: set(range(first, first + length)), st.integers(1, LAST), st.integers(0, 20))
passes = st.lists(st.tuples(seqs | stretches, st.integers(0, LAST), st.sets(st.integers(0, 9))), max_size=8)


@dataclass
class Model:
    """What is archived, by listing it."""

    archived: set[int] = field(default_factory=set)
    active_passes: list[str] = field(default_factory=list)


def _logged(seq: int) -> SessionEvent:
    return SessionEvent(f"e{seq}", "s", Message.user("x"), START, seq=seq)


def _inserted(pass_id: str) -> SessionEvent:
    return SessionEvent("i", "s", Message.user("x"), START, position=Position(3, pass_id, 0, 1))


def _play(steps: list[tuple[set[int], int, set[int]]]) -> tuple[ArchiveState, Model]:
    """Passes that archive seqs, drop some of the earlier passes and add one of their own."""
    state, model = ArchiveState(), Model()
    for number, (archive, before_seq, drop) in enumerate(steps):
        dropped = {str(n) for n in drop}
        state = state.after(archive=archive, drop_passes=dropped, insert=[ActiveInsert(str(number), before_seq)])
        model.archived |= archive
        model.active_passes = [p for p in model.active_passes if p not in dropped] + [str(number)]
    return state, model


@given(passes)
def test_an_event_is_active_exactly_when_no_pass_has_archived_it(steps: list[tuple[set[int], int, set[int]]]) -> None:
    state, model = _play(steps)
    for seq in range(1, LAST + 25):
        assert state.is_archived_seq(seq) == (seq in model.archived)
        assert state.is_active(_logged(seq)) == (seq not in model.archived)
    for number in range(10):
        assert state.is_active(_inserted(str(number))) == (str(number) in model.active_passes)


@given(passes)
def test_the_summary_figures_follow_from_the_set(steps: list[tuple[set[int], int, set[int]]]) -> None:
    state, model = _play(steps)
    beyond = LAST + 30
    assert state.archived_count == len(model.archived)
    assert state.first_active_seq == next(s for s in range(1, beyond) if s not in model.archived)
    assert state.tail_start == max(model.archived, default=0) + 1
    for last in range(LAST + 22):
        assert state.covers(last) == all(s in model.archived for s in range(1, last + 1))


@given(seqs | stretches, st.integers(1, LAST), st.integers(0, 30))
def test_a_stretch_is_covered_when_every_seq_of_it_is_archived(archived: set[int], first: int, length: int) -> None:
    state = ArchiveState().after(archive=archived)
    stretch = range(first, first + length + 1)
    assert state.covers_stretch(first, first + length) == archived.issuperset(stretch)


@given(passes)
def test_the_ranges_are_sorted_disjoint_and_never_touch(steps: list[tuple[set[int], int, set[int]]]) -> None:
    state, _ = _play(steps)
    ends = [end for pair in state.ranges for end in pair]
    assert ends == sorted(ends)
    assert all(later[0] > earlier[1] + 1 for earlier, later in zip(state.ranges, state.ranges[1:], strict=False))


@given(passes)
def test_the_stored_text_says_everything(steps: list[tuple[set[int], int, set[int]]]) -> None:
    state, _ = _play(steps)
    assert ArchiveState.decode(state.encode()) == state


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (ArchiveState(), ""),
        (ArchiveState(((1, 1),)), "1"),
        (ArchiveState(((1, 3), (5, 5), (7, 9))), "1-3,5,7-9"),
        (ArchiveState((), (ActiveInsert("1.a", 4),)), ";1.a@4"),
        (ArchiveState(((2, 3),), (ActiveInsert("1", 4), ActiveInsert("9z", 11))), "2-3;1@4,9z@11"),
    ],
)
def test_the_stored_text_is_short_and_stays_as_it_is(state: ArchiveState, text: str) -> None:
    assert state.encode() == text
    assert ArchiveState.decode(text) == state


def test_an_event_that_is_neither_logged_nor_inserted_is_not_active() -> None:
    assert not ArchiveState().is_active(SessionEvent("e", "s", Message.user("x"), START))


def test_a_synthetic_event_is_archived_by_its_seq_like_any_other() -> None:
    state = ArchiveState().after(archive=[1])
    event = SessionEvent.build(session_id="s", message=Message.user("x"), timestamp=START, metadata={"synthetic": True})
    assert not state.is_active(SessionEvent(event.id, "s", event.message, START, metadata=event.metadata, seq=1))


def test_a_state_over_its_limit_is_refused_and_one_at_it_is_not() -> None:
    fits = ArchiveState().after(archive=range(1, 1000, 2))
    seq = 1001
    while len(fits.encode()) + len(f",{seq}") <= MAX_BYTES:
        fits = fits.after(archive=[seq])
        seq += 2
    with pytest.raises(TooFragmented, match="ranges"):
        fits.after(archive=[seq])
    assert fits.after(archive=range(1, seq)).encode() == f"1-{seq - 1}"
