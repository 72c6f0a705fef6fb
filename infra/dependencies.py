"""The third-party part of a function: what the lock file says, for the target, trimmed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from infra.bundle import BundleError
from infra.settings import LambdaTarget

KEPT_SERVICES = frozenset(
    {
        "bedrock-runtime",
        "dynamodb",
        "lambda",
        "s3",
        "secretsmanager",
        "signin",
        "sqs",
        "sso",
        "sso-oidc",
        "stepfunctions",
        "sts",
    }
)
"""The service models of botocore that a function can need: what it calls, and what the credential
providers call. The other 400 are nine tenths of the layer."""


def check_lock(lock: Path) -> None:
    """Refuse a lock file that pip would install differently from what it says.

    Raises:
        BundleError: the file is missing, or a requirement has an environment marker. pip decides
            markers by its own Python and machine, not by the target's.
    """
    if not lock.is_file():
        raise BundleError(f"{lock} is missing: it holds what the dependencies layer is made of")
    marked = re.findall(r"^[^\s#][^;\n]*;.*$", lock.read_text(encoding="utf-8"), re.MULTILINE)
    if marked:
        raise BundleError(f"{lock.name}: environment markers cannot be resolved for another platform: {marked[0]}")


def install(lock: Path, target: LambdaTarget, folder: Path) -> None:
    """Install the locked packages into ``folder``: wheels only, each checked against its hash.

    Raises:
        BundleError: pip refused; its own words are in the message.
    """
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
    command += ["--no-compile", "--no-deps", "--require-hashes", "--requirement", str(lock)]
    command += ["--target", str(folder), "--only-binary", ":all:", "--implementation", "cp"]
    command += ["--python-version", target.python]
    if target.platform is not None:
        command += ["--platform", target.platform]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own words, no shell
    if done.returncode != 0:
        raise BundleError(
            f"pip could not install {lock.name} for {target.name}; without a network the layers have to be in "
            f".turnlog/cache from an earlier run:\n{done.stderr.strip()}"
        )


def trim(folder: Path) -> None:
    """Remove what no function can use: console scripts, and the models of other services.

    Raises:
        BundleError: a model that should stay is not there, so botocore must have moved it.
    """
    shutil.rmtree(folder / "bin", ignore_errors=True)
    models = folder / "botocore" / "data"
    missing = [name for name in sorted(KEPT_SERVICES) if not (models / name).is_dir()]
    if missing:
        raise BundleError(f"botocore has no model of {', '.join(missing)}")
    for model in models.iterdir():
        if model.is_dir() and model.name not in KEPT_SERVICES:
            shutil.rmtree(model)
    for examples in models.glob("*/*/examples-1.json*"):
        examples.unlink()
