"""Every way to write, in a situation that takes it through all of its steps, for enumeration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .operations import (
    Act,
    Actor,
    Append,
    Compact,
    Create,
    Delete,
    Expire,
    Operation,
    Patch,
    Planned,
    ReadWindow,
    Resend,
    ReuseKey,
    Save,
    Undo,
    Walk,
)
from .process import CRASH_AFTER, Fault

IDS: Final = (("id", 0), ("id", 0))


@dataclass(frozen=True)
class Scenario:
    """What came before, the operation itself, and how its caller tries again."""

    before: tuple[Act, ...]
    operation: Operation
    again: Operation

    def play(self, script: dict[int, list[Planned]]) -> tuple[Actor, int]:
        """Set up, run the operation under a script, and answer how many calls it made."""
        actor = Actor()
        for act in self.before:
            actor.act(act)
        actor.ledger.settle()
        return actor, actor.act(Act(self.operation, script, 1))


def _after(*operations: Operation) -> tuple[Act, ...]:
    return tuple(Act(operation) for operation in (Create(), *operations))


_LAST: Final = Resend(-1)

SCENARIOS: Final[dict[str, Scenario]] = {
    "create": Scenario((), Create(token=1), Create(token=1)),
    "create after a delete": Scenario(_after(Append(IDS), Delete()), Create("bob"), Create("bob")),
    "create after half a delete": Scenario(
        (*_after(Append(IDS)), Act(Delete(), {2: [CRASH_AFTER]})), Create(), Create()
    ),
    "create after the end": Scenario(_after(Append(IDS), Expire()), Create(token=2), Create(token=2)),
    "append": Scenario(_after(Append()), Append(IDS), _LAST),
    "append with a key": Scenario(_after(Append(IDS, key=True)), Append((("new", 0), ("old", 1)), key=True), _LAST),
    "append without anything": Scenario(_after(Append()), Append(), ReuseKey(0)),
    "append that folds after": Scenario(_after(Append(IDS)), Append(IDS), _LAST),
    "append that folds before": Scenario(_after(Append(IDS), Append(IDS[:1])), Append(IDS * 2), _LAST),
    "append behind blocks": Scenario(
        _after(*[Append(IDS, key=True)] * 4), Append((("old", 0), ("id", 0), ("old", 3))), _LAST
    ),
    "append with If-Match": Scenario(_after(Append(IDS)), Append(IDS, match="current"), _LAST),
    "append of a body in the blob store": Scenario(_after(Append(IDS)), Append((("big", 0),), key=True), _LAST),
    "append of what is known": Scenario(_after(Append(IDS), Append()), Resend(0), _LAST),
    "append of what an ended life knew": Scenario(_after(Append(IDS), Delete()), Resend(0), _LAST),
    "append that creates": Scenario((), Append(IDS, create=True), _LAST),
    "append that re-creates": Scenario(_after(Append(IDS), Delete()), Append(IDS, create=True), _LAST),
    "change": Scenario(_after(Append()), Patch(guarded=True), Patch()),
    "save": Scenario(_after(Append()), Save(), Save()),
    "save that creates": Scenario(_after(Append(IDS), Delete()), Save(), Save()),
    "pass": Scenario(_after(Append(IDS * 3)), Compact(2), Compact(2)),
    "pass over a summary": Scenario(
        _after(Append(IDS * 3), Compact(3, scattered=True), Append(IDS)), Compact(3), Compact(1, summary=False)
    ),
    "pass in the default form": Scenario(_after(Append(IDS * 3)), Compact(2, strict=False), Compact(2, strict=False)),
    "default pass over a summary": Scenario(
        _after(Append(IDS * 3), Compact(3, scattered=True), Append(IDS)), Compact(3, strict=False), Undo()
    ),
    "undo": Scenario(_after(Append(IDS * 3), Compact(2), Append(IDS), Compact(2)), Undo(), Undo()),
    "undo of an undo": Scenario(_after(Append(IDS * 3), Compact(2, scattered=True), Undo()), Undo(), Compact(2)),
    "delete": Scenario(_after(Append(IDS)), Delete(), Delete()),
    "delete what expired": Scenario(_after(Append(IDS)), Expire(purge=True), Expire(purge=True)),
}

_READ: Final[dict[str, Operation]] = {
    "window": ReadWindow(),
    "window of a version": ReadWindow(min_version=True),
    "walk": Walk(hint=1),
    "walk back": Walk("desc"),
}
READS: Final = {
    name: Scenario(_after(Append(IDS), Append(IDS * 2), Compact(2), Append((("big", 0),))), read, read)
    for name, read in _READ.items()
}

RIVALS: Final[dict[str, tuple[Operation, ...]]] = {
    "an append": (Append(IDS),),
    "many appends": (*[Append(IDS)] * 4, Append((("new", 0),) * 3)),
    "the same again": (Resend(-1),),
    "a pass": (Compact(1),),
    "an undo": (Undo(),),
    "a pass and its undo": (Compact(1, strict=False), Undo()),
    "a delete": (Delete(),),
    "an expiry": (Expire(purge=True),),
    "another life": (Delete(), Create("bob")),
    "the same user's next life": (Delete(), Append(IDS, create=True), *[Append(IDS)] * 2),
    "a whole life": (Delete(), Create("bob"), Append(IDS, user="bob"), Delete("bob")),
    "a change": (Patch(),),
}

FAULTS: Final = tuple(Fault)
