"""Alarms, where they go, and a dashboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from infra.alarms import ALARMS, Alarm
from infra.constructs.compaction import Compaction
from infra.settings import Settings

NAMESPACE = "Turnlog"
"""Of the metrics that the functions write."""

MIN_REQUESTS = 100
"""Below this many requests in a period a rate of errors says nothing."""


class Metrics:
    """What is measured of one API, its function and its table."""

    OPERATIONS: ClassVar[tuple[dynamodb.Operation, ...]] = (
        dynamodb.Operation.GET_ITEM,
        dynamodb.Operation.BATCH_GET_ITEM,
        dynamodb.Operation.QUERY,
        dynamodb.Operation.PUT_ITEM,
        dynamodb.Operation.UPDATE_ITEM,
        dynamodb.Operation.DELETE_ITEM,
        dynamodb.Operation.TRANSACT_WRITE_ITEMS,
    )

    SERVICES: ClassVar[tuple[str, ...]] = ("session_api", "compaction_worker", "compaction_steps")
    """The functions, by the names under which they write metrics."""

    def __init__(
        self,
        *,
        api_id: str,
        function: lambda_.Function,
        table: dynamodb.Table,
        compaction: Compaction,
        timeout_seconds: int,
    ) -> None:
        self._api_id = api_id
        self._compaction = compaction
        self._function = function
        self._table = table
        self._timeout_seconds = timeout_seconds

    def api(self, name: str, statistic: str) -> cloudwatch.Metric:
        """A metric of the HTTP API."""
        dimensions = {"ApiId": self._api_id}
        return cloudwatch.Metric(
            namespace="AWS/ApiGateway", metric_name=name, dimensions_map=dimensions, statistic=statistic
        )

    def table(self, name: str, statistic: str = "Sum") -> cloudwatch.Metric:
        """A metric of the table alone; those of its indexes are kept apart by DynamoDB."""
        return self._table.metric(name, statistic=statistic, dimensions_map={"TableName": self._table.table_name})

    def function(self, name: str, statistic: str) -> cloudwatch.Metric:
        """A metric of the function."""
        return self._function.metric(name, statistic=statistic)

    def alarmed(self) -> Mapping[str, cloudwatch.IMetric]:
        """The metric of each alarm, by its name."""
        return {
            "api-errors": cloudwatch.MathExpression(
                expression=f"IF(requests >= {MIN_REQUESTS}, 100 * errors / requests, 0)",
                label="5xx in percent",
                using_metrics={"errors": self.api("5xx", "Sum"), "requests": self.api("Count", "Sum")},
            ),
            "api-latency": self.api("Latency", "p99"),
            "function-errors": self.function("Errors", "Sum"),
            "function-throttles": self.function("Throttles", "Sum"),
            "function-duration": cloudwatch.MathExpression(
                expression=f"longest / {self._timeout_seconds * 1000}",
                label="longest run, of the time limit",
                using_metrics={"longest": self.function("Duration", "Maximum")},
            ),
            "function-concurrency": self.function("ConcurrentExecutions", "Maximum"),
            "table-throttles": cloudwatch.MathExpression(
                expression="FILL(reads, 0) + FILL(writes, 0)",
                label="throttled reads and writes",
                using_metrics={"reads": self.table("ReadThrottleEvents"), "writes": self.table("WriteThrottleEvents")},
            ),
            "table-errors": self._table.metric_system_errors_for_operations(operations=list(self.OPERATIONS)),
            **self._of_compaction(),
            "compiled-at-start": cloudwatch.MathExpression(
                expression=" + ".join(f"FILL({name}, 0)" for name in self.SERVICES),
                label="modules compiled at a start",
                using_metrics={
                    name: cloudwatch.Metric(
                        namespace=NAMESPACE,
                        metric_name="CompiledAtStart",
                        dimensions_map={"service": name},
                        statistic="Sum",
                    )
                    for name in self.SERVICES
                },
            ),
        }

    def _of_compaction(self) -> dict[str, cloudwatch.IMetric]:
        """Age and depth tell that it does not keep up; the machine's own metrics, that models fail."""
        parts = self._compaction
        return {
            "compaction-age": parts.worker.metric("IteratorAge", statistic="Maximum"),
            "compaction-queue": parts.queue.metric_approximate_number_of_messages_visible(statistic="Maximum"),
            "compaction-errors": cloudwatch.MathExpression(
                expression="FILL(worker, 0) + FILL(steps, 0) + FILL(sessions, 0)",
                label="errors of compaction",
                using_metrics={
                    "worker": parts.worker.metric("Errors", statistic="Sum"),
                    "steps": parts.steps.metric("Errors", statistic="Sum"),
                    "sessions": cloudwatch.Metric(
                        namespace=NAMESPACE,
                        metric_name="CompactionErrors",
                        dimensions_map={"service": "compaction_worker"},
                        statistic="Sum",
                    ),
                },
            ),
            "compaction-summaries": cloudwatch.MathExpression(
                expression="FILL(failed, 0) + FILL(late, 0)",
                label="summaries that failed",
                using_metrics={
                    "failed": parts.machine.metric_failed(statistic="Sum"),
                    "late": parts.machine.metric_timed_out(statistic="Sum"),
                },
            ),
        }


