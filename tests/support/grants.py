"""What each function's role grants, one by one, and how to take one away from it.

Everything is read back from the engine's IAM, where CloudFormation has resolved the template's intrinsics.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from tests.support.auth import EnforcedStack

PolicyDocument = dict[str, Any]


class Grant(NamedTuple):
    """An action that a function may do, and what to: a place as `docs/grants.md` has them."""

    function: str
    action: str
    place: str

    def __str__(self) -> str:
        return f"{self.function}: {self.action} on {self.place}"


@dataclass(frozen=True)
class Role:
    """The role of one function: its name, and the ARN pattern that each of its grants stands for."""

    function: str
    name: str
    grants: Mapping[Grant, str]


def roles_of(stack: EnforcedStack) -> dict[str, Role]:
    """The role of every deployed function, by the function's folder.

    Raises:
        AssertionError: a role has something else than plain inline grants, or two functions share a name.
    """
    functions = stack.root("lambda").list_functions()["Functions"]
    found = [_role(stack, function) for function in functions]
    assert len({role.function for role in found}) == len(found)
    return {role.function: role for role in found}


def _role(stack: EnforcedStack, function: Mapping[str, Any]) -> Role:
    folder, name = str(function["Handler"]).partition(".")[0], str(function["Role"]).rpartition("/")[2]
    iam = stack.root("iam")
    assert iam.list_attached_role_policies(RoleName=name)["AttachedPolicies"] == []
    grants: dict[Grant, str] = {}
    for policy in iam.list_role_policies(RoleName=name)["PolicyNames"]:
        document = iam.get_role_policy(RoleName=name, PolicyName=policy)["PolicyDocument"]
        for action, arn in pairs_of(document):
            grants[Grant(folder, action, place_of(stack, function, arn))] = arn
    return Role(folder, name, grants)


def pairs_of(document: PolicyDocument) -> Iterator[tuple[str, Any]]:
    """Each action of a policy with each of its resources.

    Raises:
        AssertionError: a statement that such pairs do not say everything about.
    """
    for statement in document["Statement"]:
        assert statement.keys() == {"Action", "Effect", "Resource"}, f"a statement of another kind: {statement}"
        assert statement["Effect"] == "Allow"
        for action in _several(statement["Action"]):
            for resource in _several(statement["Resource"]):
                yield action, resource


def _several(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [value]


def place_of(stack: EnforcedStack, function: Mapping[str, Any], arn: str) -> str:
    """What a resource is called here; one of no known place is called by its ARN."""
    if arn == "*":
        return "no resource"
    service, _, resource = arn.partition(":")[2].partition(":")[2].partition(":")
    resource = resource.split(":", 2)[2]
    known = {
        ("dynamodb", f"table/{stack.table}"): "the table",
        ("dynamodb", f"table/{stack.table}/index/by_created"): "the index by_created",
        ("dynamodb", f"table/{stack.table}/index/by_activity"): "the index by_activity",
        ("s3", f"{stack.bucket}/t/*"): "the bucket, t/*",
        ("s3", f"{stack.bucket}/l/*"): "the bucket, l/*",
        ("dynamodb", f"table/{stack.table}/stream/{stack.stream}"): "the table's stream",
        ("sqs", stack.queue): "the on-failure queue",
        ("states", f"stateMachine:{stack.machine}"): "the state machine",
        ("logs", f"log-group:{function['LoggingConfig']['LogGroup']}:*"): "its own log group",
    }
    return known.get((service, resource), arn)


@contextmanager
def granting(stack: EnforcedStack, role: Role, grants: Sequence[Grant]) -> Iterator[None]:
    """For as long as the block lasts, give the role these of its grants and nothing else.

    The engine evaluates policies anew for each request, so this also holds for functions that run already.
    """
    iam = stack.root("iam")
    names = iam.list_role_policies(RoleName=role.name)["PolicyNames"]
    before = {name: iam.get_role_policy(RoleName=role.name, PolicyName=name)["PolicyDocument"] for name in names}
    for name in before:
        iam.delete_role_policy(RoleName=role.name, PolicyName=name)
    iam.put_role_policy(RoleName=role.name, PolicyName="some", PolicyDocument=json.dumps(_document(role, grants)))
    try:
        yield
    finally:
        iam.delete_role_policy(RoleName=role.name, PolicyName="some")
        for name, document in before.items():
            iam.put_role_policy(RoleName=role.name, PolicyName=name, PolicyDocument=json.dumps(document))


def _document(role: Role, grants: Sequence[Grant]) -> PolicyDocument:
    statements = [
        {"Effect": "Allow", "Action": grant.action, "Resource": _as_the_engine_matches(role.grants[grant])}
        for grant in grants
    ]
    # A policy has to say something, also when the only grant is taken away.
    statements.append({"Effect": "Deny", "Action": "iam:*", "Resource": "*"})
    return {"Version": "2012-10-17", "Statement": statements}


def _as_the_engine_matches(arn: str) -> list[str]:
    """The engine compares the bare ARN of a log group; IAM takes the `:*` at its end for the group and all that is in
    it ("Actions, resources, and condition keys for Amazon CloudWatch Logs"). Of a request to a stream it does not see
    the stream, and compares nothing but `*`."""
    if ":log-group:" in arn:
        return [arn, arn.removesuffix(":*")]
    return ["*"] if "/stream/" in arn else [arn]
