"""The IAM twin of the routes on the enforced stack, and callers that sign.

The local stage has no twin, so it is added here as infra adds it to the cloud stage: the guarded routes and their ANY
routes under `/iam/v1`, with `AWS_IAM`, and the table of principals in the function's environment.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as SigningCredentials

from infra.local.engine import ACCOUNT, REGION
from session_api.routes.table import ROUTES, TWIN, Route
from tests.support.auth import ROOT, Credentials, EnforcedStack
from tests.support.auth_tokens import Headers
from tests.support.permissions import OTHER_TENANTS, OTHER_USERS, SERVED

GUARDED: tuple[Route, ...] = tuple(route for route in ROUTES if route.scope is not None)
AGENTS, OPS, OTHERS, MUTE = "Agents", "Ops", "Others", "Mute"
"""Roles: for one tenant, for every tenant, in no table, in the table but without leave to call the API."""

ONE_TENANT, ANY_TENANT = "acme", "globex"
PRINCIPALS: Mapping[str, Any] = {
    f"{ACCOUNT}/{AGENTS}": [ONE_TENANT],
    f"{ACCOUNT}/{OPS}": "*",
    f"{ACCOUNT}/{MUTE}": "*",
}


@contextmanager
def twin_of(stack: EnforcedStack) -> Iterator[None]:
    """Serve the twin for as long as the block lasts."""
    gateway, api = stack.root("apigatewayv2"), stack.resources.the_only("AWS::ApiGatewayV2::Api")
    target = gateway.get_routes(ApiId=api, MaxResults="1000")["Items"][0]["Target"]
    keys = [f"{method} {TWIN}{route.path}" for route in GUARDED for method in (route.method, "ANY")]
    made = [
        gateway.create_route(ApiId=api, RouteKey=key, Target=target, AuthorizationType="AWS_IAM")["RouteId"]
        for key in dict.fromkeys(keys)
    ]
    try:
        with _principals(stack):
            yield
    finally:
        for route in made:
            gateway.delete_route(ApiId=api, RouteId=route)


@contextmanager
def _principals(stack: EnforcedStack) -> Iterator[None]:
    functions = stack.root("lambda")
    name = _function_of_the_api(stack)
    before: dict[str, str] = functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
    variables = {**before, "TURNLOG_IAM_PRINCIPALS": json.dumps(PRINCIPALS)}
    functions.update_function_configuration(FunctionName=name, Environment={"Variables": variables})
    try:
        yield
    finally:
        functions.update_function_configuration(FunctionName=name, Environment={"Variables": before})


def _function_of_the_api(stack: EnforcedStack) -> str:
    """The ARN of the one that the gateway calls; there are others, behind the stream and the state machine."""
    api = stack.resources.the_only("AWS::ApiGatewayV2::Api")
    [integration] = stack.root("apigatewayv2").get_integrations(ApiId=api)["Items"]
    uri: str = integration["IntegrationUri"]
    return uri.removesuffix("/invocations").partition("/functions/")[2] or uri


@dataclass(frozen=True)
class Workloads:
    """Everybody who can sign."""

    base: str
    """The URL of the API, before `/iam/v1`."""
    credentials: Mapping[str, Credentials]

    @classmethod
    def of(cls, stack: EnforcedStack) -> "Workloads":
        """Roles and a user, all of which but one may call the API."""
        for role in (AGENTS, OPS, OTHERS, MUTE):
            _make_role(stack, role, may_call=role != MUTE)
        credentials = {role: _session(stack, role, "worker-7") for role in (AGENTS, OPS, OTHERS, MUTE)}
        credentials["a session called Agents"] = _session(stack, OTHERS, AGENTS)
        credentials["a user called Agents"] = _make_user(stack, AGENTS)
        credentials["root"] = ROOT
        return cls(stack.url, credentials)

    def sign(self, who: str, method: str, path: str, headers: Headers, body: Any = None) -> Headers:
        """The headers of a signed request: those given, and the signature over all of them."""
        content = None if body is None else json.dumps(body).encode()
        request = AWSRequest(method, self.base + path, headers=dict(headers), data=content)
        key = self.credentials[who]
        SigV4Auth(SigningCredentials(key.key, key.secret, key.token), "execute-api", REGION).add_auth(request)
        return list(request.headers.items())


def _make_role(stack: EnforcedStack, name: str, *, may_call: bool) -> None:
    iam = stack.root("iam")
    trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}}
    iam.create_role(RoleName=name, AssumeRolePolicyDocument=_document(trust))
    if may_call:
        iam.put_role_policy(RoleName=name, PolicyName="call", PolicyDocument=_document(_invoke(stack)))


def _make_user(stack: EnforcedStack, name: str) -> Credentials:
    iam = stack.root("iam")
    iam.create_user(UserName=name)
    iam.put_user_policy(UserName=name, PolicyName="call", PolicyDocument=_document(_invoke(stack)))
    key = iam.create_access_key(UserName=name)["AccessKey"]
    return Credentials(key["AccessKeyId"], key["SecretAccessKey"])


def _invoke(stack: EnforcedStack) -> Mapping[str, Any]:
    api = stack.resources.the_only("AWS::ApiGatewayV2::Api")
    resource = f"arn:aws:execute-api:{REGION}:{ACCOUNT}:{api}/*/*{TWIN}/v1/*"
    return {"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": resource}


def _session(stack: EnforcedStack, role: str, name: str) -> Credentials:
    arn = f"arn:aws:iam::{ACCOUNT}:role/{role}"
    answer = stack.root("sts").assume_role(RoleArn=arn, RoleSessionName=name)["Credentials"]
    return Credentials(answer["AccessKeyId"], answer["SecretAccessKey"], answer["SessionToken"])


def _document(*statements: Mapping[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


# ---------------------------------------------------------------------- who comes

REFUSED = "403 by the gateway"
NO_PRINCIPAL = "403 by the function"
UNNAMED = "422 by the function: a header is missing"


@dataclass(frozen=True)
class Signer:
    """Somebody who signs, for whom they say they come, and what they find at every guarded door of the twin.

    ``spoil`` changes the headers after they were signed.
    """

    name: str
    who: str | None
    finds: str
    names: Headers
    spoil: Callable[[Headers], Headers] = field(default=lambda headers: headers, repr=False)


def _for(tenant: str, user: str) -> Headers:
    return [("x-turnlog-tenant", tenant), ("x-turnlog-user", user)]


def _without(headers: Headers, name: str) -> Headers:
    return [header for header in headers if header[0].lower() != name]


def _replaced(name: str, value: str) -> Callable[[Headers], Headers]:
    return lambda headers: [*_without(headers, name), (name, value)]


def _miswritten(headers: Headers) -> Headers:
    """With another last digit of the signature."""
    signed = dict(headers)["Authorization"]
    return _replaced("authorization", signed[:-1] + ("1" if signed.endswith("0") else "0"))(headers)


def signers(user: str) -> Sequence[Signer]:
    """Who comes to a session of ``user`` in `ONE_TENANT`."""
    own = _for(ONE_TENANT, user)
    return (
        Signer("the role, for the owner", AGENTS, SERVED, own),
        Signer("the role of all tenants, for the owner", OPS, SERVED, own),
        Signer("the role, for another user", AGENTS, OTHER_USERS, _for(ONE_TENANT, "bob")),
        Signer("the role of all tenants, for another", OPS, OTHER_TENANTS, _for(ANY_TENANT, user)),
        Signer("the role, for another tenant", AGENTS, NO_PRINCIPAL, _for(ANY_TENANT, user)),
        Signer("the role, for its tenant in other case", AGENTS, NO_PRINCIPAL, _for("Acme", user)),
        Signer("the role, for a tenant called *", AGENTS, NO_PRINCIPAL, _for("*", user)),
        Signer("another role", OTHERS, NO_PRINCIPAL, own),
        Signer("another role, its session called like the role", "a session called Agents", NO_PRINCIPAL, own),
        Signer("a user called like the role", "a user called Agents", NO_PRINCIPAL, own),
        Signer("root", "root", NO_PRINCIPAL, own),
        Signer("a role without leave to call", MUTE, REFUSED, own),
        Signer("the role, without a tenant", AGENTS, UNNAMED, own[1:]),
        Signer("the role, without a user", AGENTS, UNNAMED, own[:1]),
        Signer("nobody", None, REFUSED, own),
        Signer("a signature that is none", AGENTS, REFUSED, own, _miswritten),
        Signer("another tenant than was signed", OPS, REFUSED, _for(ANY_TENANT, user), _replaced(*own[0])),
        Signer("another user than was signed", AGENTS, REFUSED, _for(ONE_TENANT, "bob"), _replaced(*own[1])),
        Signer("no session token", AGENTS, REFUSED, own, lambda h: _without(h, "x-amz-security-token")),
        Signer("another day's date", AGENTS, REFUSED, own, _replaced("x-amz-date", "20200101T000000Z")),
    )
