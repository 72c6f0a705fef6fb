"""The synthesised CDK app of the local stage: made when its inputs changed, read for what there is to deploy."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from infra.local.engine import ACCOUNT, REGION
from infra.local.environments import ROOT, Say

INPUTS = ("infra", "functions", "layers", "cdk.json", "requirements-lambda.lock", "requirements-dev.lock")
STAMP = "inputs.sha256"


class SynthesisError(Exception):
    """The CDK app did not synthesise; the text is what it said."""


@dataclass(frozen=True, slots=True)
class File:
    """Something to upload before the stacks that need it."""

    path: Path
    bucket: str
    key: str


@dataclass(frozen=True, slots=True)
class Template:
    """One stack to create or update."""

    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class Assembly:
    """A folder that the CDK app was synthesised into."""

    path: Path

    def files(self) -> Iterator[File]:
        """Everything to upload, as the asset manifests name it."""
        for artifact in self._artifacts("cdk:asset-manifest").values():
            manifest = json.loads((self.path / artifact["properties"]["file"]).read_text())
            for entry in manifest.get("files", {}).values():
                if entry["source"].get("packaging", "file") != "file":
                    raise SynthesisError(f"{entry['source']['path']} is a folder; assets are expected as zip files")
                for place in entry["destinations"].values():
                    yield File(
                        self.path / entry["source"]["path"], _filled(place["bucketName"]), _filled(place["objectKey"])
                    )

    def templates(self) -> list[Template]:
        """The stacks, each after those that it depends on."""
        stacks = self._artifacts("aws:cloudformation:stack")
        order = TopologicalSorter({name: set(stack.get("dependencies", ())) for name, stack in stacks.items()})
        return [
            Template(
                stacks[name]["properties"].get("stackName", name),
                self.path / stacks[name]["properties"]["templateFile"],
            )
            for name in order.static_order()
            if name in stacks
        ]

    def _artifacts(self, kind: str) -> dict[str, Any]:
        manifest = json.loads((self.path / "manifest.json").read_text())
        return {name: artifact for name, artifact in manifest["artifacts"].items() if artifact["type"] == kind}


def synthesise(folder: Path, context: Mapping[str, Any], say: Say) -> Assembly:
    """Synthesise the CDK app with `context` into `folder`, unless that has been done with the same inputs.

    Raises:
        SynthesisError: the app refused.
    """
    wanted = _digest(context)
    stamp = folder / STAMP
    if not (stamp.exists() and stamp.read_text() == wanted and _is_complete(Assembly(folder))):
        say("synthesising the CDK app (about 15 s; the first time it builds the layers as well)")
        stamp.unlink(missing_ok=True)
        environment = {**os.environ, "CDK_OUTDIR": str(folder), "CDK_CONTEXT_JSON": json.dumps(context)}
        done = subprocess.run(
            [sys.executable, "-m", "infra.app"],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode != 0:
            raise SynthesisError(f"the CDK app did not synthesise:\n{done.stdout}")
        stamp.write_text(wanted)
    return Assembly(folder)


def _is_complete(assembly: Assembly) -> bool:
    """Whether everything to upload is still there: `make clean` and a tidy cache may have removed some of it."""
    return all(file.path.exists() for file in assembly.files())


def _digest(context: Mapping[str, Any]) -> str:
    """A digest of everything that decides the assembly."""
    digest = hashlib.sha256(json.dumps([dict(context), sys.version], sort_keys=True).encode())
    for name in INPUTS:
        for path in sorted(_sources(ROOT / name)):
            digest.update(f"\0{path.relative_to(ROOT)}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _sources(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif path.is_dir() and path != ROOT / "infra" / "local":
        for child in path.iterdir():
            if child.name != "__pycache__" and not child.name.startswith("."):
                yield from _sources(child)


def _filled(text: str) -> str:
    return text.replace("${AWS::AccountId}", ACCOUNT).replace("${AWS::Region}", REGION)
