"""CloudFormation templates as tests look at them."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Template = dict[str, Any]


@dataclass(frozen=True)
class Assembly:
    """The synthesised stacks of one stage."""

    stage: str
    folder: Path

    def template(self, stack: str) -> Template:
        """The template of ``Storage`` or ``Service``."""
        return self._read(f"Turnlog-{self.stage}-{stack}.template.json")

    @property
    def storage(self) -> Template:
        """The stateful stack."""
        return self.template("Storage")

    @property
    def service(self) -> Template:
        """The stateless stack."""
        return self.template("Service")

    def manifest(self) -> dict[str, Any]:
        """The cloud assembly's table of contents, by artifact."""
        artifacts: dict[str, Any] = self._read("manifest.json")["artifacts"]
        return artifacts

    def _read(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / name).read_text())
        return found


def resources(template: Template, kind: str) -> list[dict[str, Any]]:
    """The resources of one type, whole: properties, policies, dependencies."""
    return [resource for resource in template["Resources"].values() if resource["Type"] == kind]


def the_only(template: Template, kind: str) -> dict[str, Any]:
    """The one resource of a type."""
    (found,) = resources(template, kind)
    return found


def function_of(template: Template, folder: str) -> dict[str, Any]:
    """The function whose code is that folder under ``functions/``."""
    (found,) = (
        f
        for f in resources(template, "AWS::Lambda::Function")
        if str(f["Properties"]["Handler"]).partition(".")[0] == folder
    )
    return found


def statements_of(template: Template, folder: str) -> list[dict[str, Any]]:
    """What the role of a function allows.

    Raises:
        AssertionError: the role has more than one policy, or one of somebody else's making.
    """
    role = function_of(template, folder)["Properties"]["Role"]["Fn::GetAtt"][0]
    assert {"AssumeRolePolicyDocument"} == set(template["Resources"][role]["Properties"])
    (policy,) = (
        p["Properties"] for p in resources(template, "AWS::IAM::Policy") if {"Ref": role} in p["Properties"]["Roles"]
    )
    found: list[dict[str, Any]] = policy["PolicyDocument"]["Statement"]
    return found


def blanked(template: Template, stage: str) -> Template:
    """The template without what changes with every edit of the code: the names of assets. The
    stage's name is blanked as well, so that two stages can be compared."""
    text = re.sub(r"\b[0-9a-f]{64}\.(zip|json)", r"<asset>.\1", json.dumps(template))
    text = re.sub(rf"\b([Tt]urnlog)-{stage}-(?!assets)", r"\1-<stage>-", text)
    found: Template = json.loads(text)
    return found


def leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Each scalar of a template with the path to it; an empty list or map counts as one."""
    children: list[tuple[str, object]] = []
    if isinstance(value, Mapping):
        children = [(f"{path}.{key}" if path else str(key), child) for key, child in value.items()]
    elif isinstance(value, list):
        children = [(f"{path}[{index}]", child) for index, child in enumerate(value)]
    if not children:
        yield path, value
    for place, child in children:
        yield from leaves(child, place)
