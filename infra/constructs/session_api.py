"""The function behind the HTTP API."""

from __future__ import annotations

from collections.abc import Sequence

from constructs import Construct

from infra.bundle import Asset
from infra.constructs.body_bucket import BodyBucket
from infra.constructs.python_function import PythonFunction
from infra.constructs.python_layer import PythonLayer
from infra.constructs.session_table import SessionTable
from infra.constructs.stage_key import StageKey
from infra.settings import Settings

BODY_ACTIONS = ("s3:GetObject", "s3:PutObject")
"""Also what the function may sign URLs for: a presigned URL allows no more than its signer may do."""


class SessionApi(Construct):
    """``session_api``: every route of the API, on the table and the bucket.

    ``function`` is for the gateway to call.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        asset: Asset,
        layers: Sequence[PythonLayer],
        table: SessionTable,
        bodies: BodyBucket,
        key: StageKey | None,
        machine_arn: str,
        settings: Settings,
    ) -> None:
        super().__init__(scope, construct_id)
        self._function = PythonFunction(
            self,
            "Function",
            asset=asset,
            handler="session_api.handler.lambda_handler",
            description="Turnlog: the session API",
            layers=layers,
            environment={
                **_environment(table, bodies, settings),
                **settings.compaction_environment,
                "TURNLOG_COMPACTION_MACHINE": machine_arn,
            },
            settings=settings,
            key=None if key is None else key.key,
        )
        self.function = self._function.function
        self._function.allow([*table.ITEM_ACTIONS, table.CHECK_ACTION], [table.table.table_arn])
        self._function.allow(["dynamodb:Query"], table.index_arns)
        self._function.allow(BODY_ACTIONS, [bodies.bodies_arn, bodies.links_arn])
        self._function.allow(["states:StartExecution"], [machine_arn])
        if key is not None:
            self._function.allow(key.USES, [key.key.key_arn], only=key.used_through)


def _environment(table: SessionTable, bodies: BodyBucket, settings: Settings) -> dict[str, str]:
    """What the function reads at its start. A variable without a value is left out."""
    variables = {
        "TURNLOG_STAGE": settings.stage,
        "TURNLOG_TABLE": table.table.table_name,
        "TURNLOG_BUCKET": bodies.bucket.bucket_name,
        "TURNLOG_TENANT_CLAIM": settings.tenant_claim,
        "TURNLOG_USER_CLAIM": settings.user_claim,
        "TURNLOG_ALLOW_SYSTEM_MESSAGES": "true" if settings.allow_system_messages else "false",
        "POWERTOOLS_SERVICE_NAME": "session_api",
        "POWERTOOLS_METRICS_NAMESPACE": "Turnlog",
        "POWERTOOLS_LOG_LEVEL": settings.log_level,
    }
    if settings.iam_principals:
        variables["TURNLOG_IAM_PRINCIPALS"] = settings.principals_json
    if settings.default_ttl_seconds is not None:
        variables["TURNLOG_DEFAULT_TTL_SECONDS"] = str(settings.default_ttl_seconds)
    return variables
