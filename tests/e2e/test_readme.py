"""The README's quick start, run as it stands against `make run`."""

from pathlib import Path

import pytest

from tests.support.snippets import Block, blocks, run
from tests.support.stack import LocalStack
from tests.support.tree import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("local-stack")]

BLOCKS = {block.language: block for block in blocks((ROOT / "README.md").read_text(encoding="utf-8"))}


def printed(block: Block, stack: LocalStack, folder: Path) -> str:
    """What the block prints in a shell or an interpreter of its own."""
    environment = stack.environment(NO_PROXY="127.0.0.1", no_proxy="127.0.0.1")
    (text,) = run([block], folder=folder, environment=environment)
    return text


def test_the_quick_start_over_http(stack: LocalStack, checkout: Path) -> None:
    """It stores two events, finds one of them by the filter, and shows the session; a second time as well."""
    for seen in (2, 4):
        stored, found, session = printed(BLOCKS["bash"], stack, checkout).splitlines()

        assert f'"last_seq":{seen}' in stored
        assert seen // 2 == found.count("Where is my order 1042?")
        assert "shipped" not in found
        assert f'"last_seq":{seen}' in session


def test_the_quick_start_in_python(stack: LocalStack, checkout: Path) -> None:
    """It stores a turn with a tool call and prints it in order."""
    assert printed(BLOCKS["python"], stack, checkout).splitlines() == [
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
