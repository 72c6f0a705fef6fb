"""What single operations cost, each on a session made for it."""

import math
from collections.abc import Callable, Sequence
from typing import Final

from tests.benchmarks.meter import item_size
from tests.benchmarks.rig import USER, Cost, Rig, prose, said
from tests.benchmarks.rows import Report, Row
from turnlog.compactor import Compactor
from turnlog.domain.event import EventDraft
from turnlog.domain.exactjson import JsonObject
from turnlog.domain.ports import AppendRequest, AppendView, CompactionPlan, Insertion, PassRequest, Window
from turnlog.domain.session import Version
from turnlog.service import CreateSession, SessionService
from turnlog.stores.dynamodb import DynamoDBSessionRepository

TENANT: Final = "ops"
SUMMARY_BYTES: Final = 1000
KB4: Final = 4096


def measure(rig: Rig, report: Report) -> None:
    """Every operation, in the order of the design's table."""
    report.group("append")
    _appends(rig, report)
    _lost_race(rig, report)
    report.group("append with client ids")
    _client_ids(rig, report)
    report.group("reads")
    _windows(rig, report)
    _small_reads(rig, report)
    report.group("passes")
    _passes(rig, report)


def _append(service: SessionService, session_id: str, *drafts: EventDraft) -> Version:
    return service.append(USER, session_id, drafts).version


def _metered(rig: Rig, label: str, work: Callable[[], object]) -> Cost:
    with rig.meter.op(label):
        work()
    return rig.cost(label)


# --------------------------------------------------------------------------- append


def _appends(rig: Rig, report: Report) -> None:
    service = rig.service(TENANT)
    create = _metered(rig, "create", lambda: service.create(CreateSession(USER, "appends")))
    report.add(Row("create a session, with its place in the list", str(create)))
    batches: dict[str, Sequence[EventDraft]] = {
        "1 event of 200 B": [said(prose(1, 200))],
        "1 event of 1 KB": [said(prose(2, 1024))],
        "a batch of 20 x 40 B": [said(prose(seed, 40)) for seed in range(20)],
        "a batch of 3 (150 + 2048 + 400 B)": [
            said(prose(seed, size)) for seed, size in ((3, 150), (4, 2048), (5, 400))
        ],
        "1 event of 100 KB (body in S3)": [said(prose(6, 100 * 1024))],
    }
    for name, drafts in batches.items():
        cost = _metered(rig, name, lambda drafts=drafts: _append(service, "appends", *drafts))  # type: ignore[misc]
        size = max(call.max_item for call in rig.meter.select(op=name, api="PutItem"))
        writes = max(1, math.ceil(size / 1024))
        met = cost.requests == 2 and cost.write_units == writes and cost.read_units <= 1
        report.add(Row(f"append {name}: item of {size} B", str(cost), f"2 req, {writes} WU, <= 1 RU", met))


def _lost_race(rig: Rig, report: Report) -> None:
    """Somebody else's append comes between our look and our put, once."""
    rig.create(TENANT, "race")
    rival = rig.service(TENANT, metered=False)
    _append(rival, "race", said("before"))
    pending = [said(prose(8, 200))]

    def cut_in(view: AppendView) -> None:
        while pending:
            _append(rival, "race", pending.pop())

    request = AppendRequest("race", (said(prose(7, 200)),), rig.clock.now(), guard=cut_in)
    cost = _metered(rig, "lost race", lambda: rig.repository(TENANT).append(request))
    met = cost.requests == 3 and cost.write_units == 2 and cost.read_units <= 1
    report.add(Row("append after one lost race", str(cost), "3 req, 2 WU (one refused), <= 1 RU", met))


# --------------------------------------------------------------------------- client ids


