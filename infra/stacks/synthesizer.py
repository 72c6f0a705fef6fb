"""Where the assets of a stage go."""

from __future__ import annotations

from aws_cdk import CliCredentialsStackSynthesizer, DefaultStackSynthesizer, IStackSynthesizer

from infra.settings import Settings


def synthesizer(settings: Settings) -> IStackSynthesizer:
    """The account's CDK bootstrap, or, for an engine without one, a plain bucket that the
    deployer makes. Its assets manifest then holds plain names, without placeholders."""
    if settings.asset_bucket is None:
        return DefaultStackSynthesizer()
    return CliCredentialsStackSynthesizer(file_assets_bucket_name=settings.asset_bucket, bucket_prefix="")
