"""The store on the local engine, with a meter at its client, and one without for the preparations."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.benchmarks import meter as metering
from tests.benchmarks import workload
from tests.support.engine import create_bucket, create_table, dynamodb_client, running_engine, s3_client
from turnlog.domain.event import EventDraft
from turnlog.domain.instant import Instant
from turnlog.domain.message import Message
from turnlog.domain.session import StoredSession
from turnlog.service import CreateSession, SessionService
from turnlog.stores.dynamodb import DynamoDBSessionRepository, Pacing, connect
from turnlog.testing.clock import ManualClock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

USER: Final = "user-8d2f41c6"
"""As long as the ids that an identity provider makes tend to be kept in a key."""

START: Final = Instant.of_ms(int(workload.T0 * 1000))


@dataclass(frozen=True, slots=True)
class Cost:
    """What one call, or several, took from DynamoDB."""

    requests: float
    write_units: float
    read_units: float
    wire_bytes: float

    def __str__(self) -> str:
        numbers = (f"{n:g}" for n in (self.requests, self.write_units, self.read_units))
        return "{:>3} req {:>5} WU {:>6} RU {:>8} B".format(*numbers, f"{self.wire_bytes:.0f}")


class Rig:
    """A table and a bucket on an engine, and the store on them."""

    def __init__(self, endpoint_url: str) -> None:
        self.endpoint_url = endpoint_url
        self.table = create_table(endpoint_url)
        self.bucket = create_bucket(endpoint_url)
        self.meter: Any = metering.Meter()  # type: ignore[no-untyped-call]
        self.clock = ManualClock(START)
        self.quiet_client = dynamodb_client(endpoint_url)
        self._s3 = s3_client(endpoint_url)
        self._metered = dynamodb_client(endpoint_url)
        self.meter.attach(self._metered)

    def repository(self, tenant: str, *, metered: bool = True) -> DynamoDBSessionRepository:
        """A repository with a cache of its own, as a new process has it. Its waits are not waited for."""
        return self.over(self._metered if metered else self.quiet_client)(tenant)

    def over(self, client: "DynamoDBClient") -> Callable[[str], DynamoDBSessionRepository]:
        """The factory of repositories on a client."""
        return connect(
            self.table,
            self.bucket,
            client=client,
            make_s3=lambda: self._s3,
            clock=self.clock.now,
            pacing=Pacing(sleep=lambda seconds: None),
        )

    def service(self, tenant: str, *, metered: bool = True) -> SessionService:
        """The service on such a repository."""
        return self.service_on(self.repository(tenant, metered=metered))

    def service_on(self, repository: DynamoDBSessionRepository) -> SessionService:
        """The service on a repository."""
        return SessionService(repository, clock=self.clock)

    def create(self, tenant: str, session_id: str) -> StoredSession:
        """Create a session without metering it."""
        return self.service(tenant, metered=False).create(CreateSession(USER, session_id))

    def cost(self, label: str, **tags: object) -> Cost:
        """What was metered under a label."""
        total = self.meter.total(op=label, **tags)
        return Cost(total["requests"], total["wcu"], total["rcu"], total["req_bytes"] + total["resp_bytes"])

    def items(self, tenant: str) -> list[dict[str, Any]]:
        """Every item of a tenant, its users' lists included, as DynamoDB writes them."""
        pages = self.quiet_client.get_paginator("scan").paginate(
            TableName=self.table,
            FilterExpression="begins_with(pk, :t)",
            ExpressionAttributeValues={":t": {"S": f"T#{tenant}#"}},
            ConsistentRead=True,
        )
        return [dict(item) for page in pages for item in page["Items"]]

    def stored_bytes(self, tenant: str) -> int:
        """The size of a tenant's items by DynamoDB's rules, and of its objects in S3."""
        objects = self._s3.list_objects_v2(Bucket=self.bucket, Prefix=f"t/{tenant}/").get("Contents", [])
        assert len(objects) < 1000
        return sum(metering.item_size(item) for item in self.items(tenant)) + sum(o["Size"] for o in objects)


@contextmanager
def running_rig(folder: Path) -> Iterator[Rig]:
    """A rig on an engine of its own, for as long as the block lasts."""
    with running_engine(folder) as engine:
        yield Rig(engine.url)


def said(text: str, *, id: str | None = None, role: str = "user") -> EventDraft:
    """A draft of plain text."""
    return EventDraft(Message.of({"role": role, "content": text}), id=id)


def prose(seed: int, size: int) -> str:
    """Text of the standard workload's kind: it deflates much as English does."""
    return str(workload.text(workload.Lcg(seed), size))
