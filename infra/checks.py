"""cdk-nag over the stacks, and what of its findings we have looked at and keep.

The checks run whenever templates are written for people (``make synth``, ``make deploy``), not at
``make run``: they take longer than everything else that it does. A finding that is not listed
here, like one that is listed and does not occur any more, fails a test.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from infra.routes import ROUTES
from infra.settings import Models, base_model

if TYPE_CHECKING:
    from aws_cdk import App

PACK = "AwsSolutions"


class ChecksFailed(RuntimeError):
    """cdk-nag found something that is not accepted; the message says what and where."""


@dataclass(frozen=True)
class Accepted:
    """A finding that stays: the construct's path below its stack, the rule, and why."""

    path: str
    rule: str
    reason: str

    @property
    def id(self) -> str:
        """The rule, as the CDK wants it to be acknowledged."""
        return f"{PACK}::{PACK}-{self.rule}"


BUCKET = "Storage:ExportsOutputFnGetAttBodyBucket96CB3252Arn9DE7C9CF"
PUBLIC_REASON = "Public on purpose: it tells nothing of any session, and has a rate limit of its own."
DEFAULT_REASON = "Answers 404 to every path that does not exist, and reads nothing to do so."


TENANTS_REASON = "The keys below it are those of all tenants; which one a request may name is decided from its token."
RUNTIME_REASON = "The runtime is the one that the layers are built and tested for; it is raised together with them."
ALL_TENANTS_REASON = "The keys below it are those of all tenants, for whose sessions it works."
MODEL_REASON = "A model that the stage's settings name; Bedrock answers from any region of a profile's area."
SECRET_REASON = "A secret that the stage's settings name; Secrets Manager adds six characters to the name."
FUNCTIONS = ("SessionApi", "Compaction/Worker", "Compaction/Steps")


def accepted(stage_prefix: str, models: Models = MappingProxyType({})) -> tuple[Accepted, ...]:
    """Every finding that stays, in every stage; ``stage_prefix`` begins the names of its stacks."""
    role = "{}/Role/DefaultPolicy/Resource"
    api, worker, steps = (role.format(name) for name in ("SessionApi/Function", *FUNCTIONS[1:]))
    objects = [
        Accepted(path, f"IAM5[Resource::{stage_prefix}-{BUCKET}/{prefix}/*]", reason)
        for path, prefix, reason in (
            (api, "t", TENANTS_REASON),
            (api, "l", TENANTS_REASON),
            (worker, "t", ALL_TENANTS_REASON),
            (steps, "t", ALL_TENANTS_REASON),
            (steps, "l", ALL_TENANTS_REASON),
        )
    ]
    compaction = (
        Accepted(worker, "IAM5[Resource::*]", "dynamodb:ListStreams takes no resource, and Lambda asks for it."),
        Accepted(
            "Compaction/Machine/Role/DefaultPolicy/Resource",
            "IAM5[Resource::*]",
            'The delivery of logs to CloudWatch, and X-Ray, take no resource (Step Functions guide, "Logging").',
        ),
        Accepted("Compaction/OnFailure/Resource", "SQS3", "It is where failures go: nothing works messages off it."),
        *(Accepted(steps, f"IAM5[Resource::{arn}]", MODEL_REASON) for arn in _wild_models(models)),
        *(Accepted(steps, f"IAM5[Resource::{arn}]", SECRET_REASON) for arn in _wild_secrets(models)),
    )
    public = [
        Accepted(f"HttpApi/Route {method} |v1{route.path.replace('/', '|')}", "APIG4", PUBLIC_REASON)
        for route in ROUTES
        if route.is_public
        for method in (route.method, "ANY")
    ]
    return (
        Accepted(
            "BodyBucket/Bucket/Resource",
            "S1",
            "Access logs would hold the names of sessions and need a bucket that nobody reads; CloudTrail data events "
            "tell the same, and can be switched on for it (docs/operations.md).",
        ),
        *objects,
        *compaction,
        *(
            Accepted(f"{name}/Function/Resource", "L1", RUNTIME_REASON)
            for name in ("SessionApi/Function", *FUNCTIONS[1:])
        ),
        Accepted("HttpApi/Route $default", "APIG4", DEFAULT_REASON),
        *public,
    )


def _wild_models(models: Models) -> set[str]:
    """The wildcards that the models of Bedrock bring, as cdk-nag writes them."""
    names = (str(spec["model"]) for spec in models.values() if spec["provider"] == "bedrock")
    return {f"arn:<AWS::Partition>:bedrock:*::foundation-model/{base_model(n)}" for n in names if n[:4] != "arn:"}


def _wild_secrets(models: Models) -> set[str]:
    names = (str(spec["secret"]) for spec in models.values() if spec.get("secret"))
    place = "arn:<AWS::Partition>:secretsmanager:<AWS::Region>:<AWS::AccountId>:secret"
    return {f"{place}:{name}-??????" for name in names if name[:4] != "arn:"}


def check(app: App, stage_prefix: str, models: Models = MappingProxyType({}), *, keep: bool = True) -> None:
    """Let cdk-nag look at the app when it is synthesised: a finding that is not accepted makes
    that fail. ``keep`` False accepts none."""
    from aws_cdk import Acknowledgment, Validations  # noqa: PLC0415 - starts Node
    from cdk_nag import AwsSolutionsChecks  # noqa: PLC0415

    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    if not keep:
        return
    known = accepted(stage_prefix, models)
    for construct in app.node.find_all():
        path = construct.node.path.partition("/")[2]
        for finding in known:
            if finding.path == path:
                Validations.of(construct).acknowledge(Acknowledgment(id=finding.id, reason=finding.reason))


def synthesise(app: App) -> None:
    """Write the templates.

    Raises:
        ChecksFailed: there are findings.
    """
    try:
        app.synth()
    except RuntimeError as error:
        if "ValidationFailed" not in str(error):
            raise
        raise ChecksFailed("cdk-nag has findings that infra/checks.py does not accept") from None
