"""Places: where events stand in the full log."""

from hypothesis import given
from hypothesis import strategies as st

from turnlog.domain.event import Position, SessionEvent
from turnlog.domain.message import Message
from turnlog.domain.ports import Appended, AppendResult, Place, place_of
from turnlog.domain.session import Version
from turnlog.testing.builders import START

logged = st.builds(lambda seq: SessionEvent("e", "s", Message.user("x"), START, seq=seq), st.integers(1, 9))
inserted = st.builds(
    lambda before, index, generation: SessionEvent(
        "e", "s", Message.user("x"), START, position=Position(before, "p", index, generation)
    ),
    st.integers(1, 9),
    st.integers(0, 3),
    st.integers(1, 3),
)


def _order(event: SessionEvent) -> tuple[int, bool, int, int]:
    """By seq; what is inserted before an event comes before it, by pass, then by place in the pass."""
    if event.position is None:
        return event.seq or 0, True, 0, 0
    return event.position.before_seq, False, event.position.generation, event.position.index


@given(logged | inserted, logged | inserted)
def test_places_order_the_full_log(one: SessionEvent, other: SessionEvent) -> None:
    assert (place_of(one) < place_of(other)) == (_order(one) < _order(other))
    assert (place_of(one) == place_of(other)) == (_order(one) == _order(other))


def test_the_place_before_a_log_is_before_everything() -> None:
    assert Place(0, 0, 0) < place_of(SessionEvent("e", "s", Message.user("x"), START, position=Position(1, "p", 0, 1)))


def test_a_result_knows_whether_anything_was_new() -> None:
    version = Version(1, 2, 0)
    assert AppendResult((Appended("a", 1, replayed=True),), version).all_replayed
    assert not AppendResult((Appended("a", 1, replayed=True), Appended("b", 2)), version).all_replayed
