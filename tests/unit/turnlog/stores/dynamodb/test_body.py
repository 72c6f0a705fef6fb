"""Bodies: what comes back is what went in, to the byte; what nobody wrote is never half an answer."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from turnlog.domain import ids
from turnlog.domain.errors import CorruptLog
from turnlog.domain.event import SessionEvent
from turnlog.domain.exactjson import EMPTY, JsonObject
from turnlog.domain.instant import Instant
from turnlog.domain.message import Message
from turnlog.stores.dynamodb.body import DEFLATED_1, PLAIN, pack, to_bytes, unpack
from turnlog.testing.builders import START

INC = 1_767_225_600_000
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
stamps = st.sampled_from(
    ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000Z", "1969-12-31T23:59:59.9Z", "2026-01-01T00:00:00.123456789Z"]
)


def event(
    text: str, seq: int, id: str | None = None, stamp: str = START.text, branch: str | None = None, **metadata: object
) -> SessionEvent:
    made = JsonObject.of(metadata) if metadata else EMPTY
    own = id if id is not None else ids.logged(INC, seq)
    return SessionEvent(own, "s", Message.user(text), Instant.parse(stamp), branch, made, seq=seq)


def told(events: list[SessionEvent]) -> list[tuple[object, ...]]:
    return [(e.id, e.message.raw, e.timestamp.ns, e.timestamp.text, e.branch, e.metadata.raw) for e in events]


drawn = st.tuples(texts, st.none() | texts.filter(bool), stamps, st.none() | texts, st.booleans())


@given(st.lists(drawn, min_size=1, max_size=5))
@example([("", None, START.text, "", False)])
@example([("\n\r\u2028\x00", "id\n", START.text, "a.b", True)])
def test_events_come_back_as_they_went_in(given_events: list[tuple[str, str | None, str, str | None, bool]]) -> None:
    events = [
        event(text, seq, id, stamp, branch, **({"a": text} if flag else {}))
        for seq, (text, id, stamp, branch, flag) in enumerate(given_events, 5)
    ]
    body = pack(events, INC)
    for form in (body, to_bytes(body)):
        back = [
            SessionEvent(
                one.id if one.id is not None else ids.logged(INC, seq),
                "s", one.message, one.timestamp, one.branch, one.metadata,
            )
            for seq, one in enumerate(unpack(form), 5)
        ]  # fmt: skip
        assert told(back) == told(events)


def test_an_id_of_another_place_is_kept() -> None:
    """Only the id that its own place gives is left out."""
    other = ids.logged(INC, 7)
    assert [one.id for one in unpack(pack([event("a", 1, other), event("b", 2)], INC))] == [other, None]


def test_a_body_is_deflated_only_when_that_is_smaller() -> None:
    assert isinstance(pack([event("x", 1)], INC), bytes)
    noise = "".join(chr(0x4E00 + i * 7919 % 20_000) for i in range(400))
    assert len(to_bytes(pack([event(noise, 1)], INC))) <= 1 + len(Message.user(noise).raw.encode()) + 30


@pytest.mark.parametrize(
    "bad",
    [
        "", "[1]",  "nonsense\n{}", '["no time"]\n{}', '[1,"e",null,1]\n{"role":"user","content":"x"}',
        b"", bytes((DEFLATED_1,)), bytes((DEFLATED_1,)) + b"nonsense", bytes((99,)) + b"x", bytes((PLAIN,)) + b"[1]",
        bytes(pack([event("x" * 500, 1)], INC))[:-3],  # type: ignore[arg-type]  # long enough to be deflated
    ],
    ids=repr,
)  # fmt: skip
def test_what_no_append_wrote_is_corrupt(bad: str | bytes) -> None:
    with pytest.raises(CorruptLog):
        unpack(bad)
