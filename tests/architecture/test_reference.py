"""docs/api.md: made from the OpenAPI document, current, and without a gap."""

from __future__ import annotations

import copy
import json
import re
import runpy
import subprocess
import sys
from typing import Any

import pytest

from tests.support.tree import ROOT

SCRIPT = ROOT / ".ci/reference.py"
DOCUMENT: dict[str, Any] = json.loads((ROOT / "docs/openapi.json").read_text())
PAGE = (ROOT / "docs/api.md").read_text()
OPERATIONS = [
    (method.upper(), path, operation)
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
]
SUMMARIES = {operation["operationId"]: operation["summary"] for _, _, operation in OPERATIONS}
IDS = [operation["operationId"] for _, _, operation in OPERATIONS]


def section(heading: str, level: str = "##") -> str:
    """What stands under a heading, up to the next one of the same level or above."""
    found = re.search(
        rf"^{level} {re.escape(heading)}$(.*?)(?=^#{{1,{len(level)}}} |\Z)", PAGE, re.MULTILINE | re.DOTALL
    )
    assert found is not None, heading
    return found[1]


def rendered(document: dict[str, Any]) -> str:
    """What the script makes of a document."""
    text: str = runpy.run_path(str(SCRIPT))["Reference"](document).text()
    return text


def resolved(node: dict[str, Any]) -> dict[str, Any]:
    """The parameter or answer that a reference stands for."""
    if "$ref" not in node:
        return node
    found: Any = DOCUMENT
    for step in node["$ref"].split("/")[1:]:
        found = found[step]
    return resolved(found)


def test_the_reference_is_current() -> None:
    """``make openapi`` writes it; ``make lint`` asks the same question."""
    answer = subprocess.run([sys.executable, str(SCRIPT), "check"], capture_output=True, text=True, check=False)

    assert (0, "") == (answer.returncode, answer.stderr), answer.stdout


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS, ids=IDS)
def test_an_operation_tells_request_parameters_and_answers(method: str, path: str, operation: dict[str, Any]) -> None:
    """Nothing of the document is left out: each parameter, status and scope has its words."""
    told = section(operation["summary"])

    assert f"`{method} {path}`" in told
    for parameter in map(resolved, operation.get("parameters", [])):
        assert re.search(rf"^\| `{re.escape(parameter['name'])}`", told, re.MULTILINE), parameter["name"]
    assert set(operation["responses"]) == set(re.findall(r"^\| (\d{3}) \|", told, re.MULTILINE))
    for answer in operation["responses"].values():
        for way in answer.get("links", {}).values():
            assert f"[{SUMMARIES[way['operationId']]}]" in told
    for scope in (scope for way in operation["security"] for scopes in way.values() for scope in scopes):
        assert f"`{scope}`" in told


@pytest.mark.parametrize("name", DOCUMENT["components"]["schemas"])
def test_a_schema_tells_each_of_its_keys(name: str) -> None:
    """With the same marks for what may be left out."""
    schema = DOCUMENT["components"]["schemas"][name]
    told = dict(re.findall(r"^\| `([^`]+)`( \(optional\))? \|", section(name, "###"), re.MULTILINE))

    required = schema.get("required", [])
    assert {key: "" if key in required else " (optional)" for key in schema.get("properties", {})} == told


def test_every_example_is_shown_as_it_can_be_sent() -> None:
    """The JSON blocks of the page are the document's examples."""
    wanted = [
        example["value"]
        for _, _, operation in OPERATIONS
        for content in operation.get("requestBody", {}).get("content", {}).values()
        for example in content.get("examples", {}).values()
    ]

    assert wanted == [
        json.loads(block) for block in re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    ]


def test_the_same_document_gives_the_same_page() -> None:
    """Whatever the order of keys in memory: the page is made from what the file says."""
    assert PAGE == rendered(DOCUMENT)


def test_a_rule_that_the_script_does_not_know_stops_it() -> None:
    """Better than a page that leaves it out."""
    document = copy.deepcopy(DOCUMENT)
    document["components"]["schemas"]["HealthAnswer"]["properties"]["version"]["multipleOf"] = 3

    with pytest.raises(Exception, match="multipleOf"):
        rendered(document)
