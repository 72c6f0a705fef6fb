"""A Lambda layer out of an asset that we built."""

from __future__ import annotations

from aws_cdk import Annotations
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.bundle import Asset
from infra.constructs.code import architecture, code, runtime
from infra.settings import LambdaTarget


class PythonLayer(Construct):
    """A layer version for one runtime and CPU.

    Warns at synthesis when it carries no bytecode: correct, but imports take two to three times
    as long at each cold start.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, asset: Asset, target: LambdaTarget, description: str
    ) -> None:
        super().__init__(scope, construct_id)
        self.version = lambda_.LayerVersion(
            self,
            "Version",
            code=code(asset),
            description=description,
            compatible_runtimes=[runtime(target)],
            compatible_architectures=[architecture(target)],
        )
        if not asset.compiled:
            Annotations.of(self).add_warning_v2(
                "turnlog:no-bytecode",
                f"no python{target.python} on the PATH to compile with: cold starts will be slower",
            )
