"""What the functions of compaction do with the services that they may use, each way once.

Sessions come from session_api with its own role (``actor.owner``); what is watched is the actor's.
"""

import json
from typing import Any

from infra.local.engine import ACCOUNT, REGION
from tests.support.grants_actor import Actor, behind_tls, noise
from tests.support.session_api import Api
from turnlog.compactor import CompactCommand, CompactionAnswer, Compactor, Summaries, SummaryJob
from turnlog.domain.due import Attempt
from turnlog.domain.exactjson import JsonObject
from turnlog.domain.passes import new_pass_id
from turnlog.domain.ports import CompactionPlan, PassRequest, Window
from turnlog.providers.book import StageModels
from turnlog.workflows.stepfunctions import StateMachine

POLICY = {"trigger": {"type": "turn_count", "max_turns": 2}, "strategy": {"type": "turn_window", "max_turns": 1}}
SUMMARY = {"type": "recursive_summarization", "max_events_to_keep": 2, "overlap_size": 1, "model": "scripted"}
MODELS = '{"scripted": {"provider": "scripted", "model": "facts", "window_tokens": 32000}}'
LARGE = 100_000


def _session(actor: Actor, *, turns: int = 3, large: bool = False, policy: Any = POLICY) -> Api:
    """A session of the owner that asks for a pass."""
    assert actor.owner is not None
    api = actor.owner.api
    assert api.create("s", compaction=policy).status == 201
    for i in range(turns):
        said = noise(LARGE) if large and i == turns - 1 else f"turn {i}"
        assert api.append(said).status == 201
    return api


def _compactor(actor: Actor) -> Compactor:
    return Compactor(actor.stores(actor.tenant), clock=actor.clock)


def _answer(found: CompactionAnswer | None) -> CompactionAnswer:
    assert found is not None
    return found


def run_a_due_pass(actor: Actor) -> None:
    """The session's policy, carried out."""
    _session(actor)
    assert _answer(_compactor(actor).run_due("s")).status == "compacted"


def run_a_pass_over_a_summary(actor: Actor) -> None:
    """The window holds an event that a pass inserted."""
    _session(actor)
    assert actor.owner is not None
    repository = actor.owner.stores(actor.tenant)
    models = StageModels.parse(MODELS)
    summaries = Summaries(repository, clock=actor.clock, models=models, parts=actor.owner.stores.parts(actor.tenant))
    owner = Compactor(repository, clock=actor.clock, models=models, summaries=summaries)
    assert owner.compact("alice", "s", CompactCommand(strategy=JsonObject.of(SUMMARY))).status == "compacted"
    for i in range(3):
        assert actor.owner.api.append(f"more {i}").status == 201
    command = CompactCommand(strategy=JsonObject.of({"type": "turn_window", "max_turns": 1}))
    assert _compactor(actor).compact("alice", "s", command).status == "compacted"


def lose_a_pass(actor: Actor) -> None:
    """Another pass lands between the look and the write; the loser's item is removed."""
    _session(actor)
    repository = actor.stores(actor.tenant)

    def decide(window: Window) -> CompactionPlan:
        assert actor.owner is not None
        rival = actor.owner.stores(actor.tenant)
        plan = CompactionPlan(frozenset({window.events[0].id}))
        assert rival.compact(PassRequest("s", lambda _: plan, actor.clock.now())).status == "landed"
        return CompactionPlan(frozenset({window.events[1].id}))

    assert repository.compact(PassRequest("s", decide, actor.clock.now())).status == "coalesced"


def compact_a_large_body(actor: Actor) -> None:
    """A body above 32 KB has to be read to be counted."""
    _session(actor, large=True)
    assert _answer(_compactor(actor).run_due("s")).status == "compacted"


def remember_a_try(actor: Actor) -> None:
    """A pass that saves nothing is remembered on the head."""
    _session(actor, policy={**POLICY, "strategy": {"type": "turn_window", "max_turns": 50}})
    assert _answer(_compactor(actor).run_due("s")).status == "nothing_to_do"


