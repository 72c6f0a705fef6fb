"""What comes back equals what went in (DESIGN 3 and 10; field cases A16, B2, B3, E3, E4, E8)."""

from __future__ import annotations

import random
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ...domain import exactjson
from ...domain.event import EventDraft
from ...domain.exactjson import JsonObject
from ...domain.instant import Instant
from ...domain.message import Message
from ...domain.ports import SessionRepository
from .base import Contract, append, current, said, started

EXACT = {
    "numbers": '{"t":0.1,"big":1e400,"n":12345678901234567890,"neg0":-0.0,"f":1.0,"i":1,"nan":"NaN","e":1E5,"z":0.10}',
    "empty values": '{"s":"","l":[],"m":{},"x":null,"deep":{"s":"","l":[[]],"m":{"":{}}}}',
    "control characters": '{"nul":"a\\u0000b","all":"\\u0001\\u001f\\u007f\\u0085\\u2028","k\\u0000":1}',
    "text beyond the basic plane": '{"family":"👩‍👩‍👧‍👦","nfc":"é","nfd":"é","rtl":"שלום","𝒌":"\\ud83d\\ude00"}',
    "JSON inside a string": '{"args":"{\\"a\\":1.0, \\"a\\":2}","slashes":"\\\\\\/"}',
    "keys that a store might use itself": '{"pk":"x","sk":"~","S":"1","N":"2","__proto__":{},"#":":"}',
    "a long number": f'{{"n":{"9" * 1000}}}',
    "deep nesting": '{"d":' + "[" * 60 + "]" * 60 + "}",
}
MESSAGES = {
    "a call of empty text with its arguments as a string": (
        '{"role":"assistant","content":[{"type":"tool_call","id":"c1","name":"t","arguments":"{}"}]}'
    ),
    "no content at all": '{"role":"assistant","content":[]}',
    "an empty text": '{"role":"user","content":""}',
    "plain text": '{"role":"user","content":"hi"}',
    "keys in another order, and unknown ones": (
        '{"x_trace":{"n":1.0},"content":[{"cache_control":{"ttl":5e0},"text":"a\\u0000b","type":"text"}],"role":"user"}'
    ),
    "signed thinking": (
        '{"role":"assistant","content":[{"type":"thinking","text":"…","signature":"c2ln+/=="},'
        '{"type":"thinking","redacted":"ZGF0YQ=="},{"type":"text","text":"x"}]}'
    ),
    "a provider's block": (
        '{"role":"assistant","content":[{"type":"provider","provider":"p","data":{"big":1e400,"n":-0,"e":""}}]}'
    ),
    "results of every kind": (
        '{"role":"tool","content":[{"type":"tool_result","call_id":"c1","content":"","status":"error"},'
        '{"type":"tool_result","call_id":"c2","name":"t","content":[{"type":"text","text":"ok"},'
        '{"type":"media","media_type":"image/png","data":"iVBORw0KGgo="}]}]}'
    ),
}
TIMESTAMPS = (
    "2026-01-01T00:00:00Z",
    "2026-01-01T00:00:00.000Z",
    "2026-01-01T00:00:00.1Z",
    "2026-01-01T00:00:00.100Z",
    "2026-01-01T00:00:00.123456789Z",
    "2026-01-01T00:00:00.123456700Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999999Z",
)
BRANCHES = (None, "", "orch", "orch.r", ".", "a b", "~", "!", "#", "é", "a" * 300, "\0")

