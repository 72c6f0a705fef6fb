"""`make run`: the whole stack in one process and its engine, until it is interrupted.

Order matters. The engine stops, and so saves, before `local.json` goes; whoever waits for the file to disappear may
start again at once and finds everything.
"""

import json
import os
import shutil
import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from infra.local import deployment, environments, gaps, secrets
from infra.local.assembly import SynthesisError, synthesise
from infra.local.deployment import DeploymentError, Resources, Target
from infra.local.engine import Engine, EngineError, EngineFolder, free_port
from infra.local.home import AlreadyRunningError, Home
from infra.local.issuer import AUDIENCE, TENANT, USER, Issuer, NoIssuerError
from infra.local.ports import PortError, is_free, port_number, require_free
from infra.local.progress import Progress
from infra.local.pump import MappingError, PatternError, Pump, PumpError
from infra.local.pump.engine import EngineIo

DEFAULT_PORT = "8787"
FIRST_ANSWER_SECONDS = 60.0
WATCH_SECONDS = 0.5

EXPECTED = (
    AlreadyRunningError,
    BotoCoreError,
    ClientError,
    DeploymentError,
    EngineError,
    MappingError,
    PatternError,
    PortError,
    PumpError,
    SynthesisError,
    environments.SetupError,
)
"""Errors that a user can understand from their text; anything else keeps its traceback."""


class Interrupted(BaseException):
    """A signal asked this process to end. Not an Exception: no handler of errors may swallow it."""


@dataclass(frozen=True, slots=True)
class Order:
    """What the user asked for, by environment variables that make passes on."""

    home: Home
    port: int
    fresh: bool

    @classmethod
    def read(cls) -> "Order":
        """From `TURNLOG_HOME`, `PORT` and `FRESH`.

        Raises:
            PortError: `PORT` is no port.
        """
        fresh = os.environ.get("FRESH", "").strip().lower() not in ("", "0", "no", "false")
        return cls(Home.chosen(), port_number(os.environ.get("PORT") or DEFAULT_PORT), fresh)