def _client_ids(rig: Rig, report: Report) -> None:
    rig.create(TENANT, "ids")
    service = rig.service(TENANT)
    costs = []
    for i in range(1, 331):
        with rig.meter.op(f"id {i}"):
            _append(service, "ids", said(prose(i, 200), id=f"message-{i:04d}"))
        costs.append(rig.cost(f"id {i}"))
    folds = [i for i, cost in enumerate(costs[:64], 1) if cost.requests > 2]
    plain = [cost for cost in costs[:64] if cost.requests == 2]
    worst = max(plain, key=lambda cost: (cost.write_units, cost.read_units))
    met = len(folds) <= 1 and worst.write_units == 1 and worst.read_units <= 1
    report.add(Row("up to 64 ids", str(worst), "2 req, 1 WU, <= 1 RU", met))
    for i in folds:
        report.add(Row(f"append {i}, which folds 33 ids into a block", str(costs[i - 1])))
    later = costs[64:]
    mean = Cost(*(round(sum(getattr(c, f) for c in later) / len(later), 2) for f in Cost.__slots__))
    met = mean.requests <= 3 and mean.write_units <= 1.1 and mean.read_units <= 2
    report.add(Row("beyond 64 ids, mean of 266, blocks remembered", str(mean), "<= 3 req, 1.1 WU, 2 RU", met))
    blocks = sum(item_size(item) for item in rig.items(TENANT) if item["sk"]["S"].startswith("!I#"))
    cold = rig.service(TENANT)
    cost = _metered(rig, "cold ids", lambda: _append(cold, "ids", said(prose(999, 200), id="message-next")))
    reads = 1 + math.ceil(blocks / KB4)
    met = cost.requests <= 3 and cost.write_units == 1 and cost.read_units <= reads
    report.add(
        Row(
            f"beyond 64 ids, first append of a process ({blocks} B of blocks)",
            str(cost),
            f"3 req, 1 WU, <= {reads} RU",
            met,
        )
    )
    again = _metered(rig, "replay", lambda: _append(service, "ids", said(prose(5, 200), id="message-0005")))
    report.add(Row("a replay of an old id", str(again)))


# --------------------------------------------------------------------------- reads


def _windows(rig: Rig, report: Report) -> None:
    """Windows of 1 KB events: new ones, and the newest part of a log behind a summary and a straggler."""
    quiet, repository = rig.service(TENANT, metered=False), rig.repository(TENANT, metered=False)
    version = _told(rig, quiet, "window", 45)
    _window(rig, report, "window", "45 events of 1 KB, consistent", 2, None)
    _window(rig, report, "window", "45 events of 1 KB, after our own append", 2, version)
    _told(rig, quiet, "summary", 135)
    _pass(repository, "summary", lambda seq: seq <= 45)
    version = _current(repository, "summary").session.version
    _window(rig, report, "summary", "90 events of 1 KB behind a summary", 3, version)
    _told(rig, quiet, "straggler", 135)
    _pass(repository, "straggler", lambda seq: seq <= 45 and seq != 3)
    version = _current(repository, "straggler").session.version
    _window(rig, report, "straggler", "the same behind a summary and a straggler", 3, version)


def _told(rig: Rig, service: SessionService, session_id: str, events: int) -> Version:
    version = rig.create(TENANT, session_id).version
    for seed in range(events):
        version = _append(service, session_id, said(prose(seed, 1024)))
    return version


def _current(repository: DynamoDBSessionRepository, session_id: str) -> Window:
    window = repository.window(session_id)
    assert window is not None
    return window


def _pass(repository: DynamoDBSessionRepository, session_id: str, archived: Callable[[int], bool]) -> None:
    """Archive events and put a summary in front of those that stay together at the end."""
    window = _current(repository, session_id)
    by_seq = {event.seq: event.id for event in window.events if event.seq is not None}
    archive = frozenset(event_id for seq, event_id in by_seq.items() if archived(seq))
    first = next(seq for seq in sorted(by_seq) if not any(archived(later) for later in range(seq, max(by_seq) + 1)))
    plan = CompactionPlan(archive, (Insertion(first, (said(prose(1, SUMMARY_BYTES), role="assistant"),)),))
    now = window.events[0].timestamp
    assert repository.apply_compaction(session_id, plan, window.session.version.number, now=now)


def _window(rig: Rig, report: Report, session_id: str, name: str, requests: int, version: Version | None) -> None:
    repository = rig.repository(TENANT)
    cost = _metered(rig, name, lambda: repository.window(session_id, min_version=version))
    size = window_bytes(rig, TENANT, session_id)
    units = size / KB4 / (1 if version is None else 2)
    ratio = cost.read_units / units
    met = cost.requests == requests and ratio <= 1.25
    shown = f"{cost}  x{ratio:.2f} of {size} B"
    report.add(Row(f"window: {name}", shown, f"{requests} req, RU <= 1.25 x bytes", met))


def window_bytes(rig: Rig, tenant: str, session_id: str) -> int:
    """The size of what a window is made of: the head, the commits with active events, the passes that it shows."""
    repository = rig.repository(tenant, metered=False)
    window = _current(repository, session_id)
    seqs = {event.seq for event in window.events}
    passes = {event.position.pass_id for event in window.events if event.position is not None}
    total = 0
    for item in rig.items(tenant):
        if not item["pk"]["S"].endswith(f"#S#{session_id}"):
            continue
        sk = item["sk"]["S"]
        if sk.startswith("E#"):
            first, count = int(sk.rsplit("#", 1)[1]), int(item["n"]["N"])
            wanted = any(seq in seqs for seq in range(first, first + count))
        else:
            wanted = sk == "~" or (sk.startswith("!C#") and sk.rsplit("#", 1)[1] in passes)
        total += item_size(item) if wanted else 0
    return total


