"""docs/grants.md says what the templates grant: all of it, and nothing besides."""

import re
from collections.abc import Iterator

from infra.assets import PROJECT
from tests.support.templates import Assembly, statements_of

FUNCTIONS = ("session_api", "compaction_worker", "compaction_steps")

PLACES = {
    "SessionTable440DAA5FArn": "the table",
    "/index/by_activity": "the index by_activity",
    "/index/by_created": "the index by_created",
    "/t/*": "the bucket, `t/*`",
    "/l/*": "the bucket, `l/*`",
    "Logs": "its own log group",
    "StageKey": "the key",
    "Machine": "the state machine",
    "OnFailure": "the on-failure queue",
    "StreamArn": "the table's stream",
}
ROW = re.compile(r"^\| `(\w+:\w+)` \| (.+?) \| (.+?) \|$", re.MULTILINE)


def _place(resource: object) -> str:
    """What the page calls a resource; the last pattern that fits, as an index is also on the table."""
    if resource == "*":
        return "no resource"
    return [name for pattern, name in PLACES.items() if pattern in str(resource)][-1]


def _granted(assembly: Assembly) -> Iterator[tuple[str, str, str]]:
    for folder in FUNCTIONS:
        for statement in statements_of(assembly.service, folder):
            assert "Allow" == statement["Effect"]
            actions, resources = (
                value if isinstance(value, list) else [value] for value in (statement["Action"], statement["Resource"])
            )
            yield from ((folder, action, _place(resource)) for action in actions for resource in resources)


def _listed() -> list[tuple[str, str, str]]:
    """The rows of the page, each below the heading of its function; the key's rows are all functions'."""
    page = (PROJECT / "docs" / "grants.md").read_text(encoding="utf-8")
    found: list[tuple[str, str, str]] = []
    for section in page.split("\n## ")[1:]:
        name = section.partition("\n")[0].strip("`")
        owners = FUNCTIONS if name.startswith("With a key") else (name,)
        found += [(owner, action, place) for owner in owners for action, place, _ in ROW.findall(section)]
    return found


def test_the_page_lists_exactly_what_is_granted(secured: Assembly) -> None:
    listed = _listed()
    assert set(_granted(secured)) == set(listed)
    assert len(listed) == len(set(listed))


def test_without_a_key_the_rest_is_granted(cloud: Assembly, secured: Assembly) -> None:
    assert {grant for grant in _granted(secured) if not grant[1].startswith("kms:")} == set(_granted(cloud))


def test_every_grant_has_a_reason() -> None:
    page = (PROJECT / "docs" / "grants.md").read_text(encoding="utf-8")
    assert [] == [row for row in ROW.findall(page) if len(row[2]) < 8]
