"""The account's own key, for those who want to hold it."""

from __future__ import annotations

from typing import ClassVar

from aws_cdk import RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct


class StageKey(Construct):
    """One customer-managed key for everything of a stage: table, bucket, logs, alarms.

    Rotated each year, and kept when its stack goes: without it nothing can be read again.
    """

    USES: ClassVar[tuple[str, ...]] = (
        "kms:Decrypt",
        "kms:DescribeKey",
        "kms:Encrypt",
        "kms:GenerateDataKey",
        "kms:ReEncryptFrom",
        "kms:ReEncryptTo",
    )
    """What DynamoDB and S3 do with the key on behalf of the function (DynamoDB developer guide,
    "Authorizing use of your customer managed key"; S3 user guide, "Using SSE-KMS")."""

    def __init__(self, scope: Construct, construct_id: str) -> None:
        super().__init__(scope, construct_id)
        self.key = kms.Key(
            self,
            "Key",
            description="Turnlog: table, bucket, logs and alarms",
            enable_key_rotation=True,
            removal_policy=RemovalPolicy.RETAIN,
        )
        self._let_logs_use_it()
        self._let_alarms_use_it()

    @property
    def used_through(self) -> dict[str, list[str]]:
        """A condition for grants: the key is used by these services for the function, and the
        function by itself can do nothing with it."""
        stack = Stack.of(self)
        return {"kms:ViaService": [f"{name}.{stack.region}.{stack.url_suffix}" for name in ("dynamodb", "s3")]}

    def _let_logs_use_it(self) -> None:
        """Only for log groups of this account (CloudWatch Logs user guide, "Encrypt log data")."""
        stack = Stack.of(self)
        groups = f"arn:{stack.partition}:logs:{stack.region}:{stack.account}:log-group:*"
        self.key.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal(f"logs.{stack.region}.{stack.url_suffix}")],
                actions=["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"],
                resources=["*"],
                conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": groups}},
            )
        )

    def _let_alarms_use_it(self) -> None:
        """CloudWatch publishes to the encrypted topic (SNS developer guide, "Setting up Amazon SNS
        topic encryption")."""
        self.key.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["kms:Decrypt", "kms:GenerateDataKey*"],
                resources=["*"],
                conditions={"StringEquals": {"aws:SourceAccount": Stack.of(self).account}},
            )
        )
