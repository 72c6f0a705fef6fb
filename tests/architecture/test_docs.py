"""Documentation that can't lie: commands, links, pages and the changelog."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import snippets
from tests.support.markdown import anchors, links
from tests.support.tree import ROOT, make_targets, project_files
from turnlog.service import SYSTEM_MESSAGES_DOC

PAGES = [path for path in project_files() if path.suffix == ".md"]
DECISIONS = sorted((ROOT / "docs/decisions").glob("*.md"))
COMMAND = re.compile(r"(?:^|`)\s*(?:[A-Z]+=\S+ )?make ([a-z]+)", re.MULTILINE)
RUN_ELSEWHERE = {"docs/client.md": "tests/unit/turnlog/client/test_docs.py runs it against an API in memory"}


def name(path: Path) -> str:
    """The page's place in the checkout, for the test's id."""
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_make_command_on_a_page_exists(page: Path) -> None:
    """What the pages tell a reader to type is a target of the Makefile."""
    assert set() == set(COMMAND.findall(page.read_text())) - make_targets().keys()


def test_every_target_is_explained_to_contributors() -> None:
    """CONTRIBUTING names each word once at least."""
    assert set() == make_targets().keys() - set(COMMAND.findall((ROOT / "CONTRIBUTING.md").read_text()))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    """A link names a file or a folder of the checkout, and a heading that is there."""
    targets = [(link, (page.parent / path if path else page), anchor) for link, path, anchor in links(page)]

    assert [] == [link for link, target, _ in targets if not target.exists()]
    assert [] == [link for link, target, anchor in targets if anchor and anchor not in anchors(target)]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_that_can_run_is_run(page: Path) -> None:
    """A block of bash or Python is marked (`tests.support.snippets`), or says why it cannot be run."""
    assert name(page) in RUN_ELSEWHERE or 0 == snippets.unmarked(page.read_text())


def test_the_changelog_has_a_place_for_what_comes_next() -> None:
    """Keep a Changelog: an Unreleased section, with something under it."""
    text = (ROOT / "CHANGELOG.md").read_text()

    assert re.search(
        r"^## \[Unreleased\]\n+### (Added|Changed|Fixed|Removed|Deprecated|Security)\n+- ", text, re.MULTILINE
    )


def test_decisions_are_numbered_without_a_gap() -> None:
    """1, 2, 3, in file name and heading: a decision that is given up stays, and says so."""
    numbered = [(f"{n:04d}", f"# {n}. ") for n in range(1, len(DECISIONS) + 1)]

    found = [(path.name[:4], re.findall(r"^# \d+\. ", path.read_text())[:1]) for path in DECISIONS]
    assert [(number, [heading]) for number, heading in numbered] == found


@pytest.mark.parametrize("page", DECISIONS, ids=name)
def test_a_decision_says_context_choice_and_cost(page: Path) -> None:
    """One page, three headings, in this order."""
    headings = re.findall(r"^## (.+)$", page.read_text(), re.MULTILINE)

    assert ["Context", "Choice", "Cost"] == headings


def test_the_index_lists_every_page() -> None:
    """docs/README.md leads to each page below docs/."""
    linked = {(ROOT / "docs" / path).resolve() for _, path, _ in links(ROOT / "docs/README.md")}

    assert set() == {page for page in PAGES if page.is_relative_to(ROOT / "docs")} - linked - {ROOT / "docs/README.md"}


def test_every_page_that_the_code_names_exists() -> None:
    """An error or a comment that points to a page leads somewhere."""
    sources = [path for path in project_files() if path.suffix == ".py" or path.name in ("Makefile", "pyproject.toml")]
    named = {page for path in sources for page in re.findall(r"\bdocs/[\w./-]+\.md\b", path.read_text())}

    assert SYSTEM_MESSAGES_DOC in named
    assert [] == sorted(page for page in named if not (ROOT / page).is_file())
