"""What the benchmark prints: measured values beside the targets of the design, and what is not built yet."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class NotYet:
    """A target of a part that a later issue builds."""

    name: str
    target: str
    issue: int


NOT_YET: Final = (
    NotYet("conversations a/b/c with recall: write units", "<= 130 / 190 / 500", 6),
    NotYet("conversations a/b/c with recall: $ per million turns", "<= 1.88 / 2.88 / 2.16", 6),
    NotYet("conversations a/b/c: search", "part of the conversation's dollars", 6),
)
"""Targets that wait for a later issue. The list may only shrink: a test pins the most that it may hold."""


@dataclass(frozen=True, slots=True)
class Row:
    """One measured value. `met` is None for a value that is shown only."""

    name: str
    measured: str
    target: str = ""
    met: bool | None = None


@dataclass(slots=True)
class Report:
    """The rows in groups, printed as they come."""

    rows: list[Row] = field(default_factory=list)

    def group(self, title: str) -> None:
        """Begin a group of rows."""
        print(f"\n{title}", flush=True)

    def add(self, *rows: Row) -> None:
        """Print the rows and keep them for the summary."""
        for row in rows:
            verdict = {None: "", True: "met", False: "MISSED"}[row.met]
            print(f"  {row.name:<58} {row.measured:<46} {row.target:<44} {verdict}".rstrip(), flush=True)
            self.rows.append(row)

    def not_yet(self, waiting: Iterable[NotYet]) -> None:
        """Print the targets that wait for a later issue."""
        for one in waiting:
            print(f"  {one.name:<58} {f'not yet (issue {one.issue})':<46} {one.target}", flush=True)

    @property
    def missed(self) -> list[Row]:
        """The rows whose target is missed."""
        return [row for row in self.rows if row.met is False]

    def summary(self, waiting: Sequence[NotYet]) -> str:
        """The last line."""
        met = sum(row.met is True for row in self.rows)
        return f"bench: {met} targets met, {len(self.missed)} missed, {len(waiting)} not yet"


def at_most(name: str, value: float, limit: float, *, unit: str = "", shown: str = "") -> Row:
    """A row whose value must not be above a limit."""
    measured = shown or f"{_number(value)}{unit}"
    return Row(name, measured, f"<= {_number(limit)}{unit}", value <= limit)


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
