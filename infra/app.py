"""The CDK app: ``python -m infra.app``.

Makes no AWS call and needs no CDK CLI. ``-c name=value`` and ``-o folder`` mean what they mean
there; under the CLI both come through the environment instead.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from infra.assets import PROJECT, Assets, BuiltAssets
from infra.bundle import BundleError
from infra.checks import ChecksFailed, check, synthesise
from infra.settings import Settings, SettingsError
from infra.stage_check import check_stage

if TYPE_CHECKING:
    from aws_cdk import App


def build(settings: Settings, *, assets: Assets, context: Mapping[str, object], outdir: str | None = None) -> App:
    """The app with the stacks of a stage, not yet synthesised.

    Without ``outdir`` the CDK takes ``CDK_OUTDIR``, else a new temporary folder.
    """
    # Not at the top: the import starts Node, and without one it fails in a way that tells nothing.
    from aws_cdk import App  # noqa: PLC0415

    from infra.stacks.monitoring_stack import MonitoringStack  # noqa: PLC0415
    from infra.stacks.service_stack import ServiceStack  # noqa: PLC0415
    from infra.stacks.storage_stack import StorageStack  # noqa: PLC0415

    app = App(context=dict(context), outdir=outdir, analytics_reporting=False, tree_metadata=False)
    storage = StorageStack(app, settings=settings)
    service = ServiceStack(app, settings=settings, storage=storage, assets=assets)
    if settings.is_monitored:
        MonitoringStack(app, settings=settings, storage=storage, service=service)
    return app


def read_context(arguments: Sequence[str], *, project: Path, environment: Mapping[str, str]) -> dict[str, object]:
    """Context from cdk.json, then from the CDK CLI, then from the command line; the last one wins.

    Raises:
        SettingsError: an argument is not ``name=value``.
    """
    context: dict[str, object] = dict(json.loads((project / "cdk.json").read_text(encoding="utf-8"))["context"])
    context.update(json.loads(environment.get("CDK_CONTEXT_JSON", "{}")))
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if not name or not equals:
            raise SettingsError(f"-c {argument}: write name=value")
        context[name] = value
    return context


def main(arguments: Sequence[str] | None = None) -> int:
    """Synthesise, and return the exit status: 0, or 2 with the reason on standard error."""
    parser = argparse.ArgumentParser(prog="python -m infra.app", description="Synthesise the CDK app.")
    parser.add_argument("-c", "--context", action="append", default=[], metavar="NAME=VALUE", help="a context value")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="where to write (CDK_OUTDIR, else cdk.out)")
    options = parser.parse_args(arguments)
    try:
        check_node()
        context = read_context(options.context, project=PROJECT, environment=os.environ)
        settings = Settings.from_context(context)
        check_stage(settings)
        outdir = options.output or os.environ.get("CDK_OUTDIR") or str(PROJECT / "cdk.out")
        app = build(settings, assets=BuiltAssets(), context=context, outdir=outdir)
        if settings.is_monitored:
            check(app, settings.stack_prefix, settings.models)
        synthesise(app)
    except (SettingsError, BundleError, ChecksFailed) as error:
        print(f"infra: {error}", file=sys.stderr)  # noqa: T201 - a command line speaks to its user
        return 2
    return 0


def check_node() -> None:
    """Raises ``SettingsError`` where the CDK would fail without telling why."""
    node = os.environ.get("JSII_NODE") or "node"
    if shutil.which(node) is None:
        raise SettingsError(f"the CDK runs on Node.js, and there is no {node!r}: install it, or set JSII_NODE")


if __name__ == "__main__":
    sys.exit(main())
