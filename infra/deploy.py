"""Deploy into an AWS account, or take it out again: ``make bootstrap``, ``deploy`` and ``destroy``.

All hand over to the CDK CLI: the ``cdk`` on the PATH, or a pinned version of it through npx.
Credentials and region are those of the shell, as for the AWS CLI.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from infra.assets import PROJECT
from infra.settings import Settings, SettingsError

CDK_CLI = "aws-cdk@2.1148.1"
"""What npx fetches: a version that knows the assemblies of our aws-cdk-lib."""
CDK_CLI_AT_LEAST = (2, 1148)

ENVIRONMENT = r"aws://\d{12}/[a-z0-9-]+"

SERVICE = "Turnlog-cloud-Service"
STATELESS = ("Turnlog-cloud-Monitoring", SERVICE)

BOOTSTRAP = """\
Did it say that the environment is not bootstrapped? Once for each account and region:
  make bootstrap ENVIRONMENT=aws://ACCOUNT/REGION"""

KEPT = """\
Kept: the stack Turnlog-cloud-Storage with the table, the bucket and, if there is one, the key. They hold the sessions.
How to remove them for good: docs/deploy.md#removing-it-for-good"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is the CLI's, or 2 for what we refuse."""
    options = _parser().parse_args(arguments)
    try:
        cdk = find_cdk(os.environ)
        return int(options.action(cdk, options))
    except SettingsError as error:
        print(f"infra: {error}", file=sys.stderr)  # noqa: T201 - a command line speaks to its user
        return 2


def deploy_words(issuer: str, audience: str, context: Sequence[str]) -> list[str]:
    """The words for the CDK CLI.

    Raises:
        SettingsError: the issuer is missing or none that a cloud deploy takes, or there is no audience.
    """
    for name, value in (("ISSUER", issuer), ("AUDIENCE", audience)):
        if not value:
            raise SettingsError(
                f"{name} is missing: make deploy ISSUER=https://… AUDIENCE=… (the OIDC issuer of your users' tokens, "
                "and the audience that they name; docs/deploy.md)"
            )
    Settings(issuer=issuer, audience=tuple(audience.split(",")))
    words = ["deploy", "--all", "--outputs-file", "cdk.out/outputs.json"]
    words += ["--parameters", f"{SERVICE}:Issuer={issuer}", "--parameters", f"{SERVICE}:Audience={audience}"]
    return [*words, *_context(context)]


def find_cdk(environment: Mapping[str, str]) -> list[str]:
    """How to call the CDK CLI.

    Raises:
        SettingsError: there is neither a recent ``cdk`` nor an npx.
    """
    path = environment.get("PATH")
    cdk = shutil.which("cdk", path=path)
    if cdk is not None and _version_of(cdk) >= CDK_CLI_AT_LEAST:
        return [cdk]
    npx = shutil.which("npx", path=path)
    if npx is not None:
        return [npx, "--yes", CDK_CLI]
    packaged = _packaged_npx(environment.get("JSII_NODE"))
    if packaged is not None:
        return [*packaged, "--yes", CDK_CLI]
    raise SettingsError("the CDK CLI is needed, and there is neither cdk nor npx on the PATH: install Node.js with npm")


def _deploy(cdk: Sequence[str], options: argparse.Namespace) -> int:
    approval = ["--require-approval", "never"] if options.yes else []
    status = _run(cdk, [*deploy_words(options.issuer, options.audience, options.context), *approval])
    if status != 0:
        print(BOOTSTRAP, file=sys.stderr)  # noqa: T201
    return status


def _destroy(cdk: Sequence[str], options: argparse.Namespace) -> int:
    force = ["--force"] if options.yes else []
    status = _run(cdk, ["destroy", "--exclusively", *STATELESS, *force, *_context(options.context)])
    if status == 0:
        print(KEPT)  # noqa: T201
    return status


def _bootstrap(cdk: Sequence[str], options: argparse.Namespace) -> int:
    if re.fullmatch(ENVIRONMENT, options.environment) is None:
        raise SettingsError(f"ENVIRONMENT: must look like aws://123456789012/eu-central-1, not {options.environment!r}")
    # Away from cdk.json: an environment is bootstrapped once for all apps, and none has to be synthesised for it.
    with tempfile.TemporaryDirectory() as elsewhere:
        return _run(cdk, ["bootstrap", options.environment], Path(elsewhere))


def _run(cdk: Sequence[str], words: Sequence[str], folder: Path = PROJECT) -> int:
    return subprocess.run([*cdk, *words], cwd=folder, check=False).returncode  # noqa: S603 - our own words, no shell


def _context(values: Sequence[str]) -> list[str]:
    return [word for value in values for word in ("--context", value)]


def _version_of(cdk: str) -> tuple[int, ...]:
    asked = subprocess.run([cdk, "--version"], capture_output=True, text=True, check=False)  # noqa: S603
    found = re.match(r"(\d+)\.(\d+)", asked.stdout)
    return (int(found[1]), int(found[2])) if found else ()


def _packaged_npx(node: str | None) -> list[str] | None:
    """The npx that came with the Node of PyPI, which is on no PATH."""
    if not node:
        return None
    npx = Path(node).resolve().parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npx-cli.js"
    return [node, str(npx)] if npx.is_file() else None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m infra.deploy", description="Deploy into an AWS account.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    deploy = commands.add_parser("deploy", help="deploy, or update, all stacks of the cloud stage")
    deploy.add_argument("--issuer", default="", help="the OIDC issuer of the tokens")
    deploy.add_argument("--audience", default="", help="the audiences, separated by commas")
    deploy.set_defaults(action=_deploy)
    bootstrap = commands.add_parser("bootstrap", help="prepare an account and region for the CDK, once")
    bootstrap.add_argument("environment", metavar="aws://ACCOUNT/REGION")
    bootstrap.set_defaults(action=_bootstrap)
    destroy = commands.add_parser("destroy", help="remove everything but table, bucket and key")
    destroy.set_defaults(action=_destroy)
    for command in (deploy, destroy):
        command.add_argument("--yes", action="store_true", help="do not ask")
        command.add_argument("-c", "--context", action="append", default=[], metavar="NAME=VALUE")
    return parser


if __name__ == "__main__":
    sys.exit(main())
