"""The three standard conversations, whole: every turn loads the window and appends twice, every twentieth makes a pass.

The pass is the write path alone: the plan is made here, by the workload's rule; strategies come with compaction.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final

from tests.benchmarks import meter as metering
from tests.benchmarks import workload
from tests.benchmarks.rig import USER, Cost, Rig
from tests.benchmarks.rows import Report, Row, at_most
from turnlog.domain.event import EventDraft
from turnlog.domain.exactjson import JsonObject
from turnlog.domain.instant import Instant
from turnlog.domain.message import Message
from turnlog.domain.ports import CompactionPlan, Insertion, PassRequest
from turnlog.domain.session import Version
from turnlog.service import CreateSession

STORED: Final = {"a": 1.4, "b": 0.75, "c": 0.75}
WRITE_UNITS: Final = {"a": 130, "b": 190, "c": 500}
DOLLARS: Final = {"a": 0.75 * 2.5, "b": 0.45 * 6.4, "c": 0.45 * 4.8}
"""Per million turns: a share of what the cheapest DynamoDB peer takes."""
REQUESTS_A_TURN: Final = 7
CYCLES: Final = (range(21, 41), range(181, 201))
"""Stretches of conversation c with the same windows turn by turn: ten turns kept, twenty more to come."""


def measure(rig: Rig, report: Report) -> None:
    """The conversations with ids that the server makes, which have to meet the targets; then with the client's."""
    for name in workload.SPECS:
        report.group(f"conversation {name}, ids by the server, with passes and the list, without recall yet")
        _report(Conversation(rig, name, client_ids=False).run(), report, binding=True)
    for name in workload.SPECS:
        report.group(f"conversation {name}, ids by the client (shown, not binding)")
        _report(Conversation(rig, name, client_ids=True).run(), report, binding=False)


@dataclass
class Conversation:
    """One conversation as a stateless handler runs it: it keeps nothing between the calls but the last version."""

    rig: Rig
    name: str
    client_ids: bool
    active: list[tuple[int, str, int]] = field(default_factory=list)
    """The logged events that are active: turn, id, seq."""
    summary: str | None = None

    @property
    def tenant(self) -> str:
        """A tenant of its own, so that what it stores can be told apart."""
        return f"conv-{self.name}-{'client' if self.client_ids else 'server'}"

    def run(self) -> "Conversation":
        """All of it, metered under the tenant's name and tagged with the turn and the kind of call."""
        rig, label = self.rig, self.tenant
        self.repository = rig.repository(self.tenant)
        self.service = rig.service_on(self.repository)
        rig.clock.set(Instant.of_ms(int(workload.T0 * 1000)))
        with rig.meter.op(label, turn=0, kind="create"):
            self.version = self.service.create(CreateSession(USER, "conversation")).version
        for op in workload.ops(self.name, recall=False):
            with rig.meter.op(label, turn=op["turn"], kind=op["op"]):
                getattr(self, f"_{op['op']}")(op)
        with rig.meter.op(label, turn=0, kind="list"):
            self.service.list(USER, limit=20)
        return self

    def _load(self, op: Mapping[str, Any]) -> None:
        window = self.repository.window("conversation", min_version=self.version)
        assert window is not None
        logged = [event.id for event in window.events if event.seq is not None]
        assert logged == [event_id for _, event_id, _ in self.active], f"turn {op['turn']} sees another window"

    def _append(self, op: Mapping[str, Any]) -> None:
        result = self.service.append(
            USER, "conversation", tuple(draft(event, client_id=self.client_ids) for event in op["events"])
        )
        self.version = result.version
        for event, appended in zip(op["events"], result.events, strict=True):
            assert appended.seq == event["seq"]
            self.active.append((event["turn"], appended.id, event["seq"]))

    def _compact(self, op: Mapping[str, Any]) -> None:
        gone = [event_id for turn, event_id, _ in self.active if turn <= op["upto_turn"]]
        kept = [entry for entry in self.active if entry[0] > op["upto_turn"]]
        summary = EventDraft(
            Message.of({"role": "assistant", "content": op["summary"]}),
            id=f"summary-{op['turn']}",
            metadata=JsonObject.of({"synthetic": True}),
        )
        archive = frozenset([*gone, *([self.summary] if self.summary else [])])
        plan = CompactionPlan(archive, (Insertion(kept[0][2], (summary,)),))
        outcome = self.repository.compact(PassRequest("conversation", lambda _: plan, self.rig.clock.now()))
        assert outcome.status == "landed"
        self.active, self.summary = kept, summary.id
        self.version = Version(self.version.inc, self.version.last_seq, self.version.generation + 1)

    # ------------------------------------------------------------------ what it took

    def cost(self, **tags: object) -> Cost:
        """The cost of the calls with these tags."""
        return self.rig.cost(self.tenant, **tags)

    def mean(self, kind: str) -> Cost:
        """The mean cost of one call of a kind."""
        total = self.cost(kind=kind)
        calls = sum(op["op"] == kind for op in workload.ops(self.name, recall=False))
        return Cost(*(round(getattr(total, name) / calls, 2) for name in Cost.__slots__))

    def stretch(self, turns: range) -> Cost:
        """The cost of a stretch of turns."""
        costs = [self.cost(turn=turn) for turn in turns]
        return Cost(*(sum(getattr(cost, name) for cost in costs) for name in Cost.__slots__))

    def requests_a_turn(self) -> list[float]:
        """The requests of each turn's load and appends."""
        turns = range(1, workload.SPECS[self.name].turns + 1)
        return [sum(self.cost(turn=t, kind=kind).requests for kind in ("load", "append")) for t in turns]


