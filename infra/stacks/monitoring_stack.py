"""What watches over the other stacks."""

from __future__ import annotations

from aws_cdk import CfnOutput, Stack
from constructs import Construct

from infra.constructs.monitoring import Metrics, Monitoring
from infra.settings import Settings
from infra.stacks.service_stack import ServiceStack
from infra.stacks.storage_stack import StorageStack
from infra.stacks.synthesizer import synthesizer


class MonitoringStack(Stack):
    """Alarms and the dashboard. Apart from the service, so that neither waits for the other."""

    def __init__(self, scope: Construct, *, settings: Settings, storage: StorageStack, service: ServiceStack) -> None:
        super().__init__(
            scope,
            f"{settings.stack_prefix}-Monitoring",
            description="Turnlog: alarms and the dashboard",
            synthesizer=synthesizer(settings),
        )
        metrics = Metrics(
            api_id=service.api.api_id,
            function=service.function,
            table=storage.table.table,
            compaction=service.compaction,
            timeout_seconds=settings.timeout_seconds,
        )
        key = None if storage.key is None else storage.key.key
        monitoring = Monitoring(self, "Monitoring", metrics=metrics, settings=settings, key=key)
        CfnOutput(self, "AlarmTopicArn", value=monitoring.topic.topic_arn, description="Where alarms are published")
