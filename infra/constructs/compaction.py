"""Compaction: the worker behind the table's stream, the steps of summarising, and the machine that takes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from aws_cdk import Duration, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from infra.assets import Assets
from infra.constructs.body_bucket import BodyBucket
from infra.constructs.logs import log_group
from infra.constructs.python_function import PythonFunction
from infra.constructs.python_layer import PythonLayer
from infra.constructs.session_table import SessionTable
from infra.constructs.stage_key import StageKey
from infra.settings import Settings, base_model

DEFINITION = Path(__file__).resolve().parent.parent / "state_machines" / "compaction.asl.json"

SWEEP = {"turnlog": "sweep"}

FILTERS: tuple[dict[str, Any], ...] = (
    {"eventName": ["INSERT"], "dynamodb": {"NewImage": {"due": {"BOOL": [True]}}}},
    {
        "eventName": ["MODIFY"],
        "dynamodb": {"Keys": {"sk": {"S": ["~"]}}, "NewImage": {"due": {"BOOL": [True]}}},
    },
)
"""Commits whose append made the policy's trigger fire, and heads whose new policy does: nothing else
invokes the worker."""


class Compaction(Construct):
    """``machine_arn`` is for who starts summaries, ``worker``, ``steps``, ``machine`` and ``queue`` for
    the alarms to watch."""

    WORKER_TIMEOUT_SECONDS: ClassVar[int] = 60
    STEPS_TIMEOUT_SECONDS: ClassVar[int] = 300
    """A step asks a model once, for up to 240 seconds."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        assets: Assets,
        layers: Sequence[PythonLayer],
        table: SessionTable,
        bodies: BodyBucket,
        key: StageKey | None,
        settings: Settings,
    ) -> None:
        super().__init__(scope, construct_id)
        self._settings = settings
        self._assets = assets
        self._layers = layers
        self._table = table
        self._bodies = bodies
        self._key = key
        self._steps = self._function("Steps", "compaction_steps", "the steps of a summary", self.STEPS_TIMEOUT_SECONDS)
        self._let_models_be_asked()
        self.machine = self._machine()
        self._worker = self._function("Worker", "compaction_worker", "due compactions", self.WORKER_TIMEOUT_SECONDS)
        self._worker.function.add_environment("TURNLOG_COMPACTION_MACHINE", self.machine.state_machine_arn)
        self._worker.allow(["states:StartExecution"], [self.machine.state_machine_arn])
        self._worker.allow(["dynamodb:Query"], [table.index_arn("by_created")])
        self.queue = self._on_failure()
        self._follow_the_stream()
        self._sweep()

    @property
    def worker(self) -> lambda_.Function:
        """The function behind the stream."""
        return self._worker.function

    @property
    def steps(self) -> lambda_.Function:
        """The function behind the state machine."""
        return self._steps.function

    @property
    def machine_arn(self) -> str:
        """The state machine, for who starts executions."""
        return self.machine.state_machine_arn

    # ------------------------------------------------------------------ parts

    def _function(self, construct_id: str, name: str, what: str, timeout_seconds: int) -> PythonFunction:
        settings, key = self._settings, self._key
        made = PythonFunction(
            self,
            construct_id,
            asset=self._assets.function(name, settings.target),
            handler=f"{name}.handler.lambda_handler",
            description=f"Turnlog: {what}",
            layers=self._layers,
            environment={
                "TURNLOG_STAGE": settings.stage,
                "TURNLOG_TABLE": self._table.table.table_name,
                "TURNLOG_BUCKET": self._bodies.bucket.bucket_name,
                **settings.compaction_environment,
                "POWERTOOLS_SERVICE_NAME": name,
                "POWERTOOLS_METRICS_NAMESPACE": "Turnlog",
                "POWERTOOLS_LOG_LEVEL": settings.log_level,
            },
            settings=settings,
            key=None if key is None else key.key,
            timeout_seconds=timeout_seconds,
        )
        made.allow(self._table.ITEM_ACTIONS, [self._table.table.table_arn])
        made.allow(["s3:GetObject"], [self._bodies.bodies_arn])
        if key is not None:
            made.allow(key.USES, [key.key.key_arn], only=key.used_through)
        return made

    def _let_models_be_asked(self) -> None:
        self._steps.allow([self._table.CHECK_ACTION], [self._table.table.table_arn])
        self._steps.allow(["s3:GetObject", "s3:PutObject"], [self._bodies.links_arn])
        models = sorted({arn for spec in self._settings.models.values() for arn in _model_arns(self, spec)})
        if models:
            self._steps.allow(["bedrock:InvokeModel"], models)
        secrets = sorted(
            {_secret_arn(self, spec["secret"]) for spec in self._settings.models.values() if spec.get("secret")}
        )
        if secrets:
            self._steps.allow(["secretsmanager:GetSecretValue"], secrets)

    def _machine(self) -> sfn.StateMachine:
        logs = log_group(self, "MachineLogs", self._settings.log_retention_days, self._kms)
        machine = sfn.StateMachine(
            self,
            "Machine",
            definition_body=sfn.DefinitionBody.from_string(DEFINITION.read_text(encoding="utf-8")),
            definition_substitutions={"Steps": self._steps.function.function_arn},
            comment="Turnlog: a summarising compaction",
            logs=sfn.LogOptions(destination=logs, level=sfn.LogLevel.ALL, include_execution_data=False),
            tracing_enabled=True,
        )
        invoke = iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=[self._steps.function.function_arn])
        machine.add_to_role_policy(invoke)
        return machine

    def _on_failure(self) -> sqs.Queue:
        """Where batches go that could not be worked off (docs/operations.md). Its messages name records by
        their numbers and hold nothing of them, so AWS's own key will do in any case."""
        queue = sqs.Queue(
            self,
            "OnFailure",
            retention_period=Duration.days(14),
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
        )
        self._worker.allow(["sqs:SendMessage"], [queue.queue_arn])
        return queue

    def _follow_the_stream(self) -> None:
        stream = self._table.table.table_stream_arn
        assert stream is not None
        actions = ["dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator"]
        self._worker.allow(actions, [stream])
        self._worker.allow(["dynamodb:ListStreams"], ["*"])  # it takes no resource
        mapping = lambda_.CfnEventSourceMapping(
            self,
            "Stream",
            function_name=self._worker.function.function_name,
            event_source_arn=stream,
            starting_position="TRIM_HORIZON",
            batch_size=100,
            maximum_batching_window_in_seconds=1,
            parallelization_factor=4,
            maximum_retry_attempts=6,
            maximum_record_age_in_seconds=6 * 3600,
            bisect_batch_on_function_error=True,
            function_response_types=["ReportBatchItemFailures"],
            filter_criteria=lambda_.CfnEventSourceMapping.FilterCriteriaProperty(
                filters=[
                    lambda_.CfnEventSourceMapping.FilterProperty(pattern=Stack.of(self).to_json_string(pattern))
                    for pattern in FILTERS
                ]
            ),
            destination_config=lambda_.CfnEventSourceMapping.DestinationConfigProperty(
                on_failure=lambda_.CfnEventSourceMapping.OnFailureProperty(destination=self.queue.queue_arn)
            ),
            enabled=self._settings.follows_streams,
        )
        # Lambda looks whether the role may read the stream when the mapping is made.
        mapping.node.add_dependency(self._worker.role)

    def _sweep(self) -> None:
        """Tries whose time has come, and executions that never came back. (The CDK's own rule names the
        permission by the stack, and so by the stage.)"""
        rule = events.CfnRule(
            self,
            "Sweep",
            description="Turnlog: compactions to try again",
            schedule_expression="rate(5 minutes)",
            targets=[
                events.CfnRule.TargetProperty(
                    id="worker",
                    arn=self._worker.function.function_arn,
                    input=Stack.of(self).to_json_string(SWEEP),
                    retry_policy=events.CfnRule.RetryPolicyProperty(maximum_retry_attempts=1),
                )
            ],
        )
        lambda_.CfnPermission(
            self,
            "SweepPermission",
            action="lambda:InvokeFunction",
            function_name=self._worker.function.function_arn,
            principal="events.amazonaws.com",
            source_arn=rule.attr_arn,
        )

    @property
    def _kms(self) -> kms.IKey | None:
        return None if self._key is None else self._key.key


def _model_arns(scope: Construct, spec: dict[str, Any]) -> list[str]:
    """What asking a model of Bedrock needs: the model, and for an inference profile, which begins with
    the area that it spreads over, the profile and the model in every region of that area (Bedrock user
    guide, "Prerequisites for inference profiles")."""
    if spec["provider"] != "bedrock":
        return []
    stack, model = Stack.of(scope), spec["model"]
    if model.startswith("arn:"):
        return [model]
    base = base_model(model)
    foundation = f"arn:{stack.partition}:bedrock:*::foundation-model/{base}"
    if base == model:
        return [foundation]
    return [foundation, f"arn:{stack.partition}:bedrock:{stack.region}:{stack.account}:inference-profile/{model}"]


def _secret_arn(scope: Construct, secret: str) -> str:
    """A secret by its ARN, or by its name, to whose ARN Secrets Manager adds six characters."""
    stack = Stack.of(scope)
    if secret.startswith("arn:"):
        return secret
    return f"arn:{stack.partition}:secretsmanager:{stack.region}:{stack.account}:secret:{secret}-??????"
