"""What the local engine leaves out of a deployment, made good through its public APIs.

Each entry has a test in tests/integration/test_engine_gaps.py that fails as soon as the engine no longer needs it.
"""

from typing import Any

from infra.local.deployment import Target

EXPIRY_ATTRIBUTE = "expires"


def enable_expiry(target: Target, table: str) -> None:
    """Turn time to live on: the engine's CloudFormation drops `TimeToLiveSpecification` in silence."""
    dynamodb: Any = target.client("dynamodb")
    status = dynamodb.describe_time_to_live(TableName=table)["TimeToLiveDescription"]["TimeToLiveStatus"]
    if status not in ("ENABLED", "ENABLING"):
        dynamodb.update_time_to_live(
            TableName=table,
            TimeToLiveSpecification={"Enabled": True, "AttributeName": EXPIRY_ATTRIBUTE},
        )
