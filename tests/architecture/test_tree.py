"""The shape of the checkout: what may stand where, and what no file may say."""

from __future__ import annotations

import re

import pytest

from tests.support.tree import ROOT, project_files

TOP_LEVEL = {
    ".ci", ".editorconfig", ".gitattributes", ".github", ".gitignore", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE",
    "Makefile", "README.md", "cdk.json", "docs", "events", "functions", "infra", "layers", "pyproject.toml", "tests",
    "requirements-dev.lock", "requirements-engine.in", "requirements-engine.lock", "requirements-lambda.lock",
    "requirements-node.in", "requirements-node.lock",
}  # fmt: skip

# Whose machine, and which mirror, is nobody else's business; and either would break on another machine.
MACHINE_PATH = re.compile(r"(?<![\w.\-/}])/(?:root|work|workspace|home/[a-z]\w*|Users/[A-Za-z]\w*)/")
REGISTRY = re.compile(
    r"(?:https?:)?//(?![\w.-]+\.example\b)[^\s\"'<>)]*(?:/simple\b|pypi\.org|pythonhosted|registry\.npmjs|artifactory|nexus|devpi)",
    re.IGNORECASE,
)


def text_files() -> list[tuple[str, str]]:
    """Every text file of the project but the vectors, which are taken as they came."""
    out = []
    for path in project_files():
        place = path.relative_to(ROOT).as_posix()
        if place.startswith("tests/conformance/vectors/"):
            continue
        try:
            out.append((place, path.read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            continue
    return out


def test_the_top_level_holds_the_agreed_names_only() -> None:
    """A new name at the top is a decision, not an accident."""
    present = {path.relative_to(ROOT).parts[0] for path in project_files()}

    assert set() == present - TOP_LEVEL


@pytest.mark.parametrize("pattern", [MACHINE_PATH, REGISTRY], ids=["machine path", "registry"])
def test_no_file_names_a_machine_or_a_registry(pattern: re.Pattern[str]) -> None:
    """A clone works anywhere, with any mirror."""
    found = [f"{place}: {match[0]}" for place, text in text_files() for match in pattern.finditer(text)]

    assert [] == found


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (MACHINE_PATH, "cd /" + "root/checkout"),
        (MACHINE_PATH, '"/' + 'home/ann/x"'),
        (REGISTRY, "--index-url https://mirror.internal/" + "simple"),
    ],
)
def test_the_patterns_above_find_what_they_are_for(pattern: re.Pattern[str], text: str) -> None:
    """A check that can't fail proves nothing."""
    assert pattern.search(text)
