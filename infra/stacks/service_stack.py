"""What can be thrown away and deployed again: layers, functions, gateway, state machine."""

from __future__ import annotations

from aws_cdk import CfnOutput, CfnParameter, Stack
from constructs import Construct

from infra.assets import Assets
from infra.constructs.compaction import Compaction
from infra.constructs.http_api import SIGNED, SessionHttpApi
from infra.constructs.python_layer import PythonLayer
from infra.constructs.session_api import SessionApi
from infra.routes import ROUTES
from infra.settings import CLOUD_ISSUER, Settings
from infra.stacks.storage_stack import StorageStack
from infra.stacks.synthesizer import synthesizer


class ServiceStack(Stack):
    """The stateless stack. ``function``, ``api`` and ``compaction`` are for the alarms to watch."""

    def __init__(self, scope: Construct, *, settings: Settings, storage: StorageStack, assets: Assets) -> None:
        super().__init__(
            scope,
            f"{settings.stack_prefix}-Service",
            description="Turnlog: the HTTP API, compaction, and their functions",
            synthesizer=synthesizer(settings),
        )
        layers = self._layers(settings, assets)
        self.compaction = Compaction(
            self,
            "Compaction",
            assets=assets,
            layers=layers,
            table=storage.table,
            bodies=storage.bodies,
            key=storage.key,
            settings=settings,
        )
        session_api = SessionApi(
            self,
            "SessionApi",
            asset=assets.function("session_api", settings.target),
            layers=layers,
            machine_arn=self.compaction.machine_arn,
            table=storage.table,
            bodies=storage.bodies,
            key=storage.key,
            settings=settings,
        )
        api = SessionHttpApi(
            self,
            "HttpApi",
            name=settings.stack_prefix.lower(),
            function=session_api.function,
            log_retention_days=settings.log_retention_days,
            key=None if storage.key is None else storage.key.key,
            request_rate=settings.request_rate,
            public_rate=settings.public_rate,
        )
        issuer, audience = self._issuer(settings)
        api.mount("/v1", api.jwt_guard(issuer=issuer, audience=audience))
        if settings.iam_principals:
            api.mount("/iam/v1", SIGNED, tuple(route for route in ROUTES if not route.is_public))
        self.function = session_api.function
        self.api = api
        CfnOutput(self, "ApiUrl", value=api.url, description="The base of the API, before /v1")
        CfnOutput(self, "ApiId", value=api.api_id, description="The id of the HTTP API")

    def _layers(self, settings: Settings, assets: Assets) -> list[PythonLayer]:
        target = settings.target
        return [
            PythonLayer(
                self,
                "DependenciesLayer",
                asset=assets.dependencies_layer(target),
                target=target,
                description="Turnlog: third-party packages",
            ),
            PythonLayer(
                self,
                "LibraryLayer",
                asset=assets.library_layer(target),
                target=target,
                description="Turnlog: the library",
            ),
        ]

    def _issuer(self, settings: Settings) -> tuple[str, list[str]]:
        """The issuer of tokens and the audiences it must name: settled now, or when deploying."""
        if settings.issuer is not None:
            return settings.issuer, list(settings.audience)
        issuer = CfnParameter(
            self,
            "Issuer",
            description="The OIDC issuer whose tokens the API takes",
            allowed_pattern=CLOUD_ISSUER,
            constraint_description="an https URL on a public host name",
        )
        audience = CfnParameter(
            self,
            "Audience",
            type="CommaDelimitedList",
            description="The audiences (aud or client_id) that a token may be for, separated by commas",
            allowed_pattern=".+",
        )
        return issuer.value_as_string, audience.value_as_list