def find_what_is_due_again(actor: Actor) -> None:
    """The sweep's look into the index."""
    assert actor.owner is not None
    _session(actor)
    repository, now = actor.owner.stores(actor.tenant), actor.clock.now()
    session = repository.find("s")
    assert session is not None
    assert repository.record_attempt(session, Attempt(1, "failed", now, retry_at=now), now=now)
    assert ("s", actor.tenant) in {(p.session_id, str(p.tenant)) for p in actor.stores.pending(now, limit=1000)}


def start_an_execution(actor: Actor) -> None:
    """One that ends at once: there is no such session."""
    arn = f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:{actor.stack.machine}"
    job = _job("ghost", 1, 0, 1, 1)
    StateMachine(arn, lambda: actor.client("stepfunctions")).for_tenant(actor.tenant).start(job)


def follow_the_stream(actor: Actor) -> None:
    """As Lambda does with the function's credentials."""
    _session(actor)
    streams = actor.client("dynamodbstreams")
    streams.list_streams(TableName=actor.stack.table)
    arn = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{actor.stack.table}/stream/{actor.stack.stream}"
    shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
    iterator = streams.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")
    assert streams.get_records(ShardIterator=iterator["ShardIterator"])["Records"]


def send_what_was_given_up(actor: Actor) -> None:
    """As Lambda does with the function's credentials."""
    root, queues = actor.stack.root("sqs"), actor.client("sqs")
    for client in (root, queues):
        client.meta.events.register("before-send.sqs", behind_tls)  # the queue takes nothing without TLS
    url = root.get_queue_url(QueueName=actor.stack.queue)["QueueUrl"]
    queues.send_message(QueueUrl=url, MessageBody=json.dumps({}))


# ---------------------------------------------------------------------- the steps


def _job(
    session_id: str, inc: int, generation: int, last_seq: int, number: int, *, only_at: bool = False
) -> SummaryJob:
    return SummaryJob(
        session_id=session_id,
        inc=inc,
        generation=generation,
        last_seq=last_seq,
        number=number,
        pass_id=new_pass_id(generation + 1, bytes(6)),
        strategy=json.dumps(SUMMARY),
        only_at=only_at,
    )


def _started(actor: Actor, *, only_at: bool = False, large: bool = False) -> tuple[Summaries, SummaryJob]:
    """The steps with the actor's credentials, and a job that somebody has started."""
    assert actor.owner is not None
    _session(actor, large=large)
    repository, now = actor.owner.stores(actor.tenant), actor.clock.now()
    session = repository.find("s")
    assert session is not None
    version = session.version
    job = _job("s", version.inc, version.generation, version.last_seq, 1, only_at=only_at)
    claim = Attempt(1, "running", now, retry_at=now.plus_seconds(60), pass_id=job.pass_id)
    assert repository.record_attempt(session, claim, now=now)
    parts = actor.stores.parts(actor.tenant)
    models = StageModels.parse(MODELS)
    return Summaries(actor.stores(actor.tenant), clock=actor.clock, models=models, parts=parts), job


def summarise(actor: Actor) -> None:
    """All steps, to the end."""
    summaries, job = _started(actor)
    assert summaries.run(job).status == "landed"


def summarise_strictly(actor: Actor) -> None:
    """Only if the log has not grown."""
    summaries, job = _started(actor, only_at=True)
    assert summaries.run(job).status == "landed"


def summarise_a_large_body(actor: Actor) -> None:
    """A body above 32 KB is read."""
    summaries, job = _started(actor, large=True)
    assert summaries.run(job).status == "landed"


def summarise_over_a_summary(actor: Actor) -> None:
    """The window holds an earlier summary."""
    summaries, job = _started(actor)
    assert summaries.run(job).status == "landed"
    assert actor.owner is not None
    for i in range(3):
        assert actor.owner.api.append(f"more {i}").status == 201
    repository = actor.owner.stores(actor.tenant)
    session = repository.find("s")
    assert session is not None
    version = session.version
    again = _job("s", version.inc, version.generation, version.last_seq, 1)
    assert summaries.run(again).status == "landed"


def remember_a_failure(actor: Actor) -> None:
    """The try has failed, and the head says so."""
    summaries, job = _started(actor)
    summaries.fail(job, "blank")
    session = actor.stores(actor.tenant).find("s")
    assert session is not None
    assert session.attempt is not None
    assert session.attempt.status == "failed"
