"""Compaction on `make run`: sessions compact by themselves, models write summaries, poison stops nobody."""

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import boto3
import pytest

from infra.redrive import Clients, redrive
from tests.support.stack import LocalStack

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("local-stack")]

POLICY = {"trigger": {"type": "turn_count", "max_turns": 20}, "strategy": {"type": "turn_window", "max_turns": 10}}
SUMMARY = {"type": "recursive_summarization", "max_events_to_keep": 10, "overlap_size": 2, "model": "scripted"}
PATIENCE_SECONDS = 60.0


class Talk:
    """One session of the developer's, over HTTP."""

    def __init__(self, stack: LocalStack, **fields: Any) -> None:
        self.stack = stack
        self.id = f"talk-{uuid.uuid4()}"
        assert self._call("POST", "/v1/sessions", {"id": self.id, **fields}).status == 201

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        return self.stack.call(method, path, token=self.stack.ready["token"], body=body)

    def turns(self, count: int, said: str = "question") -> None:
        """So many turns, an append each."""
        for i in range(count):
            events = [{"message": {"role": "user", "content": f"{said} {i}"}}]
            events.append({"message": {"role": "assistant", "content": f"answer {i}"}})
            answer = self._call("POST", f"/v1/sessions/{self.id}/events", {"events": events})
            assert answer.status == 201, answer

    @property
    def session(self) -> Any:
        """The session as it is now."""
        return self._call("GET", f"/v1/sessions/{self.id}").body

    @property
    def history(self) -> Any:
        """Its compactions."""
        return self._call("GET", f"/v1/sessions/{self.id}/compactions").body

    @property
    def active(self) -> list[Any]:
        """The active window."""
        found: list[Any] = self._call("GET", f"/v1/sessions/{self.id}/events?archived=false&limit=100").body["data"]
        return found

    def compact(self, **body: Any) -> Any:
        """Ask for a compaction."""
        answer = self._call("POST", f"/v1/sessions/{self.id}/compactions", body)
        assert answer.status in (200, 201, 202), answer
        return answer.body

    def wait(self, holds: Callable[[], bool]) -> None:
        """Until something holds; a run that never comes to it fails."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            assert time.monotonic() < deadline, f"{self.history}\n{pump_log(self.stack)[-2000:]}"
            time.sleep(0.1)


def pump_log(stack: LocalStack) -> str:
    return stack.home.pump_log.read_text()


def invocations(stack: LocalStack) -> int:
    """How often the worker has been invoked since the start."""
    return sum("CompactionWorker" in line and " records=" in line for line in pump_log(stack).splitlines())


def settled(stack: LocalStack) -> int:
    """The invocations, once there are no more of them for a while."""
    before = -1
    while before != (now := invocations(stack)):
        before = now
        time.sleep(1.6)  # a batch is open for one second, and the pump looks five times a second
    return now


def test_a_session_compacts_by_itself_after_turn_21_and_again_later(stack: LocalStack) -> None:
    talk = Talk(stack, compaction=POLICY)
    before = settled(stack)
    talk.turns(20)
    assert settled(stack) == before, "appends that are not due invoke nobody"
    assert talk.session["generation"] == 0
    talk.turns(1)
    talk.wait(lambda: talk.session["generation"] == 1)
    assert settled(stack) == before + 1
    assert [event["seq"] for event in talk.active] == list(range(23, 43)), "ten turns stay, whole"
    (made,) = talk.history["data"]
    assert (made["asked_by"], made["archived"], made["strategy"]) == ("trigger", [[1, 22]], POLICY["strategy"])
    talk.turns(11)
    talk.wait(lambda: talk.session["generation"] == 2)
    assert talk.history["data"][0]["archived"] == [[23, 44]]


def test_a_burst_of_200_turns_ends_compacted(stack: LocalStack) -> None:
    talk = Talk(stack, compaction=POLICY)
    talk.turns(200)
    talk.wait(lambda: len(talk.active) <= 40)
    settled(stack)
    assert 20 <= len(talk.active) <= 40
    whole = talk.stack.call("GET", f"/v1/sessions/{talk.id}/events?last_n=400", token=stack.ready["token"]).body["data"]
    assert [event["seq"] for event in whole] == list(range(1, 401)), "nothing is lost, or moved"


def test_a_policy_that_can_never_be_met_does_not_loop(stack: LocalStack) -> None:
    """What the session stores as its system prompt is larger than the threshold by itself (field case D7)."""
    policy = {
        "trigger": {"type": "token_count", "threshold": 1000},
        "strategy": {"type": "token_count", "max_tokens": 500},
    }
    talk = Talk(stack, compaction=policy, allow_system_messages=True)
    rules = {"events": [{"message": {"role": "system", "content": "rule " * 1200}}]}
    path = f"/v1/sessions/{talk.id}/events"
    assert stack.call("POST", path, token=stack.ready["token"], body=rules).status == 201
    before = settled(stack)
    talk.turns(60)
    talk.wait(lambda: talk.history["attempt"] is not None)
    used = settled(stack) - before
    assert talk.history["attempt"]["status"] == "futile"
    assert used <= 6, f"60 turns and {used} looks: it tries each time that the window has grown by a fifth"


def test_a_model_writes_a_summary_through_the_state_machine(stack: LocalStack) -> None:
    talk = Talk(stack)
    talk.turns(12, "FACT: the tram is yellow, said in turn")
    started = talk.compact(strategy=SUMMARY)
    assert started["status"] == "started"
    talk.wait(lambda: talk.session["generation"] == 1)
    question, summary = talk.active[:2]
    assert (question["seq"], summary["synthetic"]) == (None, True)
    assert "- the tram is yellow, said in turn 0" in summary["message"]["content"][0]["text"]
    assert talk.history["data"][0]["id"] == started["id"]
    undone = stack.call("POST", f"/v1/sessions/{talk.id}/compactions/{started['id']}/undo", token=stack.ready["token"])
    assert (undone.status, undone.body["restored"]) == (200, [[1, 14]])
    assert [event["seq"] for event in talk.active] == list(range(1, 25))


@pytest.fixture
def slow_model(one_stack: LocalStack) -> Iterator[list[Any]]:
    """A stack whose model `slow` takes two seconds; the requests that it got."""
    asked: list[Any] = []

    class Model(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked.append((self.headers["authorization"], body))
            time.sleep(2.0)
            choice = {"finish_reason": "stop", "message": {"role": "assistant", "content": "All is well."}}
            answer = json.dumps({"model": body["model"], "choices": [choice]}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    spec = {
        "provider": "openai",
        "model": "m",
        "base_url": f"http://127.0.0.1:{server.server_port}/v1",
        "window_tokens": 32000,
        "secret": "SLOW_MODEL_KEY",
    }
    one_stack.start(MODELS=json.dumps({"slow": spec}), SLOW_MODEL_KEY="key-of-the-slow-model")
    try:
        yield asked
    finally:
        one_stack.stop()
        server.shutdown()
        server.server_close()


def test_three_at_once_ask_a_slow_model_once_while_the_session_is_written_to(
    slow_model: list[Any], one_stack: LocalStack
) -> None:
    """One summary, one call; the others say coalesced, and every append lands (field cases C7, D24)."""
    talk = Talk(one_stack)
    talk.turns(20)
    answers: list[Any] = []
    askers = [
        threading.Thread(target=lambda: answers.append(talk.compact(strategy={**SUMMARY, "model": "slow"})))
        for _ in range(3)
    ]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert sorted(answer["status"] for answer in answers) == ["coalesced", "coalesced", "started"]
    assert len({answer["id"] for answer in answers}) == 1
    written = 0
    while talk.session["generation"] == 0:
        talk.turns(1, "meanwhile")
        written += 1
        assert written < 500, talk.history
        time.sleep(0.05)
    assert [key for key, _ in slow_model] == ["Bearer key-of-the-slow-model"]
    assert written > 5, "the session was written to all the time"
    assert len(talk.history["data"]) == 1
    seqs = [event["seq"] for event in talk.active]
    assert seqs == [None, None, *range(31, 41 + 2 * written)]


def test_a_poison_record_stops_nobody_and_ends_in_the_queue(stack: LocalStack) -> None:
    """It asks for a pass, and is none of a session; redriving it is safe, as often as one likes."""
    endpoint = {"endpoint_url": stack.ready["endpoint_url"]}
    dynamodb, queues = boto3.client("dynamodb", **endpoint), boto3.client("sqs", **endpoint)
    (queue,) = (url for url in queues.list_queues()["QueueUrls"] if "OnFailure" in url)
    poison: Any = {"pk": {"S": f"poison-{uuid.uuid4()}"}, "sk": {"S": "E#"}, "due": {"BOOL": True}}
    dynamodb.put_item(TableName=stack.ready["table"], Item=poison)
    talk = Talk(stack, compaction=POLICY)
    talk.turns(21)
    talk.wait(lambda: talk.session["generation"] == 1)

    def waiting() -> int:
        found = queues.get_queue_attributes(QueueUrl=queue, AttributeNames=["ApproximateNumberOfMessages"])
        return int(found["Attributes"]["ApproximateNumberOfMessages"])

    talk.wait(lambda: waiting() == 1)
    held = queues.receive_message(QueueUrl=queue, VisibilityTimeout=0)["Messages"][0]
    told = json.loads(held["Body"])
    assert told["requestContext"]["condition"] == "RetryAttemptsExhausted"
    assert told["DDBStreamBatchInfo"]["batchSize"] >= 1
    again = Talk(stack, compaction=POLICY)
    again.turns(21)
    again.wait(lambda: again.session["generation"] == 1)
    functions = boto3.client("lambda", **endpoint).list_functions()["Functions"]
    (worker,) = (f["FunctionName"] for f in functions if f["Handler"].startswith("compaction_worker."))
    assert redrive(Clients.connect(stack.ready["endpoint_url"]), queue, worker) == (0, 1)
    queues.purge_queue(QueueUrl=queue)