class Monitoring(Construct):
    """An alarm for each entry of :data:`infra.alarms.ALARMS`, a topic for them unless one is named,
    and one dashboard."""

    def __init__(
        self, scope: Construct, construct_id: str, *, metrics: Metrics, settings: Settings, key: kms.IKey | None
    ) -> None:
        super().__init__(scope, construct_id)
        self.topic = self._topic(settings, key)
        action = actions.SnsAction(self.topic)
        measured = metrics.alarmed()
        alarms = [self._alarm(alarm, measured[alarm.name], action, settings.stack_prefix) for alarm in ALARMS]
        self._dashboard(settings.stack_prefix, metrics, alarms)

    def _topic(self, settings: Settings, key: kms.IKey | None) -> sns.ITopic:
        if settings.alarm_topic is not None:
            return sns.Topic.from_topic_arn(self, "Topic", settings.alarm_topic)
        topic = sns.Topic(self, "Topic", display_name="Turnlog alarms", master_key=key, enforce_ssl=True)
        if settings.alarm_email is not None:
            topic.add_subscription(subscriptions.EmailSubscription(settings.alarm_email))
        return topic

    def _alarm(
        self, alarm: Alarm, metric: cloudwatch.IMetric, action: actions.SnsAction, prefix: str
    ) -> cloudwatch.Alarm:
        made = cloudwatch.Alarm(
            self,
            alarm.name,
            alarm_name=f"{prefix}-{alarm.name}",
            alarm_description=alarm.description,
            metric=_with_period(metric, Duration.minutes(alarm.minutes)),
            threshold=alarm.threshold,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            datapoints_to_alarm=alarm.datapoints,
            evaluation_periods=alarm.periods,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        made.add_alarm_action(action)
        made.add_ok_action(action)
        return made

    def _dashboard(self, prefix: str, metrics: Metrics, alarms: Sequence[cloudwatch.Alarm]) -> None:
        by_route = f"SEARCH('{{{NAMESPACE},route,service,status}} MetricName=\"Requests\"', 'Sum')"
        latency_by_route = f"SEARCH('{{{NAMESPACE},route,service}} MetricName=\"Latency\"', 'p99')"
        compactions = f"SEARCH('{{{NAMESPACE},outcome,service}} MetricName=\"Compactions\"', 'Sum')"
        summaries = f"SEARCH('{{{NAMESPACE},outcome,service}} MetricName=\"Summaries\"', 'Sum')"
        failures = f"SEARCH('{{{NAMESPACE},reason,service}} MetricName=\"SummariesFailed\"', 'Sum')"
        cloudwatch.Dashboard(
            self,
            "Dashboard",
            dashboard_name=prefix,
            default_interval=Duration.hours(6),
            widgets=[
                [cloudwatch.AlarmStatusWidget(title="Alarms", alarms=list(alarms), width=24)],
                [
                    _graph("Requests", [metrics.api(name, "Sum") for name in ("Count", "4xx", "5xx")]),
                    _graph("Latency, ms", [metrics.api("Latency", statistic) for statistic in ("p50", "p99")]),
                    _graph(
                        "Function",
                        [
                            metrics.function("ConcurrentExecutions", "Maximum"),
                            metrics.function("Errors", "Sum"),
                            metrics.function("Throttles", "Sum"),
                        ],
                    ),
                ],
                [
                    _graph("Requests by route and status", [_found(by_route)]),
                    _graph("Latency by route, p99, ms", [_found(latency_by_route)]),
                    _graph(
                        "Table, units a minute",
                        [metrics.table("ConsumedReadCapacityUnits"), metrics.table("ConsumedWriteCapacityUnits")],
                    ),
                ],
                [
                    _graph("Compactions by outcome", [_found(compactions)]),
                    _graph("Summaries by outcome, and why they failed", [_found(summaries), _found(failures)]),
                    _graph(
                        "Compaction: age of the stream, ms; messages in the on-failure queue",
                        [metrics.alarmed()["compaction-age"], metrics.alarmed()["compaction-queue"]],
                    ),
                ],
            ],
        )


def _with_period(metric: cloudwatch.IMetric, period: Duration) -> cloudwatch.IMetric:
    if isinstance(metric, (cloudwatch.Metric, cloudwatch.MathExpression)):
        return metric.with_(period=period)
    return metric


def _found(expression: str) -> cloudwatch.MathExpression:
    return cloudwatch.MathExpression(expression=expression, label="", period=Duration.minutes(1))


def _graph(title: str, left: Sequence[cloudwatch.IMetric]) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(title=title, left=list(left), width=8, period=Duration.minutes(1))
