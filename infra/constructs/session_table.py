"""The one table."""

from __future__ import annotations

from typing import ClassVar

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from constructs import Construct

STRING = dynamodb.AttributeType.STRING


class SessionTable(Construct):
    """Sessions, commits, passes and lists in one table (DESIGN 4).

    Both indexes hold session-list entries only: nothing else carries ``gpk``.
    """

    INDEXES: ClassVar[dict[str, str]] = {"by_created": "created", "by_activity": "activity"}
    """Name and sort key of the indexes over ``gpk``."""

    ITEM_ACTIONS: ClassVar[tuple[str, ...]] = (
        "dynamodb:GetItem",
        "dynamodb:BatchGetItem",
        "dynamodb:Query",
        "dynamodb:PutItem",
        "dynamodb:UpdateItem",
        "dynamodb:DeleteItem",
    )
    """What the store can need of the table. No Scan: a function only ever reads keys that it can name."""

    CHECK_ACTION: ClassVar[str] = "dynamodb:ConditionCheckItem"
    """What the strict form of a pass (``If-Match``) needs besides: that the next slot is still free."""

    RECOVERY_DAYS: ClassVar[int] = 35
    """How far back the table can be restored: DynamoDB's most."""

    def __init__(self, scope: Construct, construct_id: str, *, keeps_data: bool, key: kms.IKey | None) -> None:
        super().__init__(scope, construct_id)
        self.table = dynamodb.Table(
            self,
            "Table",
            partition_key=dynamodb.Attribute(name="pk", type=STRING),
            sort_key=dynamodb.Attribute(name="sk", type=STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True, recovery_period_in_days=self.RECOVERY_DAYS
            ),
            encryption=dynamodb.TableEncryption.DEFAULT if key is None else dynamodb.TableEncryption.CUSTOMER_MANAGED,
            encryption_key=key,
            stream=dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
            time_to_live_attribute="expires",
            deletion_protection=keeps_data,
            removal_policy=RemovalPolicy.RETAIN if keeps_data else RemovalPolicy.DESTROY,
        )
        for name, sort_key in self.INDEXES.items():
            self.table.add_global_secondary_index(
                index_name=name,
                partition_key=dynamodb.Attribute(name="gpk", type=STRING),
                sort_key=dynamodb.Attribute(name=sort_key, type=STRING),
                projection_type=dynamodb.ProjectionType.KEYS_ONLY,
            )

    @property
    def index_arns(self) -> list[str]:
        """The ARNs of the indexes, for grants."""
        return [self.index_arn(name) for name in self.INDEXES]

    def index_arn(self, name: str) -> str:
        """The ARN of one index."""
        return f"{self.table.table_arn}/index/{name}"
