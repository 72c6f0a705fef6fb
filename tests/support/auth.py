"""The stack of `make run` on an engine that enforces IAM: every function has no more than its own role's policy.

The engine (`AUTH=true`) checks signatures, and evaluates the identity policies of whoever signed, for each request.
Its Lambda workers get a session of their function's role, as Lambda itself gives them one.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from infra.local import deployment, environments, gaps
from infra.local.assembly import Assembly, synthesise
from infra.local.deployment import Resources, Target
from infra.local.engine import ACCOUNT, REGION, Engine, EngineError, EngineFolder, free_port
from infra.local.home import Home
from infra.local.issuer import AUDIENCE, Issuer
from tests.support.engine import ROOT_KEY


class EnforcingFolder(EngineFolder):
    """The folder of an engine that enforces IAM."""

    def variables(self, port: int) -> dict[str, str]:
        """As for every engine, and the one switch."""
        return {**super().variables(port), "AUTH": "true"}


@dataclass(frozen=True)
class Credentials:
    """What a request is signed with. Without a session token: the engine's root, who may do everything."""

    key: str = ROOT_KEY
    secret: str = ROOT_KEY
    token: str | None = None

    def client(self, service: Any, endpoint_url: str) -> Any:
        """A client without retries; S3 buckets stand in the path and URLs are signed with `s3v4`."""
        config = Config(retries={"total_max_attempts": 1}, signature_version=None, proxies={})
        if service == "s3":
            config = config.merge(Config(signature_version="s3v4", s3={"addressing_style": "path"}))
        return boto3.client(
            service,
            endpoint_url=endpoint_url,
            region_name=REGION,
            aws_access_key_id=self.key,
            aws_secret_access_key=self.secret,
            aws_session_token=self.token,
            config=config,
        )


ROOT = Credentials()


@dataclass(frozen=True)
class EnforcedStack:
    """The local stage as `make run` deploys it, on an engine that enforces IAM."""

    engine_url: str
    issuer: Issuer
    assembly: Assembly
    resources: Resources
    bucket_policy: dict[str, Any]
    """What the template says of the bucket; on the engine it is dropped."""

    @property
    def url(self) -> str:
        """The base of the HTTP API, before `/v1`."""
        return f"{self.engine_url}/_aws/execute-api/{self.resources.the_only('AWS::ApiGatewayV2::Api')}/$default"

    @property
    def table(self) -> str:
        """The name of the table."""
        return self.resources.the_only("AWS::DynamoDB::Table")

    @property
    def bucket(self) -> str:
        """The name of the bucket."""
        return self.resources.the_only("AWS::S3::Bucket")

    @property
    def stream(self) -> str:
        """The label of the table's stream."""
        arn: str = self.root("dynamodb").describe_table(TableName=self.table)["Table"]["LatestStreamArn"]
        return arn.rpartition("/")[2]

    @property
    def machine(self) -> str:
        """The name of the state machine."""
        return self.resources.the_only("AWS::StepFunctions::StateMachine").rpartition(":")[2]

    @property
    def queue(self) -> str:
        """The name of the on-failure queue."""
        return self.resources.the_only("AWS::SQS::Queue").rpartition("/")[2].rpartition(":")[2]

    def root(self, service: Any) -> Any:
        """A client that may do everything."""
        return ROOT.client(service, self.engine_url)

    def assume(self, role_name: str) -> Credentials:
        """Credentials of a role, as Lambda would give them to a function that has it."""
        answer = self.root("sts").assume_role(
            RoleArn=f"arn:aws:iam::{ACCOUNT}:role/{role_name}", RoleSessionName="in-process"
        )["Credentials"]
        return Credentials(answer["AccessKeyId"], answer["SecretAccessKey"], answer["SessionToken"])

    def templates(self) -> list[dict[str, Any]]:
        """The templates as they were synthesised."""
        return [json.loads(template.path.read_text()) for template in self.assembly.templates()]


@contextmanager
def enforced_stack(folder: Path) -> Iterator[EnforcedStack]:
    """Deploy the stack below `folder`, as the runner of `make run` does, for as long as the block lasts."""
    home = Home(folder)
    issuer = Issuer.create(home, free_port())
    python = environments.ensure(environments.ENGINE, print)
    context = {
        "stage": "local",
        "issuer": issuer.url,
        "audience": AUDIENCE,
        "host_python": environments.version_of(environments.ENGINE),
        "models": {"scripted": {"provider": "scripted", "model": "facts", "window_tokens": 32000}},
    }
    assembly = synthesise(home.assembly, context, print)
    with issuer.serving():
        engine = _start(python, EnforcingFolder(home.state, persistent=False))
        try:
            target = Target(engine.url)
            resources = deployment.deploy(assembly, target, print)
            gaps.enable_expiry(target, resources.the_only("AWS::DynamoDB::Table"))
            policy = _without_tls(target, resources.the_only("AWS::S3::Bucket"))
            yield EnforcedStack(engine.url, issuer, assembly, resources, policy)
        finally:
            engine.stop()


def _without_tls(target: Target, bucket: str) -> dict[str, Any]:
    """Drop the bucket's policy, which keeps out who comes without TLS, and answer it: the engine speaks plain HTTP."""
    s3 = target.client("s3")
    policy: dict[str, Any] = json.loads(s3.get_bucket_policy(Bucket=bucket)["Policy"])
    for statement in policy["Statement"]:
        about = {key for condition in statement["Condition"].values() for key in condition}
        assert statement["Effect"] == "Deny", statement
        assert about <= {"aws:SecureTransport", "s3:TlsVersion"}, statement
    s3.delete_bucket_policy(Bucket=bucket)
    return policy


def _start(python: Path, folder: EngineFolder, attempts: int = 3) -> Engine:
    """Another program may take the free port before the engine does; then the next free one is tried."""
    for _ in range(attempts - 1):
        try:
            return Engine.start(python, folder, free_port())
        except EngineError as error:
            if "in use" not in str(error):
                raise
    return Engine.start(python, folder, free_port())
