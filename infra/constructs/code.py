"""From our own values to the CDK's: asset, runtime, architecture."""

from __future__ import annotations

from aws_cdk import AssetHashType
from aws_cdk import aws_lambda as lambda_

from infra.bundle import Asset
from infra.settings import LambdaTarget


def code(asset: Asset) -> lambda_.Code:
    """The asset as Lambda code, named by what it was made from and not by its bytes."""
    return lambda_.Code.from_asset(str(asset.path), asset_hash=asset.digest, asset_hash_type=AssetHashType.CUSTOM)


def runtime(target: LambdaTarget) -> lambda_.Runtime:
    """The runtime that serves the target."""
    return lambda_.Runtime(target.runtime, lambda_.RuntimeFamily.PYTHON)


def architecture(target: LambdaTarget) -> lambda_.Architecture:
    """The CPU of the target."""
    return lambda_.Architecture.ARM_64 if target.arm64 else lambda_.Architecture.X86_64
