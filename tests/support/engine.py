"""One real local engine for a test session, tables and buckets on it, and the fault-injecting proxy in front of it.

Tests get these through the fixtures of `tests/conftest.py`. Under pytest-xdist each worker has an engine of its own.
"""

import json
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.config import Config

from infra.local import environments
from infra.local.engine import HOST, Engine, EngineError, EngineFolder, free_port

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client

_numbers = count(1)
_LOCAL_CALLS = Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=30)


@contextmanager
def running_engine(folder: Path, *, persistent: bool = False) -> Iterator[Engine]:
    """Run an engine with its state below `folder` for as long as the block lasts."""
    python = environments.ensure(environments.ENGINE, print)
    engine = _start(python, EngineFolder(folder, persistent))
    try:
        yield engine
    finally:
        engine.stop()


def _start(python: Path, folder: EngineFolder, attempts: int = 3) -> Engine:
    """Another program may take the free port before the engine does; then the next free one is tried."""
    for _ in range(attempts - 1):
        try:
            return Engine.start(python, folder, free_port())
        except EngineError as error:
            if "in use" not in str(error):
                raise
    return Engine.start(python, folder, free_port())


def dynamodb_client(endpoint_url: str, config: Config = _LOCAL_CALLS) -> "DynamoDBClient":
    """A DynamoDB client for `endpoint_url`; without retries unless `config` says otherwise."""
    return boto3.client("dynamodb", endpoint_url=endpoint_url, config=config)


_S3 = Config(signature_version="s3v4", s3={"addressing_style": "path"})


ROOT_KEY = "test"
"""Access key id and secret of the engine's root. Its services take any key, but for presigned URLs of S3."""


def s3_client(endpoint_url: str, config: Config = _LOCAL_CALLS, *, access_key: str | None = None) -> "S3Client":
    """An S3 client for `endpoint_url` that names buckets in the path, as the local engine wants it."""
    return boto3.client(
        "s3",
        endpoint_url=endpoint_url,
        config=config.merge(_S3),
        aws_access_key_id=access_key,
        aws_secret_access_key=access_key,
    )


_dynamodb = cache(dynamodb_client)
_s3 = cache(s3_client)


def create_table(endpoint_url: str) -> str:
    """Create an empty table like the one that infra deploys and answer its name."""
    name = f"turnlog-test-{next(_numbers)}"
    strings = ("pk", "sk", "gpk", "created", "activity")
    _dynamodb(endpoint_url).create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": attribute, "AttributeType": "S"} for attribute in strings],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        GlobalSecondaryIndexes=[
            {
                "IndexName": f"by_{order}",
                "KeySchema": [
                    {"AttributeName": "gpk", "KeyType": "HASH"},
                    {"AttributeName": order, "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "KEYS_ONLY"},
            }
            for order in ("created", "activity")
        ],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )
    return name


def create_bucket(endpoint_url: str) -> str:
    """Create an empty bucket and answer its name."""
    name = f"turnlog-test-{next(_numbers)}"
    _s3(endpoint_url).create_bucket(Bucket=name)
    return name


@dataclass(frozen=True, slots=True)
class Microburst:
    """The fault-injecting proxy. AWS clients with `endpoint_url=proxy.url` go through it to the engine."""

    url: str

    def inject(self, *rules: Mapping[str, Any]) -> None:
        """Add rules, in microburst's own words; each fires as often as its `times` says.

        `{"service": "dynamodb", "operation": "PutItem", "times": 1, "error": {"code": "ThrottlingException"}}`
        """
        self._call("PATCH", "rules", list(rules))

    def throttle(self, operation: str, times: int = 1, *, service: str = "dynamodb") -> None:
        """The next `times` calls of `operation` are refused before they reach the engine."""
        self._fault(service, operation, times, error={"code": "ProvisionedThroughputExceededException"})

    def fail(self, operation: str, times: int = 1, *, service: str = "dynamodb") -> None:
        """The next `times` calls of `operation` get a 500 without reaching the engine."""
        self._fault(service, operation, times, error={"code": "InternalServerError", "status": 500})

    def lose_answer(self, operation: str, times: int = 1, *, service: str = "dynamodb") -> None:
        """The next `times` calls of `operation` do their work, but the connection dies before the answer."""
        self._fault(service, operation, times, response={"abort_bytes": 0})

    def delay(self, operation: str, milliseconds: int, times: int = 1, *, service: str = "dynamodb") -> None:
        """The next `times` calls of `operation` reach the engine only after `milliseconds`."""
        self._fault(service, operation, times, latency=milliseconds)

    def fired(self) -> list[dict[str, Any]]:
        """The faults injected since the last `clear`, oldest first: `rule`, `service`, `operation`, `action`."""
        answer = self._call("GET", "fired?limit=10000")
        return list(answer)

    def clear(self) -> None:
        """Forget all rules and the list of fired faults."""
        self._call("POST", "rules", [])
        self._call("DELETE", "fired")

    def _fault(self, service: str, operation: str, times: int, **fault: Any) -> None:
        self.inject({"service": service, "operation": operation, "times": times, **fault})

    def _call(self, method: str, path: str, body: Sequence[Mapping[str, Any]] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/_microburst/{path}", data, method=method)
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)


@contextmanager
def running_microburst(upstream: str, folder: Path) -> Iterator[Microburst]:
    """Run the proxy in front of `upstream`, its log in `folder`, for as long as the block lasts."""
    python = environments.ensure(environments.ENGINE, print)
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    command = [str(python), "-I", "-m", "microburst", "--upstream", upstream, "--host", HOST, "--port", str(port)]
    log = folder / "microburst.log"
    with (
        log.open("wb") as output,
        subprocess.Popen([*command, "--no-resign"], stdout=output, stderr=subprocess.STDOUT) as process,
    ):
        try:
            proxy = Microburst(f"http://{HOST}:{port}")
            _wait_for(proxy, process, log)
            _warm_up(proxy)
            yield proxy
        finally:
            process.kill()  # it has nothing to save, and would wait for idle connections
            process.wait()


def _wait_for(proxy: Microburst, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            proxy.fired()
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"microburst did not start:\n{log.read_text(errors='replace')}") from None
            time.sleep(0.05)
        else:
            return


def _warm_up(proxy: Microburst) -> None:
    """Inject one error: for its first one the proxy reads the error shapes of AWS, which takes longer than a client
    with a short time-out waits."""
    proxy.throttle("ListTables")
    target = {"X-Amz-Target": "DynamoDB_20120810.ListTables", "Content-Type": "application/x-amz-json-1.0"}
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(urllib.request.Request(proxy.url, b"{}", target), timeout=120)
    proxy.clear()
