"""Every function works with exactly its own role's grants, and needs each of them (docs/grants.md).

The engine enforces IAM here: the function's requests are signed with a session of its role, and each is held against
the role's policy as CloudFormation resolved it.
"""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

import httpx
import pytest
from botocore.exceptions import ClientError

from tests.support.auth import EnforcedStack
from tests.support.grants import Grant, Role, granting, pairs_of, roles_of
from tests.support.grants_actor import Actor, behind_tls
from tests.support.grants_scenarios import IN_PROCESS, NEEDED_BY, OVER_HTTP, Scenario
from turnlog.domain.errors import CorruptLog

pytestmark = [pytest.mark.engine, pytest.mark.slow, pytest.mark.xdist_group("enforced-stack")]

_numbers = count(1)


@pytest.fixture(scope="module")
def roles(enforced: EnforcedStack) -> dict[str, Role]:
    """The role of each function."""
    return roles_of(enforced)


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    """Whoever calls the API or holds one of its URLs."""
    with httpx.Client(trust_env=False, timeout=60) as client:
        yield client


def acting(enforced: EnforcedStack, roles: dict[str, Role], http: httpx.Client, function: str) -> Actor:
    """A function with its own role's credentials, in a tenant of its own, whose sessions session_api makes."""
    tenant = f"tenant-{next(_numbers)}"
    owner = Actor.in_process(enforced, roles["session_api"], tenant, http)
    return Actor.in_process(enforced, roles[function], tenant, http, owner)


@pytest.fixture
def actor(enforced: EnforcedStack, roles: dict[str, Role], http: httpx.Client) -> Actor:
    """session_api with its own role's credentials, in a tenant of its own."""
    return Actor.in_process(enforced, roles["session_api"], f"tenant-{next(_numbers)}", http)


@pytest.mark.parametrize("scenario", [*OVER_HTTP, *IN_PROCESS], ids=lambda scenario: scenario.__name__)
def test_everything_works_with_the_role(scenario: Scenario, actor: Actor) -> None:
    """Nothing is denied on the way."""
    scenario(actor)
    assert [] == actor.denials.actions


@pytest.mark.parametrize("scenario", OVER_HTTP, ids=lambda scenario: scenario.__name__)
def test_the_deployed_function_works_with_its_role(scenario: Scenario, actor: Actor, enforced: EnforcedStack) -> None:
    """Through the gateway; the function has its credentials from Lambda."""
    scenario(actor.deployed(enforced))


def test_each_grant_has_a_scenario_that_needs_it(roles: dict[str, Role]) -> None:
    """A new grant needs a new line in NEEDED_BY; a line without a grant goes."""
    assert {grant for role in roles.values() for grant in role.grants} == NEEDED_BY.keys()


@pytest.mark.parametrize("grant", NEEDED_BY, ids=str)
def test_without_the_grant_its_scenario_breaks(
    grant: Grant, enforced: EnforcedStack, roles: dict[str, Role], http: httpx.Client
) -> None:
    """It is denied, that very action alone, and the scenario does not come to its end."""
    role = roles[grant.function]
    actor = acting(enforced, roles, http, grant.function)
    with granting(enforced, role, [other for other in role.grants if other != grant]):
        with pytest.raises((AssertionError, ClientError, CorruptLog)):
            NEEDED_BY[grant](actor)
        assert {grant.action} == set(actor.denials.actions)


@pytest.mark.parametrize("function", ["session_api", "compaction_worker", "compaction_steps"])
def test_with_all_grants_given_one_by_one_nothing_breaks(
    function: str, enforced: EnforcedStack, roles: dict[str, Role], http: httpx.Client
) -> None:
    """What breaks above breaks by the one grant that is missing, not by the way the others are written down.

    Also the log: the engine does not take the `:*` in the ARN of a log group for the group itself, as IAM does.
    """
    role = roles[function]
    with granting(enforced, role, list(role.grants)):
        for scenario in dict.fromkeys(needing for grant, needing in NEEDED_BY.items() if grant.function == function):
            actor = acting(enforced, roles, http, function)
            scenario(actor)
            assert [] == actor.denials.actions


def test_the_deployed_function_says_500_without_its_grant(
    enforced: EnforcedStack, roles: dict[str, Role], actor: Actor
) -> None:
    """The engine holds the running function itself against the role: what is tried in process is what it may do."""
    role = roles["session_api"]
    deployed = actor.deployed(enforced).api
    with granting(enforced, role, [grant for grant in role.grants if grant.action != "dynamodb:PutItem"]):
        refused = deployed.create()
    assert (500, "internal-error") == (refused.status, refused.json["code"])
    assert 201 == deployed.create().status


