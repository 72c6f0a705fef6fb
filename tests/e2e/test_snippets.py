"""The code on the pages, run as it stands against `make run`: what a page shows is what is printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.snippets import Block, blocks, run, shows
from tests.support.stack import LocalStack
from tests.support.tree import ROOT

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("local-stack")]

RUN_BY_ITSELF = ("operations",)  # tests/e2e/test_runbook.py: it moves a table
PAGES = {
    path.stem: blocks(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "docs").glob("*.md"))
    if path.stem not in RUN_BY_ITSELF
}
SCRIPTS = [
    pytest.param([block for block in found if block.language == language], id=f"{page}-{language}")
    for page, found in PAGES.items()
    for language in ("bash", "python")
    if any(block.language == language for block in found)
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_blocks_of_a_page_print_what_it_shows(script: list[Block], stack: LocalStack, checkout: Path) -> None:
    """All blocks of one language run one after another, as a reader does who follows the page."""
    environment = stack.environment(NO_PROXY="127.0.0.1", no_proxy="127.0.0.1")

    printed = run(script, folder=checkout, environment=environment)

    assert len(script) == len(printed)
    for block, text in zip(script, printed, strict=True):
        assert shows(block.prints or "", text), f"{block.code}\nprinted\n{text}"
