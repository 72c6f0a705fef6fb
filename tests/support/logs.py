"""What docs/operations.md says of logs: the tables of fields, and the queries of CloudWatch Logs Insights."""

from __future__ import annotations

import re
from dataclasses import dataclass

COMMANDS = {"filter", "stats", "sort", "fields", "limit", "by", "as", "and", "or", "desc", "asc"}
FUNCTIONS = {"count", "sum", "avg", "pct", "ispresent"}
"""What the query language itself says."""


@dataclass(frozen=True)
class Query:
    """One query. ``fields`` are the names that a log line must have; what a query names itself is not among them."""

    text: str

    @property
    def fields(self) -> set[str]:
        """Names of fields, those that CloudWatch adds (``@timestamp``) aside."""
        bare = re.sub(r'"[^"]*"', "", self.text)
        named_here = set(re.findall(r"\bas (\w+)", bare))
        return set(re.findall(r"(?<![@\w])[A-Za-z_]\w*", bare)) - COMMANDS - FUNCTIONS - named_here


def queries(page: str, log: str) -> list[Query]:
    """The queries that are marked as one log's."""
    return [
        Query(text)
        for text in re.findall(rf"^<!-- query: {log} -->\n```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    ]


def fields_of_table(page: str, after: str) -> set[str]:
    """The names in the first column of the first table after a phrase."""
    table = re.search(r"^\|.*?^$", page[page.index(after) :], re.MULTILINE | re.DOTALL)
    assert table is not None, after
    first = [line.split("|")[1] for line in table[0].splitlines()[2:] if line]
    return {name for cell in first for name in re.findall(r"`([^`]+)`", cell)}