def test_the_engine_has_every_grant_of_the_templates(enforced: EnforcedStack, roles: dict[str, Role]) -> None:
    """As many as were synthesised: nothing was lost on the way."""
    documents = [
        resource["Properties"]["PolicyDocument"]
        for template in enforced.templates()
        for resource in template["Resources"].values()
        if resource["Type"] == "AWS::IAM::Policy"
    ]
    # The state machine's role is nobody's function.
    synthesised = [
        action
        for document in documents
        if "lambda:InvokeFunction" not in str(document)
        for action, _ in pairs_of(document)
    ]
    assert sorted(synthesised) == sorted(grant.action for role in roles.values() for grant in role.grants)


# ---------------------------------------------------------------------- and no more

FORBIDDEN: dict[str, tuple[str, str, dict[str, Any]]] = {
    "scan the table": ("dynamodb", "scan", {"TableName": "{table}"}),
    "scan an index": ("dynamodb", "scan", {"TableName": "{table}", "IndexName": "by_created"}),
    "PartiQL": ("dynamodb", "execute_statement", {"Statement": 'SELECT * FROM "{table}"'}),
    "PartiQL in a batch": (
        "dynamodb",
        "batch_execute_statement",
        {"Statements": [{"Statement": 'SELECT * FROM "{table}"'}]},
    ),
    "PartiQL in a transaction": (
        "dynamodb",
        "execute_transaction",
        {"TransactStatements": [{"Statement": "DELETE FROM \"{table}\" WHERE pk='a' AND sk='b'"}]},
    ),
    "write in a batch": (
        "dynamodb",
        "batch_write_item",
        {"RequestItems": {"{table}": [{"DeleteRequest": {"Key": {"pk": {"S": "a"}, "sk": {"S": "b"}}}}]}},
    ),
    "delete the table": ("dynamodb", "delete_table", {"TableName": "{table}"}),
    "change the table": (
        "dynamodb",
        "update_table",
        {"TableName": "{table}", "StreamSpecification": {"StreamEnabled": False}},
    ),
    "turn expiry off": (
        "dynamodb",
        "update_time_to_live",
        {"TableName": "{table}", "TimeToLiveSpecification": {"Enabled": False, "AttributeName": "expires"}},
    ),
    "turn backups off": (
        "dynamodb",
        "update_continuous_backups",
        {"TableName": "{table}", "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": False}},
    ),
    "list tables": ("dynamodb", "list_tables", {}),
    "create a table": (
        "dynamodb",
        "create_table",
        {
            "TableName": "mine",
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        },
    ),
    "read another table": ("dynamodb", "get_item", {"TableName": "other", "Key": {"pk": {"S": "a"}, "sk": {"S": "b"}}}),
    "read another table in a batch": (
        "dynamodb",
        "batch_get_item",
        {"RequestItems": {name: {"Keys": [{"pk": {"S": "a"}, "sk": {"S": "b"}}]} for name in ("{table}", "other")}},
    ),
    "write another table": (
        "dynamodb",
        "put_item",
        {"TableName": "other", "Item": {"pk": {"S": "a"}, "sk": {"S": "b"}}},
    ),
    "write another table in a transaction": (
        "dynamodb",
        "transact_write_items",
        {"TransactItems": [{"Put": {"TableName": "other", "Item": {"pk": {"S": "a"}, "sk": {"S": "b"}}}}]},
    ),
    "a table whose name begins like this one's": (
        "dynamodb",
        "get_item",
        {"TableName": "{table}-2", "Key": {"pk": {"S": "a"}, "sk": {"S": "b"}}},
    ),
    "query another index": (
        "dynamodb",
        "query",
        {
            "TableName": "{table}",
            "IndexName": "by_user",
            "KeyConditionExpression": "gpk = :g",
            "ExpressionAttributeValues": {":g": {"S": "a"}},
        },
    ),
    "list the bucket": ("s3", "list_objects_v2", {"Bucket": "{bucket}"}),
    "list one prefix": ("s3", "list_objects_v2", {"Bucket": "{bucket}", "Prefix": "t/"}),
    "list versions": ("s3", "list_object_versions", {"Bucket": "{bucket}"}),
    "list buckets": ("s3", "list_buckets", {}),
    "delete a body": ("s3", "delete_object", {"Bucket": "{bucket}", "Key": "t/a"}),
    "delete many bodies": ("s3", "delete_objects", {"Bucket": "{bucket}", "Delete": {"Objects": [{"Key": "t/a"}]}}),
    "delete a version": ("s3", "delete_object", {"Bucket": "{bucket}", "Key": "t/a", "VersionId": "1"}),
    "read a version": ("s3", "get_object", {"Bucket": "{bucket}", "Key": "t/a", "VersionId": "1"}),
    "read beside the prefixes": ("s3", "get_object", {"Bucket": "{bucket}", "Key": "x/a"}),
    "read a prefix without its slash": ("s3", "get_object", {"Bucket": "{bucket}", "Key": "tenants"}),
    "write beside the prefixes": ("s3", "put_object", {"Bucket": "{bucket}", "Key": "x/a", "Body": b""}),
    "copy into a foreign prefix": (
        "s3",
        "copy_object",
        {"Bucket": "{bucket}", "Key": "x/a", "CopySource": "{bucket}/t/a"},
    ),
    "write to another bucket": ("s3", "put_object", {"Bucket": "other", "Key": "t/a", "Body": b""}),
    "read another bucket": ("s3", "get_object", {"Bucket": "other", "Key": "t/a"}),
    "open the bucket": ("s3", "put_bucket_acl", {"Bucket": "{bucket}", "ACL": "public-read"}),
    "change the bucket's policy": ("s3", "put_bucket_policy", {"Bucket": "{bucket}", "Policy": "{}"}),
    "drop the bucket's policy": ("s3", "delete_bucket_policy", {"Bucket": "{bucket}"}),
    "open one body": ("s3", "put_object_acl", {"Bucket": "{bucket}", "Key": "t/a", "ACL": "public-read"}),
    "delete the bucket": ("s3", "delete_bucket", {"Bucket": "{bucket}"}),
    "make a log group": ("logs", "create_log_group", {"logGroupName": "mine"}),
    "write another log": ("logs", "create_log_stream", {"logGroupName": "other", "logStreamName": "a"}),
    "read its log": ("logs", "get_log_events", {"logGroupName": "{logs}", "logStreamName": "a"}),
    "delete its log": ("logs", "delete_log_group", {"logGroupName": "{logs}"}),
    "call itself": ("lambda", "invoke", {"FunctionName": "{function}"}),
    "change itself": ("lambda", "update_function_configuration", {"FunctionName": "{function}", "Timeout": 1}),
    "read its role": ("iam", "get_role", {"RoleName": "{role}"}),
    "widen its role": ("iam", "put_role_policy", {"RoleName": "{role}", "PolicyName": "p", "PolicyDocument": "{}"}),
    "take its role": ("sts", "assume_role", {"RoleArn": "{role_arn}", "RoleSessionName": "again"}),
}
"""What is denied: a service, an operation, its arguments."""