def main() -> int:
    """Run the stack until a signal ends it; answers the exit status."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    progress = Progress(float(os.environ.pop("TURNLOG_STARTED", time.time())))
    try:
        order = Order.read()
        with order.home.only_one() as lock:
            return _run(order, lock, progress)
    except Interrupted:
        return 0
    except EXPECTED as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    # A second Ctrl-C must not cut the saving short.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    raise Interrupted


def _run(order: Order, lock: int, progress: Progress) -> int:
    _forget_dead_run(order.home, progress)
    require_free(order.port)
    if order.fresh:
        progress.say("FRESH: forgetting the sessions of earlier runs")
        shutil.rmtree(order.home.state, ignore_errors=True)
    with ExitStack() as stack:
        issuer = stack.enter_context(_serving_issuer(order.home, progress))
        context = _context(issuer)
        assembly = synthesise(order.home.assembly, context, progress.say)
        engine = stack.enter_context(_running_engine(order, lock, progress))
        target = Target(engine.url)
        resources = deployment.deploy(assembly, target, progress.say)
        gaps.enable_expiry(target, resources.the_only("AWS::DynamoDB::Table"))
        secrets.bring(context["models"], target, os.environ, progress.say)
        pump = stack.enter_context(Pump(EngineIo(target), order.home.pump_log).running())
        ready = _ready(engine, resources, issuer)
        _expect_answer(ready["url"] + "/v1/health", engine)
        _announce(order.home, ready, progress)
        return _watch(engine, pump)


def _forget_dead_run(home: Home, progress: Progress) -> None:
    """We hold the lock, so a `local.json` that is there belongs to nobody."""
    left_over = home.read_ready_file()
    if left_over is not None:
        progress.say(f"process {left_over.get('pid')} ended without cleaning up; removing its {home.ready_file.name}")
    home.forget_ready()


@contextmanager
def _serving_issuer(home: Home, progress: Progress) -> Iterator[Issuer]:
    """The issuer of earlier starts at its old address, as long as that is possible."""
    try:
        issuer = Issuer.load(home)
    except NoIssuerError:
        issuer = Issuer.create(home, free_port())
    if not is_free(issuer.port):
        issuer = issuer.moved(home, free_port())
        progress.say(f"the issuer's port is taken; it moves to {issuer.port}. Tokens of earlier runs are void")
    with issuer.serving():
        yield issuer


@contextmanager
def _running_engine(order: Order, lock: int, progress: Progress) -> Iterator[Engine]:
    progress.say("starting the local engine")
    folder = EngineFolder(order.home.state, persistent=True)
    engine = Engine.start(environments.ENGINE.python, folder, order.port, [lock])
    try:
        yield engine
    finally:
        if engine.ended() is None:
            progress.say("stopping: the local engine saves its state")
        engine.stop()
        order.home.forget_ready()
        for failure in engine.failures_to_save():
            print(f"error: {failure}", file=sys.stderr)


SCRIPTED = {"scripted": {"provider": "scripted", "model": "facts", "window_tokens": 32000}}
"""The model that every laptop has: it needs no key, and copies what it is asked to carry."""


def _context(issuer: Issuer, environment: Mapping[str, str] = os.environ) -> Mapping[str, Any]:
    """The CDK context of the local stage. The functions run on the engine's interpreter. `MODELS` adds models to the
    scripted one, and `COMPACTION` gives sessions without a policy one, both as JSON (docs/compaction.md).

    Raises:
        SynthesisError: `MODELS` is not a JSON object.
    """
    try:
        models = {**SCRIPTED, **json.loads(environment.get("MODELS") or "{}")}
    except (ValueError, TypeError):
        raise SynthesisError("MODELS must be a JSON object") from None
    return {
        "stage": "local",
        "issuer": issuer.url,
        "audience": AUDIENCE,
        "host_python": environments.version_of(environments.ENGINE),
        "models": models,
        **({"compaction": environment["COMPACTION"]} if environment.get("COMPACTION") else {}),
    }


def _ready(engine: Engine, resources: Resources, issuer: Issuer) -> dict[str, Any]:
    """The content of `local.json`."""
    api = resources.the_only("AWS::ApiGatewayV2::Api")
    return {
        "url": f"{engine.url}/_aws/execute-api/{api}/$default",
        "token": issuer.token(TENANT, USER),
        "tenant": TENANT,
        "user": USER,
        "endpoint_url": engine.url,
        "table": resources.the_only("AWS::DynamoDB::Table"),
        "bucket": resources.the_only("AWS::S3::Bucket"),
        "issuer": issuer.url,
        "audience": AUDIENCE,
        "pid": os.getpid(),
    }


def _expect_answer(url: str, engine: Engine) -> None:
    """Call the API once: that starts the function, and shows before the user does that it can start.

    Raises:
        DeploymentError: it does not answer 200, three times in a row.
    """
    # No proxy is ever asked for a loopback address, whatever the shell says.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    answer = ""
    for _ in range(3):
        try:
            with opener.open(url, timeout=FIRST_ANSWER_SECONDS):
                return
        except urllib.error.HTTPError as error:
            answer = f"{error.code} {error.read().decode(errors='replace')[:2000]}"
        except OSError as error:
            answer = str(error)
        time.sleep(1)
    raise DeploymentError(f"the API does not work: GET {url} answers\n{answer}\nThe engine's log says\n{engine.tail()}")


def _announce(home: Home, ready: Mapping[str, Any], progress: Progress) -> None:
    home.write_ready(ready)
    # Commands name a file instead of the token: what stands on a command line is there for every user to see.
    print(
        f"""
Turnlog is ready after {progress.elapsed:.0f} s; Ctrl-C stops it.

  URL    {ready["url"]}
  token  {ready["token"]}
         tenant {ready["tenant"]}, user {ready["user"]}; another one: make token TENANT=acme USER=bob

Try it in a second terminal:

  URL='{ready["url"]}'
  AUTH=@{_shown(home.header_file)}
  curl -s "$URL/v1/health"
  curl -s "$URL/v1/sessions" -H "$AUTH" -H 'Content-Type: application/json' -d '{{"id": "first"}}'
  curl -s "$URL/v1/sessions/first/events" -H "$AUTH" -H 'Content-Type: application/json' \\
       -d '{{"events": [{{"message": {{"role": "user", "content": "Hello"}}}}]}}'
  curl -s "$URL/v1/sessions/first/events" -H "$AUTH"
""",
        flush=True,
    )


def _shown(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _watch(engine: Engine, pump: Pump) -> int:
    """Wait for a signal, which comes as an exception; answers 1 when the engine or the pump ends before that."""
    while engine.ended() is None:
        pump.check()
        time.sleep(WATCH_SECONDS)
    print(f"error: the local engine ended by itself with status {engine.ended()}:\n{engine.tail()}", file=sys.stderr)
    print("Sessions written since its start may be lost: it saves when it is stopped (docs/local.md).", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
