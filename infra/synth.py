"""The templates of both stages, checked: ``python -m infra.synth`` (``make synth``).

Needs no account and no network, once the layers are in ``.turnlog/cache``.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from infra.app import build, check_node, read_context
from infra.assets import PROJECT, BuiltAssets
from infra.bundle import BundleError
from infra.checks import ChecksFailed, check, synthesise
from infra.settings import Settings, SettingsError

LOCAL = ("stage=local", "issuer=http://127.0.0.1:8787/issuer", "audience=turnlog")
"""The local stage always names an issuer; ``make run`` puts in its own port."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write both, and return the exit status: 0, or 2 with the reason on standard error."""
    parser = argparse.ArgumentParser(prog="python -m infra.synth", description="Write the templates of both stages.")
    parser.add_argument(
        "-c", "--context", action="append", default=[], metavar="NAME=VALUE", help="for the cloud stage"
    )
    parser.add_argument("-o", "--output", metavar="FOLDER", default=str(PROJECT / "cdk.out"), help="where to write")
    options = parser.parse_args(arguments)
    try:
        check_node()
        for words in ((*options.context, "stage=cloud"), LOCAL):
            _write(words, Path(options.output))
    except (SettingsError, BundleError, ChecksFailed) as error:
        print(f"infra: {error}", file=sys.stderr)  # noqa: T201 - a command line speaks to its user
        return 2
    return 0


def _write(words: Sequence[str], output: Path) -> None:
    context = read_context(words, project=PROJECT, environment=os.environ)
    settings = Settings.from_context(context)
    folder = output / settings.stage
    app = build(settings, assets=BuiltAssets(), context=context, outdir=str(folder))
    check(app, settings.stack_prefix)
    synthesise(app)
    for template in sorted(folder.glob("*.template.json")):
        print(template.relative_to(Path.cwd()) if template.is_relative_to(Path.cwd()) else template)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
