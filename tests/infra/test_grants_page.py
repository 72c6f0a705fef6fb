"""docs/grants.md says what the templates grant: all of it, and nothing besides."""

import re
from collections.abc import Iterator

from infra.assets import PROJECT
from tests.support.templates import Assembly, the_only

PLACES = {
    "SessionTable440DAA5FArn": "the table",
    "/index/": "the indexes by_activity and by_created",
    "/t/*": "the bucket, `t/*`",
    "/l/*": "the bucket, `l/*`",
    "Logs": "its own log group",
    "StageKey": "the key",
}
ROW = re.compile(r"^\| `(\w+:\w+)` \| (.+?) \| (.+?) \|$", re.MULTILINE)


def _place(resource: object) -> str:
    """What the page calls a resource; the last pattern that fits, as an index is also on the table."""
    return [name for pattern, name in PLACES.items() if pattern in str(resource)][-1]


def _granted(assembly: Assembly) -> Iterator[tuple[str, str]]:
    for statement in the_only(assembly.service, "AWS::IAM::Policy")["Properties"]["PolicyDocument"]["Statement"]:
        assert "Allow" == statement["Effect"]
        actions, resources = (
            value if isinstance(value, list) else [value] for value in (statement["Action"], statement["Resource"])
        )
        yield from ((action, _place(resource)) for action in actions for resource in resources)


def test_the_page_lists_exactly_what_is_granted(secured: Assembly) -> None:
    page = (PROJECT / "docs" / "grants.md").read_text(encoding="utf-8")
    listed = [(action, place) for action, place, _ in ROW.findall(page)]
    assert set(_granted(secured)) == set(listed)
    assert len(listed) == len(set(listed))


def test_without_a_key_the_rest_is_granted(cloud: Assembly, secured: Assembly) -> None:
    assert {grant for grant in _granted(secured) if not grant[0].startswith("kms:")} == set(_granted(cloud))


def test_every_grant_has_a_reason() -> None:
    page = (PROJECT / "docs" / "grants.md").read_text(encoding="utf-8")
    assert [] == [row for row in ROW.findall(page) if len(row[2]) < 8]
