"""The few things of the stateful stack that must never be lost."""

from unittest.mock import Mock

import pytest

from tests.support import engine
from tests.support.templates import Assembly, the_only


def test_the_tables_keys_and_indexes(stage: Assembly) -> None:
    """DESIGN 4: pk and sk; two indexes over gpk, keys only."""
    table = the_only(stage.storage, "AWS::DynamoDB::Table")["Properties"]

    def keys(schema: list[dict[str, str]]) -> dict[str, str]:
        return {key["KeyType"]: key["AttributeName"] for key in schema}

    assert {"HASH": "pk", "RANGE": "sk"} == keys(table["KeySchema"])
    assert {
        "by_created": {"HASH": "gpk", "RANGE": "created"},
        "by_activity": {"HASH": "gpk", "RANGE": "activity"},
    } == {index["IndexName"]: keys(index["KeySchema"]) for index in table["GlobalSecondaryIndexes"]}
    assert {"KEYS_ONLY"} == {index["Projection"]["ProjectionType"] for index in table["GlobalSecondaryIndexes"]}
    assert {"S"} == {attribute["AttributeType"] for attribute in table["AttributeDefinitions"]}


def test_the_table_streams_expires_recovers_and_is_on_demand(stage: Assembly) -> None:
    table = the_only(stage.storage, "AWS::DynamoDB::Table")["Properties"]
    assert "NEW_AND_OLD_IMAGES" == table["StreamSpecification"]["StreamViewType"]
    assert {"AttributeName": "expires", "Enabled": True} == table["TimeToLiveSpecification"]
    assert table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True
    assert "PAY_PER_REQUEST" == table["BillingMode"]


def test_tests_on_the_engine_use_the_deployed_tables_schema(cloud: Assembly, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise they would prove things about another table."""
    client = Mock()
    monkeypatch.setattr(engine, "_dynamodb", lambda url: client)
    engine.create_table("http://127.0.0.1:1")
    made = client.create_table.call_args.kwargs
    deployed = the_only(cloud.storage, "AWS::DynamoDB::Table")["Properties"]
    assert {"StreamEnabled": True, **deployed["StreamSpecification"]} == made["StreamSpecification"]
    for part in ("KeySchema", "GlobalSecondaryIndexes", "AttributeDefinitions", "BillingMode"):
        assert deployed[part] == made[part]


def test_the_bucket_is_private_encrypted_and_versioned(stage: Assembly) -> None:
    bucket = the_only(stage.storage, "AWS::S3::Bucket")["Properties"]
    blocked = bucket["PublicAccessBlockConfiguration"]
    assert {"BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"} == set(blocked)
    assert all(blocked.values())
    assert "BucketOwnerEnforced" == bucket["OwnershipControls"]["Rules"][0]["ObjectOwnership"]
    encryption = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert "AES256" == encryption[0]["ServerSideEncryptionByDefault"]["SSEAlgorithm"]
    assert "Enabled" == bucket["VersioningConfiguration"]["Status"]


def test_the_bucket_forgets_old_versions_broken_uploads_and_copies_for_links(stage: Assembly) -> None:
    rules = the_only(stage.storage, "AWS::S3::Bucket")["Properties"]["LifecycleConfiguration"]["Rules"]
    assert {"Enabled"} == {rule["Status"] for rule in rules}
    deleted, copies, unfinished = rules
    assert 7 == deleted["NoncurrentVersionExpiration"]["NoncurrentDays"]
    assert deleted["ExpiredObjectDeleteMarker"] is True
    assert ("l/", 1, 1) == (
        copies["Prefix"],
        copies["ExpirationInDays"],
        copies["NoncurrentVersionExpiration"]["NoncurrentDays"],
    )
    assert 1 == unfinished["AbortIncompleteMultipartUpload"]["DaysAfterInitiation"]
    assert not any("Prefix" in rule for rule in (deleted, unfinished))
    lasting = [rule for rule in rules if rule.get("Prefix") != "l/"]
    assert not any("ExpirationInDays" in rule for rule in lasting), "a body must not expire before its commit"


def test_the_bucket_is_denied_to_everybody_without_tls(stage: Assembly) -> None:
    statements = the_only(stage.storage, "AWS::S3::BucketPolicy")["Properties"]["PolicyDocument"]["Statement"]
    assert {"Bool": {"aws:SecureTransport": "false"}} in [statement["Condition"] for statement in statements]
    assert {("Deny", "s3:*")} == {(statement["Effect"], statement["Action"]) for statement in statements}


@pytest.mark.parametrize("kind", ["AWS::DynamoDB::Table", "AWS::S3::Bucket"])
def test_data_outlives_its_stack_in_the_cloud_and_goes_with_it_on_the_laptop(
    kind: str, cloud: Assembly, local: Assembly
) -> None:
    for assembly, policy in ((cloud, "Retain"), (local, "Delete")):
        resource = the_only(assembly.storage, kind)
        assert (policy, policy) == (resource["DeletionPolicy"], resource["UpdateReplacePolicy"])


def test_the_cloud_table_and_its_stack_are_protected_against_deletion(cloud: Assembly, local: Assembly) -> None:
    for assembly, protected in ((cloud, True), (local, False)):
        table = the_only(assembly.storage, "AWS::DynamoDB::Table")["Properties"]
        stack = assembly.manifest()[f"Turnlog-{assembly.stage}-Storage"]["properties"]
        assert (protected, protected) == (table["DeletionProtectionEnabled"], stack["terminationProtection"])


def test_the_outputs_name_table_and_bucket(stage: Assembly) -> None:
    assert {"TableName", "BucketName"} <= set(stage.storage["Outputs"])