def _small_reads(rig: Rig, report: Report) -> None:
    service = rig.service(TENANT)
    session = _metered(rig, "get", lambda: service.get(USER, "window"))
    report.add(Row("get a session", str(session), "1 req, <= 1 RU", session.requests == 1 and session.read_units <= 1))
    page = _metered(rig, "list", lambda: service.list(USER, limit=20))
    report.add(Row("a page of a user's list", str(page)))
    log = _metered(rig, "events", lambda: service.events(USER, "window"))
    report.add(Row("a page of 50 events of the log", str(log)))
    server = rig.repository(TENANT, metered=False).read("window")[10].id
    for name, session_id, event_id in (
        ("the server made", "window", server),
        ("the client made", "ids", "message-0100"),
    ):
        one = _metered(rig, name, lambda s=session_id, e=event_id: service.event(USER, s, e))  # type: ignore[misc]
        report.add(Row(f"an event by an id that {name}", str(one)))


# --------------------------------------------------------------------------- passes


def _passes(rig: Rig, report: Report) -> None:
    """A pass writes the same whether it archives 20 events or 20,000 (DESIGN 9)."""
    for form, run in (("default form", _default_pass), ("strict form", _strict_pass)):
        few, many = (_over(rig, form, events, run) for events in (20, 20_000))
        if form == "default form":
            report.add(_bounded(f"a pass over 20 events, {form}, summary of 1 KB", few, 1))
            report.add(_bounded(f"a pass over 20,000 events, {form}, summary of 1 KB", many, 1))
        else:
            report.add(Row(f"a pass over 20 events, {form}, summary of 1 KB", str(few)))
            report.add(Row(f"a pass over 20,000 events, {form}, summary of 1 KB", str(many)))
        shown = f"{few.write_units:g} and {many.write_units:g}"
        report.add(Row(f"write units of the two, {form}", shown, "equal", few.write_units == many.write_units))
    report.add(_bounded("a pass that a policy asked for, without a summary", _triggered_pass(rig), 0))


def _bounded(name: str, cost: Cost, summary_kb: int) -> Row:
    return Row(name, str(cost), f"<= {3 + summary_kb} WU", cost.write_units <= 3 + summary_kb)


Run = Callable[[DynamoDBSessionRepository, str, CompactionPlan, Window, Rig], None]


def _over(rig: Rig, form: str, events: int, run: Run) -> Cost:
    session_id = f"pass-{form.partition(' ')[0]}-{events}"
    rig.create(TENANT, session_id)
    quiet = rig.service(TENANT, metered=False)
    for _ in range(0, events, 100):
        _append(quiet, session_id, *(said("archived soon") for _ in range(min(100, events))))
    _append(quiet, session_id, said("stays"))
    window = _current(rig.repository(TENANT, metered=False), session_id)
    archive = frozenset(event.id for event in window.events[:-1])
    plan = CompactionPlan(archive, (Insertion(events + 1, (said(prose(1, SUMMARY_BYTES), role="assistant"),)),))
    repository = rig.repository(TENANT)
    return _metered(rig, session_id, lambda: run(repository, session_id, plan, window, rig))


def _default_pass(
    repository: DynamoDBSessionRepository, session_id: str, plan: CompactionPlan, window: Window, rig: Rig
) -> None:
    outcome = repository.compact(PassRequest(session_id, lambda _: plan, rig.clock.now()))
    assert outcome.status == "landed"


def _strict_pass(
    repository: DynamoDBSessionRepository, session_id: str, plan: CompactionPlan, window: Window, rig: Rig
) -> None:
    assert repository.apply_compaction(session_id, plan, window.session.version.number, now=rig.clock.now())


def _triggered_pass(rig: Rig) -> Cost:
    """The worker's whole way: the head, the window, the policy, the two writes."""
    policy = JsonObject.of(
        {"trigger": {"type": "turn_count", "max_turns": 20}, "strategy": {"type": "turn_window", "max_turns": 10}}
    )
    quiet = rig.service(TENANT, metered=False)
    quiet.create(CreateSession(USER, "due", compaction=policy))
    for i in range(21):
        _append(quiet, "due", said(f"question {i}"), said(f"answer {i}", role="assistant"))
    compactor = Compactor(rig.repository(TENANT), clock=rig.clock)

    def run() -> None:
        answer = compactor.run_due("due")
        assert answer is not None
        assert answer.status == "compacted"

    return _metered(rig, "due", run)