@pytest.fixture(scope="module")
def names(enforced: EnforcedStack, roles: dict[str, Role]) -> dict[str, str]:
    """What the deployed things are called."""
    functions = enforced.root("lambda").list_functions()["Functions"]
    (function,) = (one for one in functions if one["Handler"].startswith("session_api."))
    enforced.root("s3").create_bucket(Bucket="other")  # S3 looks whether a bucket is there before it looks at policies
    return {
        "table": enforced.table,
        "bucket": enforced.bucket,
        "logs": function["LoggingConfig"]["LogGroup"],
        "function": function["FunctionName"],
        "role": roles["session_api"].name,
        "role_arn": function["Role"],
    }


def _named(value: Any, names: dict[str, str]) -> Any:
    """The arguments with the names of deployed things filled in."""
    if isinstance(value, dict):
        return {_named(key, names): _named(child, names) for key, child in value.items()}
    if isinstance(value, list):
        return [_named(child, names) for child in value]
    if isinstance(value, str):
        for name, text in names.items():
            value = value.replace(f"{{{name}}}", text)
    return value


@pytest.mark.parametrize("what", FORBIDDEN)
def test_the_role_may_not(what: str, enforced: EnforcedStack, names: dict[str, str]) -> None:
    """Denied by IAM, before anything looks whether the thing is there."""
    service, operation, arguments = FORBIDDEN[what]
    client = enforced.assume(names["role"]).client(service, enforced.engine_url)
    with pytest.raises(ClientError) as denied:
        getattr(client, operation)(**_named(arguments, names))
    assert denied.value.response["Error"]["Code"] in ("AccessDenied", "AccessDeniedException")


def test_without_tls_the_bucket_is_closed_to_the_role_as_well(enforced: EnforcedStack, roles: dict[str, Role]) -> None:
    """The bucket's own policy denies it; behind a proxy that speaks TLS the same request is let through."""
    s3 = enforced.assume(roles["session_api"].name).client("s3", enforced.engine_url)
    s3.put_object(Bucket=enforced.bucket, Key="t/a", Body=b"a")
    enforced.root("s3").put_bucket_policy(Bucket=enforced.bucket, Policy=json.dumps(enforced.bucket_policy))
    try:
        with pytest.raises(ClientError, match="explicit deny in a resource-based policy"):
            s3.get_object(Bucket=enforced.bucket, Key="t/a")
        s3.meta.events.register("before-send.s3", behind_tls)
        assert b"a" == s3.get_object(Bucket=enforced.bucket, Key="t/a")["Body"].read()
    finally:
        enforced.root("s3").delete_bucket_policy(Bucket=enforced.bucket)
