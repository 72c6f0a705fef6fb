"""What must outlive every deployment: the table and the bucket."""

from __future__ import annotations

from aws_cdk import CfnOutput, Stack
from constructs import Construct

from infra.constructs.body_bucket import BodyBucket
from infra.constructs.session_table import SessionTable
from infra.constructs.stage_key import StageKey
from infra.settings import Settings
from infra.stacks.synthesizer import synthesizer


class StorageStack(Stack):
    """The stateful stack. ``table``, ``bodies`` and ``key`` are for the other stacks to use; ``key``
    is None where AWS holds the keys."""

    def __init__(self, scope: Construct, *, settings: Settings) -> None:
        super().__init__(
            scope,
            f"{settings.stack_prefix}-Storage",
            description="Turnlog: the session table and the bucket for large bodies",
            synthesizer=synthesizer(settings),
            termination_protection=settings.keeps_data,
        )
        self.key = StageKey(self, "StageKey") if settings.encryption == "kms" else None
        key = None if self.key is None else self.key.key
        self.table = SessionTable(self, "SessionTable", keeps_data=settings.keeps_data, key=key)
        self.bodies = BodyBucket(
            self, "BodyBucket", keeps_data=settings.keeps_data, noncurrent_days=settings.noncurrent_days, key=key
        )
        CfnOutput(self, "TableName", value=self.table.table.table_name, description="The session table")
        CfnOutput(self, "BucketName", value=self.bodies.bucket.bucket_name, description="The bucket for large bodies")
