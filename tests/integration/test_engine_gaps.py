"""Each work-around for the local engine is still needed, and still works.

When a test of the first class fails, the engine has learned the thing: remove the work-around that its message names.
"""

import json
from pathlib import Path

import pytest

from infra.local import environments, gaps
from infra.local.deployment import API_ID, CUSTOM_ID_TAG, Resources, Target
from infra.local.engine import Engine, EngineError, EngineFolder, free_port
from tests.support.engine import create_table, dynamodb_client, running_engine

pytestmark = pytest.mark.engine


@pytest.fixture
def target(engine: str) -> Target:
    return Target(engine)


class TestStillNeeded:
    def test_cloudformation_drops_time_to_live(self, target: Target) -> None:
        table = {
            "Type": "AWS::DynamoDB::Table",
            "Properties": {
                "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
                "TimeToLiveSpecification": {"AttributeName": gaps.EXPIRY_ATTRIBUTE, "Enabled": True},
            },
        }
        cloudformation = target.client("cloudformation")
        cloudformation.create_stack(StackName="expiry", TemplateBody=json.dumps({"Resources": {"Table": table}}))
        cloudformation.get_waiter("stack_create_complete").wait(StackName="expiry", WaiterConfig={"Delay": 1})
        name = cloudformation.describe_stack_resource(StackName="expiry", LogicalResourceId="Table")[
            "StackResourceDetail"
        ]["PhysicalResourceId"]
        status = target.client("dynamodb").describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        assert status["TimeToLiveStatus"] == "DISABLED", "remove gaps.enable_expiry: the engine takes it by template"

    def test_the_id_of_an_http_api_is_random_without_the_tag(self, target: Target) -> None:
        """And with the tag it is ours, through CloudFormation's stack tags, so that the URL can survive anything."""
        cloudformation = target.client("cloudformation")
        api = {"Type": "AWS::ApiGatewayV2::Api", "Properties": {"Name": "any", "ProtocolType": "HTTP"}}
        found = []
        for stack, tags in (("untagged", []), ("tagged", [{"Key": CUSTOM_ID_TAG, "Value": API_ID}])):
            cloudformation.create_stack(
                StackName=stack, TemplateBody=json.dumps({"Resources": {"Api": api}}), Tags=tags
            )
            cloudformation.get_waiter("stack_create_complete").wait(StackName=stack, WaiterConfig={"Delay": 1})
            resource = cloudformation.describe_stack_resource(StackName=stack, LogicalResourceId="Api")
            found.append(resource["StackResourceDetail"]["PhysicalResourceId"])
        assert found[0] != API_ID
        assert found[1] == API_ID


def test_expiry_is_enabled_once_and_for_all(target: Target) -> None:
    table = create_table(target.endpoint_url)
    gaps.enable_expiry(target, table)
    gaps.enable_expiry(target, table)  # AWS refuses to enable what is enabled: the second call must not try
    found = dynamodb_client(target.endpoint_url).describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    assert found == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires"}


class TestState:
    def test_a_persistent_engine_keeps_what_it_had_when_it_is_stopped(self, tmp_path: Path) -> None:
        with running_engine(tmp_path, persistent=True) as engine:
            table = create_table(engine.url)
        assert engine.ended() == 0
        assert engine.failures_to_save() == []
        with running_engine(tmp_path, persistent=True) as engine:
            assert dynamodb_client(engine.url).list_tables()["TableNames"] == [table]

    def test_an_engine_whose_owner_dies_saves_and_ends(self, tmp_path: Path) -> None:
        """The owner's end of the pipe closes however it dies; here it is closed by hand."""
        folder = EngineFolder(tmp_path, persistent=True)
        engine = Engine.start(environments.ENGINE.python, folder, free_port())
        table = create_table(engine.url)
        engine._lifeline.close()
        assert engine._process.wait(30) == 0
        with running_engine(tmp_path, persistent=True) as engine:
            assert dynamodb_client(engine.url).list_tables()["TableNames"] == [table]

    def test_damaged_state_stops_the_start_and_is_left_as_it_is(self, tmp_path: Path) -> None:
        """The engine itself would go on empty and overwrite the file when it stops."""
        damaged = tmp_path / "services" / "dynamodb.json"
        damaged.parent.mkdir(parents=True)
        damaged.write_text('{"__ministack_format__": 2, "payl')
        with pytest.raises(EngineError, match=r"(?s)cannot read the state.*dynamodb.*FRESH=1"):
            Engine.start(environments.ENGINE.python, EngineFolder(tmp_path, persistent=True), free_port())
        assert damaged.read_text() == '{"__ministack_format__": 2, "payl'

    def test_state_that_cannot_be_saved_is_reported(self, tmp_path: Path) -> None:
        with running_engine(tmp_path, persistent=True) as engine:
            create_table(engine.url)
            (tmp_path / "services" / "dynamodb.json.tmp").mkdir()
        assert any("dynamodb" in failure for failure in engine.failures_to_save())

    def test_an_engine_that_cannot_start_says_why(self, tmp_path: Path, engine: str) -> None:
        taken = int(engine.rpartition(":")[2])
        with pytest.raises(EngineError, match="already in use"):
            Engine.start(environments.ENGINE.python, EngineFolder(tmp_path, persistent=False), taken)


def test_resources_are_found_by_type() -> None:
    resources = Resources([("A", "First", "1"), ("B", "Second", "2"), ("B", "Third", "3")])
    assert resources.the_only("A") == "1"
    with pytest.raises(Exception, match="expected one B in the stacks, found 2"):
        resources.the_only("B")
