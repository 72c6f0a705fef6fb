"""Deploys a synthesised CDK app into the local engine, through the same public APIs that the cloud has."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from infra.local.assembly import Assembly, File, Template
from infra.local.engine import REGION
from infra.local.environments import Say

API_ID = "turnlog"
CUSTOM_ID_TAG = "ms-custom-id"
"""The engine gives an HTTP API that carries this tag the tag's value as its id: the URL stays the same, even after
`FRESH=1` or a crash of the engine."""

Service = Literal["cloudformation", "dynamodb", "dynamodbstreams", "lambda", "s3", "secretsmanager", "sqs"]

STACK_SECONDS = 120.0
FAILED_TO_CREATE = ("CREATE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED")


class DeploymentError(Exception):
    """A stack did not deploy; the text holds the engine's reasons."""


@dataclass(frozen=True, slots=True)
class Resources:
    """The physical ids of everything that was deployed: type, logical id and physical id."""

    entries: Sequence[tuple[str, str, str]]

    def the_only(self, kind: str) -> str:
        """The physical id of the one resource of this CloudFormation type.

        Raises:
            DeploymentError: there is none, or more than one.
        """
        found = self.all_of(kind)
        if len(found) != 1:
            raise DeploymentError(f"expected one {kind} in the stacks, found {len(found)}")
        return found[0]

    def all_of(self, kind: str) -> list[str]:
        """The physical ids of all resources of this CloudFormation type."""
        return [physical for found, _, physical in self.entries if found == kind]


@dataclass(frozen=True, slots=True)
class Target:
    """The engine, as boto3 clients see it. Nothing of the caller's own AWS configuration is used."""

    endpoint_url: str
    session: boto3.Session = field(
        default_factory=lambda: boto3.Session(
            aws_access_key_id="test", aws_secret_access_key="test", region_name=REGION
        )
    )

    def client(self, service: Service) -> Any:
        """A client of `service` that talks to the engine and to nobody else, past any proxy."""
        config = Config(
            proxies={},
            s3={"addressing_style": "path"},
            retries={"total_max_attempts": 3},
            account_id_endpoint_mode="disabled",
        )
        return self.session.client(service, endpoint_url=self.endpoint_url, config=config)


def deploy(assembly: Assembly, target: Target, say: Say) -> Resources:
    """Upload the assets that the engine does not have yet, then create or update each stack.

    Raises:
        DeploymentError: the engine refused a stack.
    """
    uploaded = _upload(list(assembly.files()), target)
    say(f"deploying ({uploaded} new assets)")
    entries: list[tuple[str, str, str]] = []
    for template in assembly.templates():
        _deploy_stack(template, target, say)
        entries += _resources(template.name, target)
    return Resources(entries)


def _upload(files: Sequence[File], target: Target) -> int:
    s3 = target.client("s3")
    for bucket in sorted({file.bucket for file in files}):
        if not _exists(s3.head_bucket, Bucket=bucket):
            s3.create_bucket(Bucket=bucket)
    missing = [file for file in files if not _exists(s3.head_object, Bucket=file.bucket, Key=file.key)]
    for file in missing:
        s3.put_object(Bucket=file.bucket, Key=file.key, Body=file.path.read_bytes())
    return len(missing)


def _exists(head: Callable[..., object], **name: str) -> bool:
    try:
        head(**name)
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] == 404:
            return False
        raise
    return True


def _deploy_stack(template: Template, target: Target, say: Say) -> None:
    cloudformation = target.client("cloudformation")
    request = {
        "StackName": template.name,
        # A template above 51,200 bytes is refused as a body (CloudFormation quota); without its spaces it is shorter.
        "TemplateBody": json.dumps(json.loads(template.path.read_text()), separators=(",", ":")),
        "Capabilities": ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"],
        "Tags": [{"Key": CUSTOM_ID_TAG, "Value": API_ID}],
    }
    status = _status(cloudformation, template.name)
    if status in FAILED_TO_CREATE:
        cloudformation.delete_stack(StackName=template.name)
        status = _settled(cloudformation, template.name)
    if status is None:
        cloudformation.create_stack(**request, OnFailure="DELETE")
    elif not _update(cloudformation, request):
        return
    status = _settled(cloudformation, template.name)
    if status not in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
        raise DeploymentError(
            f"stack {template.name} ended as {status or 'deleted'}:\n{_reasons(cloudformation, template.name)}"
        )
    say(f"  {template.name}: {status}")


def _update(cloudformation: Any, request: Mapping[str, Any]) -> bool:
    """Start an update; answers False when the stack is as the template wants it already."""
    try:
        cloudformation.update_stack(**request)
    except ClientError as error:
        if "No updates are to be performed" in str(error):
            return False
        raise DeploymentError(f"stack {request['StackName']} cannot be updated: {error}") from error
    return True


def _status(cloudformation: Any, name: str) -> str | None:
    """The stack's status, None when there is no such stack."""
    try:
        status: str = cloudformation.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"]
    except ClientError as error:
        if "does not exist" in str(error):
            return None
        raise
    return None if status == "DELETE_COMPLETE" else status


def _settled(cloudformation: Any, name: str) -> str | None:
    """Wait until the stack no longer changes, and answer its status."""
    deadline = time.monotonic() + STACK_SECONDS
    while time.monotonic() < deadline:
        status = _status(cloudformation, name)
        if status is None or not status.endswith("_IN_PROGRESS"):
            return status
        time.sleep(0.1)
    raise DeploymentError(f"stack {name} was still changing after {STACK_SECONDS:.0f} s")


def _reasons(cloudformation: Any, name: str) -> str:
    """What the stack's events say about what failed, the newest first."""
    try:
        events = cloudformation.describe_stack_events(StackName=name)["StackEvents"]
    except ClientError as error:
        return f"(its events cannot be read: {error})"
    failed = [event for event in events if event["ResourceStatus"].endswith("_FAILED")]
    return "\n".join(f"  {event['LogicalResourceId']}: {event.get('ResourceStatusReason', '')}" for event in failed)


def _resources(stack: str, target: Target) -> list[tuple[str, str, str]]:
    pages = target.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack)
    return [
        (entry["ResourceType"], entry["LogicalResourceId"], entry["PhysicalResourceId"])
        for page in pages
        for entry in page["StackResourceSummaries"]
    ]
