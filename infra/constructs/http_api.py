"""The HTTP API: routes, who may call them, and what a wrong call gets.

The gateway decides which route a request is for, and its authorizer guards that route. So there
are three kinds of route (docs/decisions/0010-routes-of-the-gateway.md):

* one per method and path of the route table, with its scope;
* ``ANY`` on each path, for the methods that the path does not have: the function answers 405;
* ``$default`` for paths that do not exist: the function answers 404.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from aws_cdk import ArnFormat, Fn, Stack
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.constructs.logs import log_group
from infra.routes import ROUTES, Route, paths

ACCESS_LOG_FORMAT = json.dumps(
    {
        "time": "$context.requestTimeEpoch",
        "requestId": "$context.requestId",
        "route": "$context.routeKey",
        "method": "$context.httpMethod",
        "status": "$context.status",
        "latencyMs": "$context.responseLatency",
        "integrationMs": "$context.integrationLatency",
        "responseBytes": "$context.responseLength",
        "integrationError": "$context.integrationErrorMessage",
        "authorizerError": "$context.authorizer.error",
    },
    separators=(",", ":"),
)
"""No path, claim or address: session ids and users stay out of the access log."""


@dataclass(frozen=True)
class Guard:
    """Who lets a request in. ``scopes`` tells whether the route's scope is asked for as well: IAM
    has none."""

    authorization_type: str
    authorizer_id: str | None = None
    scopes: bool = False


PUBLIC = Guard("NONE")
SIGNED = Guard("AWS_IAM")
"""Takes requests that an IAM identity of the account has signed (SigV4) and may make
(``execute-api:Invoke``)."""


class SessionHttpApi(Construct):
    """An HTTP API whose routes all lead to one function.

    ``api_id`` and ``url`` (without a slash at the end) are for others to use.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        name: str,
        function: lambda_.IFunction,
        log_retention_days: int,
        key: kms.IKey | None,
        request_rate: int,
        public_rate: int,
    ) -> None:
        super().__init__(scope, construct_id)
        self._api = gateway.CfnApi(self, "Api", name=name, protocol_type="HTTP")
        self._integration = self._integrate(function)
        self._stage = self._default_stage(log_group(self, "AccessLogs", log_retention_days, key), request_rate)
        self._public_rate = public_rate
        self._limits: dict[str, dict[str, int]] = {}
        self._route("$default", PUBLIC)

    @property
    def api_id(self) -> str:
        """The id of the API."""
        return self._api.ref

    @property
    def url(self) -> str:
        """The base of every path."""
        return self._api.attr_api_endpoint

    def jwt_guard(self, *, issuer: str, audience: list[str]) -> Guard:
        """A guard that takes bearer tokens of an OIDC issuer."""
        authorizer = gateway.CfnAuthorizer(
            self,
            "JwtAuthorizer",
            api_id=self.api_id,
            name="jwt",
            authorizer_type="JWT",
            identity_source=["$request.header.Authorization"],
            jwt_configuration=gateway.CfnAuthorizer.JWTConfigurationProperty(issuer=issuer, audience=audience),
        )
        return Guard("JWT", authorizer_id=authorizer.ref, scopes=True)

    def mount(self, prefix: str, guard: Guard, routes: tuple[Route, ...] = ROUTES) -> None:
        """Serve routes below a prefix; those that are not public are guarded."""
        for route in routes:
            self._route(f"{route.method} {prefix}{route.path}", PUBLIC if route.is_public else guard, route.scope)
        for path, public in paths(routes).items():
            self._route(f"ANY {prefix}{path}", PUBLIC if public else guard)

    def _integrate(self, function: lambda_.IFunction) -> gateway.CfnIntegration:
        function_arn = function.function_arn
        lambda_.CfnPermission(
            self,
            "InvokePermission",
            action="lambda:InvokeFunction",
            function_name=function_arn,
            principal="apigateway.amazonaws.com",
            source_arn=Stack.of(self).format_arn(
                service="execute-api",
                resource=self.api_id,
                resource_name="*/*",
                arn_format=ArnFormat.SLASH_RESOURCE_NAME,
            ),
        )
        return gateway.CfnIntegration(
            self,
            "Integration",
            api_id=self.api_id,
            integration_type="AWS_PROXY",
            integration_uri=function_arn,
            payload_format_version="2.0",
        )

    def _route(self, key: str, guard: Guard, scope: str | None = None) -> None:
        route = gateway.CfnRoute(
            self,
            f"Route {key}".replace("/", "|"),
            api_id=self.api_id,
            route_key=key,
            target=Fn.join("/", ["integrations", self._integration.ref]),
            authorization_type=guard.authorization_type,
            authorizer_id=guard.authorizer_id,
            authorization_scopes=[scope] if scope and guard.scopes else None,
        )
        if guard is PUBLIC:
            self._limit(key, route)

    def _limit(self, key: str, route: gateway.CfnRoute) -> None:
        """Anybody can call a public route, so each has a limit of its own: a flood on one takes
        nothing from the routes with tokens."""
        rate = self._public_rate
        self._limits[key] = {"ThrottlingRateLimit": rate, "ThrottlingBurstLimit": 2 * rate}
        self._stage.route_settings = self._limits
        self._stage.add_resource_dependency(route)

    def _default_stage(self, access_logs: logs.LogGroup, request_rate: int) -> gateway.CfnStage:
        # The log group's own ARN ends in a wildcard, which a log destination must not.
        destination = Stack.of(self).format_arn(
            service="logs",
            resource="log-group",
            resource_name=access_logs.log_group_name,
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
        return gateway.CfnStage(
            self,
            "Stage",
            api_id=self.api_id,
            stage_name="$default",
            auto_deploy=True,
            access_log_settings=gateway.CfnStage.AccessLogSettingsProperty(
                destination_arn=destination, format=ACCESS_LOG_FORMAT
            ),
            default_route_settings=gateway.CfnStage.RouteSettingsProperty(
                throttling_rate_limit=request_rate, throttling_burst_limit=2 * request_rate
            ),
        )
