"""Who may import whom. The contracts stand in pyproject.toml; here is what they can't say, and proof that they bite."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.tree import LIBRARY, ROOT

DOMAIN = sorted((LIBRARY / "domain").rglob("*.py"))


def imported(source: str) -> Iterator[str]:
    """The absolute modules that a file imports, however late, and relative ones with their dots."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


@pytest.mark.parametrize("file", [*DOMAIN, LIBRARY / "service.py"], ids=lambda file: file.name)
def test_domain_and_service_import_the_standard_library_and_the_domain_alone(file: Path) -> None:
    """They run wherever Python runs."""
    allowed = sys.stdlib_module_names | {"__future__"}

    strangers = [
        name
        for name in imported(file.read_text())
        if not name.startswith((".", "turnlog.domain")) and name.split(".")[0] not in allowed
    ]
    assert [] == strangers


@pytest.mark.parametrize("file", DOMAIN, ids=lambda file: file.name)
def test_the_domain_never_reaches_above_itself(file: Path) -> None:
    """A relative import in the domain stays in the domain."""
    assert [] == [name for name in imported(file.read_text()) if name.startswith("..")]


def lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter on a copy of the tree, with that copy alone on the path."""
    path = os.pathsep.join(str(root / part) for part in ("layers/turnlog/python", "functions", "."))
    command = "import sys; from importlinter.cli import lint_imports_command as run; run(['--no-cache'])"
    return subprocess.run(
        [sys.executable, "-c", command],
        cwd=root,
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def module_of(file: str) -> str:
    """The dotted name that import-linter reports for a file."""
    place = file.removeprefix("layers/turnlog/python/").removeprefix("functions/")
    return place.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of the project, apart from the checkout."""
    root = tmp_path_factory.mktemp("tree")
    shutil.copy(ROOT / "pyproject.toml", root)
    for part in ("layers/turnlog/python", "functions", "infra"):
        shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
    return root


def test_the_contracts_hold(copy: Path) -> None:
    """The tree as it is breaks none of them."""
    answer = lint_imports(copy)

    assert 0 == answer.returncode, answer.stdout
    assert " 0 broken" in answer.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("layers/turnlog/python/turnlog/domain/event.py", "import boto3"),
        ("layers/turnlog/python/turnlog/domain/event.py", "from turnlog import service"),
        ("layers/turnlog/python/turnlog/service.py", "import turnlog.stores.memory"),
        ("layers/turnlog/python/turnlog/stores/memory.py", "import botocore.exceptions"),
        ("layers/turnlog/python/turnlog/stores/memory.py", "from turnlog.stores.dynamodb import keys"),
        ("layers/turnlog/python/turnlog/stores/dynamodb/keys.py", "from turnlog.stores import memory"),
        ("layers/turnlog/python/turnlog/stores/dynamodb/keys.py", "import pydantic"),
        ("layers/turnlog/python/turnlog/client/__init__.py", "from turnlog import service"),
        ("layers/turnlog/python/turnlog/client/__init__.py", "import turnlog.stores.memory"),
        ("layers/turnlog/python/turnlog/providers/bedrock.py", "import boto3"),
        ("layers/turnlog/python/turnlog/providers/openai_chat.py", "import urllib3"),
        ("layers/turnlog/python/turnlog/providers/book.py", "import turnlog.stores.memory"),
        ("layers/turnlog/python/turnlog/providers/scripted.py", "import turnlog.testing"),
        ("layers/turnlog/python/turnlog/testing/__init__.py", "import httpx"),
        ("functions/session_api/__init__.py", "import aws_cdk"),
        ("functions/session_api/__init__.py", "import turnlog.testing"),
        ("infra/__init__.py", "import turnlog.domain.ids"),
        ("infra/local/__init__.py", "import session_api"),
    ],
)
def test_a_forbidden_import_is_noticed(copy: Path, file: str, line: str) -> None:
    """Each contract is broken once, to see that it can be."""
    path = copy / file
    before = path.read_text()
    path.write_text(f"{before}\n{line}\n")
    try:
        answer = lint_imports(copy)
    finally:
        path.write_text(before)

    assert 1 == answer.returncode, answer.stdout + answer.stderr
    assert module_of(file) in answer.stdout.partition("Broken contracts")[2]
