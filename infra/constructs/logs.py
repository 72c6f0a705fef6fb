"""Log groups that forget."""

from __future__ import annotations

from aws_cdk import RemovalPolicy
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

RETENTION = {
    1: logs.RetentionDays.ONE_DAY,
    7: logs.RetentionDays.ONE_WEEK,
    14: logs.RetentionDays.TWO_WEEKS,
    30: logs.RetentionDays.ONE_MONTH,
    90: logs.RetentionDays.THREE_MONTHS,
    180: logs.RetentionDays.SIX_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
}


def log_group(scope: Construct, construct_id: str, retention_days: int, key: kms.IKey | None) -> logs.LogGroup:
    """A log group that goes with its stack: nothing is left behind that nobody pays attention to.
    Without ``key`` CloudWatch Logs encrypts with a key of its own."""
    return logs.LogGroup(
        scope,
        construct_id,
        retention=RETENTION[retention_days],
        encryption_key=key,
        removal_policy=RemovalPolicy.DESTROY,
    )
