"""The account's own key: what it encrypts, who may use it, and that nothing else changes."""

import pytest

from tests.support.templates import Assembly, blanked, leaves, resources, statements_of, the_only


def test_one_rotated_key_that_outlives_its_stack(secured: Assembly) -> None:
    key = the_only(secured.storage, "AWS::KMS::Key")
    assert key["Properties"]["EnableKeyRotation"] is True
    assert ("Retain", "Retain") == (key["DeletionPolicy"], key["UpdateReplacePolicy"])


def test_table_bucket_logs_and_topic_use_it(secured: Assembly) -> None:
    (key,) = (name for name, r in secured.storage["Resources"].items() if r["Type"] == "AWS::KMS::Key")
    arn = {"Fn::GetAtt": [key, "Arn"]}
    table = the_only(secured.storage, "AWS::DynamoDB::Table")["Properties"]["SSESpecification"]
    assert {"KMSMasterKeyId": arn, "SSEEnabled": True, "SSEType": "KMS"} == table
    bucket = the_only(secured.storage, "AWS::S3::Bucket")["Properties"]["BucketEncryption"]
    (rule,) = bucket["ServerSideEncryptionConfiguration"]
    assert {"KMSMasterKeyID": arn, "SSEAlgorithm": "aws:kms"} == rule["ServerSideEncryptionByDefault"]
    assert rule["BucketKeyEnabled"] is True
    groups = [group["Properties"]["KmsKeyId"] for group in resources(secured.service, "AWS::Logs::LogGroup")]
    topic = the_only(secured.template("Monitoring"), "AWS::SNS::Topic")["Properties"]["KmsMasterKeyId"]
    imported = {str(reference) for reference in [*groups, topic]}
    assert 1 == len(imported)
    assert f"Turnlog-cloud-Storage:ExportsOutputFnGetAtt{key}Arn" in imported.pop()


@pytest.mark.parametrize("folder", ["session_api", "compaction_worker", "compaction_steps"])
def test_a_function_uses_it_through_dynamodb_and_s3_only(secured: Assembly, folder: str) -> None:
    statements = statements_of(secured.service, folder)
    (grant,) = (s for s in statements if any(action.startswith("kms:") for action in s["Action"]))
    assert [
        "kms:Decrypt",
        "kms:DescribeKey",
        "kms:Encrypt",
        "kms:GenerateDataKey",
        "kms:ReEncryptFrom",
        "kms:ReEncryptTo",
    ] == grant["Action"]
    through = grant["Condition"]["StringEquals"]["kms:ViaService"]
    assert ["dynamodb.", "s3."] == [value["Fn::Join"][1][0] for value in through]


def test_the_key_lets_only_logs_of_this_account_and_its_alarms_use_it(secured: Assembly) -> None:
    policy = the_only(secured.storage, "AWS::KMS::Key")["Properties"]["KeyPolicy"]["Statement"]
    services = [s for s in policy if "Service" in s["Principal"]]
    assert all(s["Condition"] for s in services)
    assert 2 == len(services)


def test_without_it_nothing_has_a_key(stage: Assembly) -> None:
    for template in (stage.storage, stage.service):
        assert "kms" not in str(template).lower()


def test_encryption_changes_nothing_else(cloud: Assembly, secured: Assembly) -> None:
    """The twin adds routes and a variable; what was there before stays as it was."""
    touched = ("Encryption", "SSESpecification", "PolicyDocument")
    for stack in ("Storage", "Service"):
        before, after = (dict(leaves(blanked(a.template(stack), a.stage))) for a in (cloud, secured))
        gone = {path for path in before if path not in after}
        changed = {path for path in before if path in after and before[path] != after[path]}
        assert not [path for path in gone | changed if not any(part in path for part in touched)]