def mean_window(spec: workload.Spec) -> float:
    """How many turns a load shows, in the mean of the conversation."""
    every, keep = workload.COMPACT_EVERY, workload.KEEP_TURNS
    archived = [max(0, (turn - 1) // every * every - keep) for turn in range(1, spec.turns + 1)]
    return sum(turn - 1 - gone for turn, gone in enumerate(archived, 1)) / spec.turns


def draft(event: Mapping[str, Any], *, client_id: bool = False) -> EventDraft:
    """An event of the workload as a caller gives it."""
    return EventDraft(
        _message(event), id=event["id"] if client_id else None, timestamp=Instant.of_ms(int(event["ts"] * 1000))
    )


def _message(event: Mapping[str, Any]) -> Message:
    text, tool = event["text"], event["tool"]
    if event["kind"] == "tool_call":
        block = {"type": "tool_call", "id": tool["call_id"], "name": tool["name"], "arguments": text}
        return Message.of({"role": "assistant", "content": [block]})
    if event["kind"] == "tool_result":
        block = {"type": "tool_result", "call_id": tool["call_id"], "name": tool["name"], "content": text}
        return Message.of({"role": "tool", "content": [{**block, "status": "ok"}]})
    return Message.of({"role": event["role"], "content": text})


def _report(conversation: Conversation, report: Report, *, binding: bool) -> None:
    name, total = conversation.name, conversation.cost()
    for kind in ("load", "append", "compact"):
        report.add(Row(f"mean {kind}", str(conversation.mean(kind))))
    report.add(Row("create, list", f"{conversation.cost(kind='create')}; {conversation.cost(kind='list')}"))
    report.add(Row("all of it", str(total)))
    stored = conversation.rig.stored_bytes(conversation.tenant) / workload.payload_bytes(name)
    requests = conversation.requests_a_turn()
    dollars = metering.usd(total.write_units, total.read_units) / workload.SPECS[name].turns * 1e6
    rows = [
        at_most("stored bytes / payload", stored, STORED[name]),
        at_most("write units", total.write_units, WRITE_UNITS[name]),
        at_most(
            "requests of a turn: load and two appends",
            max(requests),
            REQUESTS_A_TURN,
            shown=f"median {median(requests):g}, most {max(requests):g}",
        ),
        Row("$ per million turns, without recall", f"{dollars:.2f}", f"<= {DOLLARS[name]:.2f} with recall"),
    ]
    if name == "c":
        rows += _growth(conversation)
    for row in rows:
        report.add(row if binding or row.met is None else _shown(row))


def _growth(conversation: Conversation) -> list[Row]:
    early, late = (conversation.stretch(turns) for turns in CYCLES)
    return [
        Row(
            f"growth, turns 181-200 over 21-40: {what}",
            f"{getattr(late, field_name) / getattr(early, field_name):.3f}",
            f"{'=' if limit == 1 else '<='} {limit}",
            getattr(late, field_name) / getattr(early, field_name) <= limit,
        )
        for what, field_name, limit in (
            ("requests", "requests", 1.0),
            ("write units", "write_units", 1.0),
            ("read units", "read_units", 1.1),
        )
    ]


def _shown(row: Row) -> Row:
    """The same without a verdict, but saying what it would be."""
    return Row(row.name, row.measured, f"{row.target} ({'would meet' if row.met else 'would miss'})")
