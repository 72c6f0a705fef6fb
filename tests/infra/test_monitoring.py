"""Alarms and the dashboard of the cloud stage."""

import json

import pytest

from infra.alarms import ALARMS, Alarm
from infra.constructs.monitoring import NAMESPACE
from tests.support.templates import Assembly, resources, the_only


def test_every_alarm_of_the_table_is_deployed_and_no_other(cloud: Assembly) -> None:
    deployed = {
        alarm["Properties"]["AlarmName"].removeprefix("Turnlog-cloud-"): alarm["Properties"]
        for alarm in resources(cloud.template("Monitoring"), "AWS::CloudWatch::Alarm")
    }
    assert {alarm.name for alarm in ALARMS} == set(deployed)
    for alarm in ALARMS:
        properties = deployed[alarm.name]
        assert (alarm.threshold, alarm.datapoints, alarm.periods) == (
            properties["Threshold"],
            properties["DatapointsToAlarm"],
            properties["EvaluationPeriods"],
        )
        assert alarm.description == properties["AlarmDescription"]
        assert "notBreaching" == properties["TreatMissingData"]
        assert "GreaterThanOrEqualToThreshold" == properties["ComparisonOperator"]


def test_an_alarm_tells_somebody_when_it_rings_and_when_it_stops(cloud: Assembly) -> None:
    template = cloud.template("Monitoring")
    (topic,) = (name for name, r in template["Resources"].items() if r["Type"] == "AWS::SNS::Topic")
    for alarm in resources(template, "AWS::CloudWatch::Alarm"):
        assert [{"Ref": topic}] == alarm["Properties"]["AlarmActions"] == alarm["Properties"]["OKActions"]


def test_every_metric_is_looked_at_in_periods_of_the_alarm(cloud: Assembly) -> None:
    """A metric inside an expression keeps a period of its own unless it is told."""
    for alarm in resources(cloud.template("Monitoring"), "AWS::CloudWatch::Alarm"):
        properties = alarm["Properties"]
        inner = [entry["MetricStat"] for entry in properties.get("Metrics", []) if "MetricStat" in entry]
        assert {300} == {entry["Period"] for entry in inner or [properties]}, properties["AlarmName"]


def test_metrics_are_those_of_this_api_this_function_and_this_table(cloud: Assembly) -> None:
    """An alarm on nothing never rings: each has the dimensions that AWS writes the metric with."""
    dimensions = {
        "AWS/ApiGateway": {"ApiId"},
        "AWS/Lambda": {"FunctionName"},
        "AWS/DynamoDB": {"TableName"},
        NAMESPACE: {"service"},
        "AWS/SQS": {"QueueName"},
        "AWS/States": {"StateMachineArn"},
    }
    seen = set()
    for alarm in resources(cloud.template("Monitoring"), "AWS::CloudWatch::Alarm"):
        properties = alarm["Properties"]
        metrics = [e["MetricStat"]["Metric"] for e in properties.get("Metrics", []) if "MetricStat" in e]
        for metric in metrics or [properties]:
            names = {dimension["Name"] for dimension in metric["Dimensions"]}
            per_operation = {"Operation"} if metric["MetricName"] == "SystemErrors" else set()
            assert dimensions[metric["Namespace"]] | per_operation == names, properties["AlarmName"]
            seen.add(metric["Namespace"])
    assert set(dimensions) == seen


def test_the_dashboard_is_json_and_shows_every_alarm(cloud: Assembly) -> None:
    body = the_only(cloud.template("Monitoring"), "AWS::CloudWatch::Dashboard")["Properties"]["DashboardBody"]
    text = "".join(part if isinstance(part, str) else "x" for part in body["Fn::Join"][1])
    widgets = json.loads(text)["widgets"]
    assert 10 == len(widgets)
    assert len(ALARMS) == len(widgets[0]["properties"]["alarms"])


def test_the_laptop_is_not_monitored(local: Assembly) -> None:
    assert not list(local.folder.glob("*Monitoring*"))


def test_a_mail_address_is_subscribed(secured: Assembly) -> None:
    subscription = the_only(secured.template("Monitoring"), "AWS::SNS::Subscription")["Properties"]
    assert ("email", "ops@example.com") == (subscription["Protocol"], subscription["Endpoint"])


def test_the_topic_takes_nothing_without_tls(cloud: Assembly) -> None:
    policy = the_only(cloud.template("Monitoring"), "AWS::SNS::TopicPolicy")["Properties"]["PolicyDocument"]
    assert {"Bool": {"aws:SecureTransport": "false"}} in [s.get("Condition") for s in policy["Statement"]]


@pytest.mark.parametrize("alarm", ALARMS, ids=lambda alarm: alarm.name)
def test_cloudwatch_takes_a_description_of_this_length(alarm: Alarm) -> None:
    """1,024 characters (CloudWatch API reference, PutMetricAlarm)."""
    assert len(alarm.description) <= 1024
