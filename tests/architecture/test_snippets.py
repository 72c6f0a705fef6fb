"""How the code of a page is found and judged: a page cannot pass by saying nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.snippets import Block, blocks, run, shows, unmarked

BASH = "<!-- run: bash -->\n```bash\necho 1\n```\n"
OUTPUT = "<!-- prints -->\n```text\n1\n```\n"


def test_a_block_is_read_with_the_output_that_follows() -> None:
    assert [Block("bash", "echo 1\n", "1\n"), Block("bash", "echo 1\n")] == blocks(BASH + OUTPUT + BASH)


@pytest.mark.parametrize("page", [OUTPUT, BASH + OUTPUT + OUTPUT])
def test_an_output_of_nothing_is_refused(page: str) -> None:
    """Otherwise nobody would compare it with anything."""
    with pytest.raises(ValueError, match="nothing is run"):
        blocks(page)


def test_a_block_without_a_mark_is_counted() -> None:
    """Unless it says why it is not run."""
    plain = "```python\nprint(1)\n```\n"

    assert 1 == unmarked(BASH + plain)
    assert 0 == unmarked(BASH + "<!-- not run: it costs money -->\n" + plain)


@pytest.mark.parametrize(("language", "codes"), [("bash", ("x=1", "echo $x")), ("python", ("x = 1", "print(x)"))])
def test_blocks_share_one_process(tmp_path: Path, language: str, codes: tuple[str, str]) -> None:
    """A later one knows the names of an earlier one; each has its own output."""
    assert ["", "1\n"] == run([Block(language, code) for code in codes], folder=tmp_path, environment=os.environ)


@pytest.mark.parametrize("code", ["exit 3", "echo oops >&2", "false | true"])
def test_a_block_that_fails_or_complains_is_an_error(tmp_path: Path, code: str) -> None:
    with pytest.raises(AssertionError):
        run([Block("bash", code)], folder=tmp_path, environment=os.environ)


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [("1", "1\n", True), ("1", "2", False), ("a...c", "abc", True), ("a...c", "abcd", False), ("a.c", "abc", False)],
)
def test_dots_stand_for_anything(shown: str, printed: str, same: bool) -> None:
    assert same == shows(shown, printed)
