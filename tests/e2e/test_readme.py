"""The README's quick start, run as it stands against `make run`."""

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from infra.local.environments import ROOT
from tests.support.stack import LocalStack

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("local-stack")]

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"^<!-- run: (\w+) -->\n```\1\n(.*?)^```$", README, re.MULTILINE | re.DOTALL))


@pytest.fixture
def checkout(stack: LocalStack, tmp_path: Path) -> Path:
    """A folder in which `make run` seems to be running: its `.turnlog` is that of the stack."""
    (tmp_path / ".turnlog").symlink_to(stack.home.path)
    return tmp_path


def run(command: Sequence[str], block: str, stack: LocalStack, folder: Path) -> str:
    """Give the block to the program as its input, and answer what it printed."""
    environment = stack.environment(NO_PROXY="127.0.0.1", no_proxy="127.0.0.1")
    done = subprocess.run(
        command, input=block, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert (0, "") == (done.returncode, done.stderr), done.stdout
    return done.stdout


def test_the_quick_start_over_http(stack: LocalStack, checkout: Path) -> None:
    """It stores two events, finds one of them by the filter, and shows the session; a second time as well."""
    for seen in (2, 4):
        stored, found, session = run(["bash", "-eu"], BLOCKS["bash"], stack, checkout).splitlines()

        assert f'"last_seq":{seen}' in stored
        assert seen // 2 == found.count("Where is my order 1042?")
        assert "shipped" not in found
        assert f'"last_seq":{seen}' in session


def test_the_quick_start_in_python(stack: LocalStack, checkout: Path) -> None:
    """It stores a turn with a tool call and prints it in order."""
    printed = run([sys.executable, "-"], BLOCKS["python"], stack, checkout)

    assert printed.splitlines() == [
        '1 {"role":"user","content":"Where is my order 1042?"}',
        (
            '2 {"role":"assistant","content":[{"type":"tool_call","id":"call-1","name":"find_order",'
            '"arguments":"{\\"number\\":1042}"}]}'
        ),
        (
            '3 {"role":"tool","content":[{"type":"tool_result","call_id":"call-1","name":"find_order",'
            '"content":"{\\"status\\": \\"shipped\\"}","status":"ok"}]}'
        ),
        '4 {"role":"assistant","content":[{"type":"text","text":"It was shipped this morning."}]}',
    ]


def test_every_block_of_the_readme_that_can_run_is_run() -> None:
    """A new block of bash or Python is marked, or this fails."""
    assert {"bash", "python"} == BLOCKS.keys()
    assert len(BLOCKS) == len(re.findall(r"^```(?:bash|sh|python)$", README, re.MULTILINE))
