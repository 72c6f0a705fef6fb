"""docs/operations.md: its runbook, carried out on a running stack from the first block to the last."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.snippets import Block, blocks, run, shows
from tests.support.stack import LocalStack
from tests.support.tree import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("local-stack")]

RUNBOOK = blocks((ROOT / "docs/operations.md").read_text(encoding="utf-8"))

BEFORE = Block(
    "python",
    """
import random

from turnlog.client import Client, NotFound, user

client = Client.from_local()
noise = "".join(random.Random(1).choices("0123456789abcdefghijklmnopqrstuvwxyz", k=100_000))
kept = client.session()
kept.append(user("in the table"), user(noise), create_if_missing=True)
""",
)
AFTER = Block(
    "python",
    """
def partition(table, session_id):
    return dynamodb.query(
        TableName=table,
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": {"S": session_pk("local", session_id)}},
    )["Items"]


later = client.session()
later.append(user("after the restore"), create_if_missing=True)
print("seen:", [len(event.message.text) for event in kept.events()])
print("written to:", [bool(partition(name, later.id)) for name in (table, restored)])

names = [lambda_.get_function_configuration(FunctionName=one)["Environment"]["Variables"] for one in functions]
print("functions:", len(names), {one["TURNLOG_TABLE"] == restored for one in names})
stream_of = dynamodb.describe_table(TableName=restored)["Table"]["LatestStreamArn"]
(copy,) = lambda_.list_event_source_mappings(EventSourceArn=stream_of)["EventSourceMappings"]
(first,) = [
    one for one in lambda_.list_event_source_mappings(FunctionName=copy["FunctionArn"])["EventSourceMappings"]
    if one["UUID"] != second
]
own = {"UUID", "EventSourceArn", "EventSourceMappingArn", "LastModified", "StateTransitionReason", "ResponseMetadata"}
same = [{name: value for name, value in one.items() if name not in own} for one in (copy, first)]
print("mapping:", copy["UUID"] == second, same[0] == same[1] or same)

point_to(table)
lambda_.delete_event_source_mapping(UUID=second)
kept.delete()
try:
    list(kept.events())
except NotFound:
    print("deleted")
print("brought back:", bring_back("local", kept.id) == len(partition(restored, kept.id)))
print("seen:", [len(event.message.text) for event in kept.events()])

s3 = boto3.client("s3")
for tenant in ("a:b", "a:bc"):
    dynamodb.put_item(TableName=table, Item={"pk": {"S": session_pk(tenant, "s")}, "sk": {"S": "E#1"}})
    for prefix in ("t", "t", "l"):
        s3.put_object(Bucket=bucket, Key=f"{prefix}/{encode(tenant)}/s/s/1/body", Body=b"text")


def stored(tenant):
    prefixes = [f"{prefix}/{encode(tenant)}/" for prefix in "tl"]
    listed = [s3.list_object_versions(Bucket=bucket, Prefix=prefix) for prefix in prefixes]
    return [len(found.get(kind, [])) for found in listed for kind in ("Versions", "DeleteMarkers")]


print("stored:", stored("a:b"))
print("forgotten:", forget("a:b"), stored("a:b"), forget("a:b"))
print("its neighbour:", stored("a:bc"), forget("a:bc"))
""",
)
CLEAN_UP = Block(
    "python",
    """
dynamodb.update_table(TableName=restored, DeletionProtectionEnabled=False)
dynamodb.delete_table(TableName=restored)
client.close()
""",
)


@pytest.fixture
def environment(stack: LocalStack) -> dict[str, str]:
    """That of somebody who operates the stack: credentials, and where the engine is."""
    return stack.environment(
        NO_PROXY="127.0.0.1",
        no_proxy="127.0.0.1",
        TURNLOG_STAGE="local",
        AWS_ENDPOINT_URL=stack.ready["endpoint_url"],
        AWS_ACCESS_KEY_ID="test",
        AWS_SECRET_ACCESS_KEY="test",
        AWS_DEFAULT_REGION="us-east-1",
        AWS_ACCOUNT_ID_ENDPOINT_MODE="disabled",
    )


def test_the_runbook_restores_checks_points_and_brings_back(checkout: Path, environment: dict[str, str]) -> None:
    """The function works on the restored table and on nothing else, and on its own again; a deleted session comes back
    with its large body; a tenant's data goes and its neighbour's stays."""
    *printed, seen, _ = run([BEFORE, *RUNBOOK, AFTER, CLEAN_UP], folder=checkout, environment=environment)

    for block, text in zip(RUNBOOK, printed[1:], strict=True):
        assert shows(block.prints or "", text), f"{block.code}\nprinted\n{text}"
    assert seen.splitlines() == [
        "seen: [12, 100000]",
        "written to: [False, True]",
        "functions: 3 {True}",
        "mapping: True True",
        "deleted",
        "brought back: True",
        "seen: [12, 100000]",
        "stored: [2, 0, 1, 0]",
        "forgotten: (1, []) [0, 0, 0, 0] (0, [])",
        "its neighbour: [2, 0, 1, 0] (1, [])",
    ]