text = st.text(st.characters(exclude_categories=["Cs"]))
numbers = st.sampled_from(["0", "-0", "-0.0", "1.0", "1e400", "1E-7", "0.10", "12345678901234567890"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | text | numbers.map(exactjson.loads),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=12,
)


class ContentContract(Contract):
    """Bodies, metadata and timestamps, whatever their size and kind."""

    @pytest.mark.parametrize("raw", EXACT.values(), ids=EXACT)
    def test_json_comes_back_as_it_went_in(self, repository: SessionRepository, raw: str) -> None:
        value = JsonObject.parse(raw)
        started(repository)
        message = Message.of({"role": "user", "content": "hi", "extra": value.to_python()})
        append(repository, [EventDraft(message, metadata=value)])
        event = repository.read("s")[0]
        assert event.metadata.raw == value.raw
        assert event.message.raw == message.raw

    @pytest.mark.parametrize("raw", MESSAGES.values(), ids=MESSAGES)
    def test_a_message_comes_back_as_it_went_in(self, repository: SessionRepository, raw: str) -> None:
        message = Message.parse(raw)
        started(repository)
        append(repository, [EventDraft(message)])
        assert repository.read("s")[0].message.raw == message.raw

    @settings(
        max_examples=15,
        deadline=None,
        derandomize=True,
        # Every store inherits this one function on purpose.
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    )
    @given(st.lists(st.dictionaries(text, values, max_size=4), min_size=1, max_size=4))
    def test_any_json_comes_back_as_it_went_in(
        self, repository: SessionRepository, metadata: list[dict[str, Any]]
    ) -> None:
        session = str(uuid4())
        started(repository, session)
        given_values = [JsonObject.of(value) for value in metadata]
        append(repository, [said(metadata=value) for value in given_values], session)
        assert [event.metadata.raw for event in repository.read(session)] == [value.raw for value in given_values]

    def test_timestamps_come_back_as_their_text(self, repository: SessionRepository) -> None:
        started(repository)
        append(repository, [EventDraft(Message.user("x"), timestamp=Instant.parse(t)) for t in TIMESTAMPS])
        assert [event.timestamp.text for event in repository.read("s")] == list(TIMESTAMPS)

    def test_fifty_equal_timestamps_keep_the_order_of_the_batch(self, repository: SessionRepository) -> None:
        started(repository)
        same = Instant.parse("2026-01-01T00:00:00.000Z")
        append(repository, [EventDraft(Message.user(str(i)), timestamp=same) for i in range(50)])
        for _ in range(10):
            events = repository.read("s")
            assert [event.message.text for event in events] == [str(i) for i in range(50)]
            assert {event.timestamp.text for event in events} == {same.text}

    def test_branches_come_back_as_they_went_in(self, repository: SessionRepository) -> None:
        started(repository)
        append(repository, [EventDraft(Message.user("x"), branch=branch) for branch in BRANCHES])
        assert [event.branch for event in repository.read("s")] == list(BRANCHES)

    @pytest.mark.parametrize("size", [33_000, 400_000, 3_000_000])
    @pytest.mark.parametrize("kind", ["repetitive", "incompressible", "escaped"])
    def test_a_big_body_comes_back_whole(self, repository: SessionRepository, size: int, kind: str) -> None:
        started(repository)
        append(repository, [said("before"), said(_body(kind, size), "big"), said("after")])
        event = repository.find_event(current(repository), "big")
        assert event is not None
        assert event.message.text == _body(kind, size)
        assert [len(e.message.text or "") for e in repository.read("s")] == [6, size, 5]

    def test_a_batch_that_is_big_as_a_whole_comes_back_whole(self, repository: SessionRepository) -> None:
        started(repository)
        bodies = [_body("incompressible", 90_000, seed) for seed in range(12)]
        append(repository, [said(body) for body in bodies])
        append(repository, [said("after")])
        assert [event.message.text for event in repository.read("s")] == [*bodies, "after"]

    def test_many_events_that_are_big_together_are_all_read(self, repository: SessionRepository) -> None:
        started(repository)
        for seed in range(60):
            append(repository, [said(_body("incompressible", 30_000, seed))])
        texts = [event.message.text for batch in repository.walk(current(repository)) for event in batch]
        assert texts == [_body("incompressible", 30_000, seed) for seed in range(60)]
        window = repository.window("s")
        assert window is not None
        assert [event.seq for event in window.events] == list(range(1, 61))

    def test_nothing_that_a_caller_holds_can_change_the_log(self, repository: SessionRepository) -> None:
        metadata = {"tags": ["a"], "deep": {"x": 1}}
        content: list[dict[str, Any]] = [{"type": "text", "text": "hi"}]
        started(repository, metadata=metadata)
        draft = EventDraft(Message.of({"role": "user", "content": content}), metadata=JsonObject.of(metadata))
        made = append(repository, [draft]).events[0].id

        metadata["tags"] = ["changed"]
        content[0]["text"] = "changed"
        found = repository.find_event(current(repository), made)
        assert found is not None
        window = repository.window("s")
        assert window is not None
        for held in (draft, found, repository.read("s")[0], window.events[0]):
            held.metadata["tags"].append("changed")
            held.message.json["content"][0]["text"] = "changed"
        current(repository).record.metadata["deep"]["x"] = "changed"

        event = repository.read("s")[0]
        assert event.message.text == "hi"
        assert dict(event.metadata) == {"tags": ["a"], "deep": {"x": 1}}
        assert dict(current(repository).record.metadata) == {"tags": ["a"], "deep": {"x": 1}}


def _body(kind: str, size: int, seed: int = 0) -> str:
    if kind == "repetitive":
        return "all work and no play " * (size // 21) + "x" * (size % 21)
    if kind == "escaped":
        return '"\\\n' * (size // 3) + "x" * (size % 3)
    return random.Random(seed).randbytes(size // 2 + 1).hex()[:size]
