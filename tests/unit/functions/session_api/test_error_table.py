"""docs/guide.md: the table of errors is the one that the function keeps."""

import re
from collections.abc import Iterator

from session_api.problems import KINDS
from tests.support.tree import ROOT
from turnlog.domain.errors import Conflict, NotFound, TurnlogError

PAGE = (ROOT / "docs/guide.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `([a-z-]+)` \| (\d{3}) \|", PAGE, re.MULTILINE))
NEVER_TOLD = {TurnlogError, NotFound, Conflict}
"""Classes that only gather others: no route answers with these."""


def tree(root: type[TurnlogError] = TurnlogError) -> Iterator[type[TurnlogError]]:
    """The class and all below it."""
    yield root
    for child in root.__subclasses__():
        yield from tree(child)


def test_every_problem_is_explained_with_its_status() -> None:
    """A new class of errors gets a row, or this fails."""
    wanted = {error.code: str(kind.status.value) for error, kind in KINDS.items() if error not in NEVER_TOLD}

    assert wanted == {code: status for code, status in ROWS.items() if code in wanted}


def test_no_row_explains_what_does_not_exist() -> None:
    assert set() == ROWS.keys() - {error.code for error in tree()}
