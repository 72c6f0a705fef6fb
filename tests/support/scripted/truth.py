"""What really stands in a scripted table, read past the store: lives, their logs, their passes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from turnlog.domain import ids
from turnlog.domain.event import SessionEvent
from turnlog.domain.ports import place_of
from turnlog.stores.dynamodb import keys
from turnlog.stores.dynamodb.body import unpack
from turnlog.stores.dynamodb.items import Blob, Commit, Head, is_commit
from turnlog.stores.dynamodb.passes import decode_pass, pass_key

from .process import World
from .table import Moment


@dataclass(frozen=True)
class RealPass:
    """A pass that counts: some head named it."""

    label: str
    moment: Moment
    generation: int
    events: tuple[SessionEvent, ...]
    id: str
    undoes: str | None


@dataclass
class Life:
    """One life of a session: all that was ever committed to it."""

    inc: int
    events: list[SessionEvent] = field(default_factory=list)
    commits: list[tuple[Moment, Commit]] = field(default_factory=list)
    passes: list[RealPass] = field(default_factory=list)
    heads: list[tuple[Moment, Head]] = field(default_factory=list)

    @property
    def by_seq(self) -> dict[int, SessionEvent]:
        """The logged events."""
        return {e.seq: e for e in self.events if e.seq is not None}

    @property
    def by_id(self) -> dict[str, SessionEvent]:
        """Logged and inserted events; ids are unique in a life."""
        return {e.id: e for e in [*self.events, *(e for p in self.passes for e in p.events)]}

    @property
    def owner(self) -> str:
        """Whose life it is now; a save may have changed that."""
        return self.heads[-1][1].record.user_id

    @property
    def owners(self) -> set[str]:
        """Whose life it ever was."""
        return {head.record.user_id for _, head in self.heads}

    def last_seq_at(self, moment: Moment) -> int:
        """How long the log was."""
        return max((commit.last for at, commit in self.commits if at <= moment), default=0)


def heads_of(world: World, pk: str, session_id: str) -> list[tuple[Moment, Head | None]]:
    """Every version of the head."""
    versions = world.table.versions((pk, keys.HEAD))
    return [(at, Head.of(item, session_id) if item else None) for at, item in versions]


def lives_of(world: World, pk: str, session_id: str) -> dict[int, Life]:
    """Every life that the id ever had, oldest first.

    Raises:
        AssertionError: a log has a gap, an id or a text twice, or goes on after its end.
    """
    lives: dict[int, Life] = {}
    for at, head in heads_of(world, pk, session_id):
        if head is not None:
            lives.setdefault(head.inc, Life(head.inc)).heads.append((at, head))
    for key in world.table.keys(pk, keys.LOG_FROM):
        for at, item in world.table.versions(key):
            if item is not None and is_commit(item):
                commit = Commit.of(item)
                assert commit.inc in lives, f"a commit of life {commit.inc}, which no head ever named"
                lives[commit.inc].commits.append((at, commit))
    for life in lives.values():
        _read_log(world, life, session_id)
        _read_passes(world, life, session_id)
        _check_unique(life.by_id.values(), len(life.events) + sum(len(p.events) for p in life.passes))
    return lives


def _read_log(world: World, life: Life, session_id: str) -> None:
    closed_at: Moment | None = None
    expected = 1
    for at, commit in life.commits:  # in the order of their keys
        assert closed_at is None, f"commit {commit.first} stands after the end of its life"
        assert commit.first == expected, f"the log has {commit.first} where {expected} should be"
        assert len(world.table.versions(commit.key)) == 1, "a commit is written once and never changed"
        expected = commit.last + 1
        if commit.is_closing:
            closed_at = at
            continue
        body = commit.body
        for seq, one in enumerate(unpack(world.blobs[body.key] if isinstance(body, Blob) else body), commit.first):
            event_id = one.id if one.id is not None else ids.logged(life.inc, seq)
            life.events.append(
                SessionEvent(event_id, session_id, one.message, one.timestamp, one.branch, one.metadata, seq=seq)
            )
    moments = [at for at, _ in life.commits]
    assert moments == sorted(moments), "the log did not grow in its order"
    seen = [commit.generation for _, commit in life.commits if not commit.is_closing]
    assert seen == sorted(seen), "a commit knew less of the passes than the one before it"
    assert len(life.events) == expected - 1


def _read_passes(world: World, life: Life, session_id: str) -> None:
    for at, head in life.heads:
        if head.generation == len(life.passes):
            continue
        assert head.generation == len(life.passes) + 1, "a generation was skipped"
        item = world.table.at(pass_key(head, head.last_pass))
        assert item is not None, "the head names a pass that is not there"
        made = decode_pass(item, session_id)
        label = made.detail.user or ""
        life.passes.append(RealPass(label, at, head.generation, made.events, made.id, made.undoes))


def _check_unique(events: Iterable[SessionEvent], count: int) -> None:
    events = list(events)
    assert len(events) == count, "an id stands twice in one life"
    texts = [e.message.text or "" for e in events]
    assert len(set(texts)) == len(texts), f"an event is doubled: {sorted(t for t in texts if texts.count(t) > 1)}"


def in_order(life: Life) -> list[SessionEvent]:
    """Logged and inserted events in the order of the full log."""
    return sorted(life.by_id.values(), key=place_of)
