"""A Python function: the one place for runtime, role, logging and the shape of the code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.bundle import Asset
from infra.constructs.code import architecture, code, runtime
from infra.constructs.logs import log_group
from infra.constructs.python_layer import PythonLayer
from infra.settings import Settings


class PythonFunction(Construct):
    """A function with a role of its own, which may write to its own log group and nothing else.

    ``function``, ``role`` and ``log_group`` are for others to use; ``allow`` adds to the role. Without
    ``timeout_seconds`` it has the time of the API's function.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        asset: Asset,
        handler: str,
        description: str,
        layers: Sequence[PythonLayer],
        environment: Mapping[str, str],
        settings: Settings,
        key: kms.IKey | None,
        timeout_seconds: int | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.log_group = log_group(self, "Logs", settings.log_retention_days, key)
        # CDK's default role has a managed policy with every log group of the account in it.
        self._role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        self.allow(["logs:CreateLogStream", "logs:PutLogEvents"], [self.log_group.log_group_arn])
        self.function = lambda_.Function(
            self,
            "Function",
            code=code(asset),
            handler=handler,
            description=description,
            runtime=runtime(settings.target),
            architecture=architecture(settings.target),
            layers=[layer.version for layer in layers],
            environment=dict(environment),
            memory_size=settings.memory_mb,
            timeout=Duration.seconds(timeout_seconds or settings.timeout_seconds),
            role=self._role,
            log_group=self.log_group,
        )

    @property
    def role(self) -> iam.Role:
        """Whom the function acts as."""
        return self._role

    def allow(
        self, actions: Sequence[str], resources: Sequence[str], *, only: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """Let the function do these actions on these resources, and on no others. ``only`` holds
        condition keys, and the values that each must have one of."""
        conditions = {"StringEquals": {name: list(values) for name, values in only.items()}} if only else None
        statement = iam.PolicyStatement(actions=list(actions), resources=list(resources), conditions=conditions)
        self._role.add_to_policy(statement)
