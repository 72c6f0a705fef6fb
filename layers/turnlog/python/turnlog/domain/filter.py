"""EventFilter: which events a read returns (spec/session 4)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Final, Literal

from .errors import InvalidRequest
from .event import SessionEvent, has_text
from .instant import Instant
from .message import ROLES, Role

MatchMode = Literal["any", "all"]
DEFAULT_PAGE_SIZE: Final = 10


@dataclass(frozen=True)
class EventFilter:
    """Criteria that all have to hold, then one window over the matches.

    ``archived``: None for both, False for the active events only, True for the archived only.
    ``pattern`` is a code-level facility; no remote caller may ever give one (spec 4.9).
    ``last_n`` and ``page``/``page_size`` exclude each other; a page counts from 0, oldest first.

    Raises:
        InvalidRequest: in the order of spec 4.3, naming the field.
    """

    from_: Instant | None = None
    to: Instant | None = None
    types: frozenset[Role] | None = None
    exclude_synthetic: bool = False
    archived: bool | None = None
    last_n: int | None = None
    keyword: str | None = None
    keywords: tuple[str, ...] | None = None
    match: MatchMode | None = None
    pattern: re.Pattern[str] | None = None
    page: int | None = None
    page_size: int | None = None
    branch: str | None = None

    def __post_init__(self) -> None:
        self._normalise()
        self._validate()

    def _normalise(self) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        put("keyword", self.keyword.lower() if self.keyword is not None and has_text(self.keyword) else None)
        words = tuple(w.lower() for w in self.keywords or () if w is not None and has_text(w))
        put("keywords", words or None)
        put("match", (self.match or "any") if words else None)
        put("types", frozenset(self.types) if self.types else None)
        if self.page is None and self.page_size is not None:
            put("page", 0)

    def _validate(self) -> None:
        if self.last_n is not None and self.last_n <= 0:
            raise InvalidRequest.at("last_n", "must be greater than 0")
        if self.last_n is not None and self.page_size is not None:
            raise InvalidRequest.at("last_n", "cannot be combined with page and page_size")
        if self.page_size is not None and self.page_size <= 0:
            raise InvalidRequest.at("page_size", "must be greater than 0")
        if self.page is not None and self.page < 0:
            raise InvalidRequest.at("page", "must not be negative")
        if self.page is not None and self.page_size is None:
            raise InvalidRequest.at("page", "needs page_size")
        if self.types and not self.types <= set(ROLES):
            raise InvalidRequest.at("types", f"must be of {', '.join(ROLES)}")
        if self.match not in (None, "any", "all"):
            raise InvalidRequest.at("match", "must be any or all")

    # ------------------------------------------------------------------ factories (spec 4.7)

    @classmethod
    def all(cls) -> EventFilter:
        """No criteria: everything, archived events included."""
        return cls()

    @classmethod
    def active(cls) -> EventFilter:
        """The active window only."""
        return cls(archived=False)

    @classmethod
    def last(cls, n: int) -> EventFilter:
        """The newest ``n`` events."""
        return cls(last_n=n)

    @classmethod
    def real_only(cls) -> EventFilter:
        """No synthetic events; archived ones included."""
        return cls(exclude_synthetic=True)

    @classmethod
    def keyword_search(cls, keyword: str, page: int = 0, page_size: int = DEFAULT_PAGE_SIZE) -> EventFilter:
        """One page of the events whose text holds ``keyword``."""
        return cls(keyword=keyword, page=page, page_size=page_size)

    @classmethod
    def keywords_search(cls, keywords: Iterable[str], match: MatchMode = "any") -> EventFilter:
        """The first page of the events whose text holds any or all of the words."""
        return cls(keywords=tuple(keywords), match=match, page=0, page_size=DEFAULT_PAGE_SIZE)

    @classmethod
    def pattern_search(cls, pattern: re.Pattern[str]) -> EventFilter:
        """The first page of the events in whose text the pattern finds something."""
        return cls(pattern=pattern, page=0, page_size=DEFAULT_PAGE_SIZE)

    @classmethod
    def for_branch(cls, branch: str) -> EventFilter:
        """What an agent on that branch sees."""
        return cls(branch=branch)

    # ------------------------------------------------------------------ use

    def matches(self, event: SessionEvent) -> bool:
        """Whether every criterion holds; the window is not looked at (spec 4.4)."""
        return (
            not (self.exclude_synthetic and event.synthetic)
            and (self.archived is None or self.archived == event.archived)
            and (self.branch is None or event.visible_to(self.branch))
            and (self.types is None or event.role in self.types)
            and (self.from_ is None or event.timestamp >= self.from_)
            and (self.to is None or event.timestamp <= self.to)
            and self._matches_text(event)
        )

    def _matches_text(self, event: SessionEvent) -> bool:
        if self.keyword is None and self.keywords is None and self.pattern is None:
            return True
        text = event.message.text
        if text is None:
            return False
        lowered = text.lower()
        if self.keyword is not None and self.keyword not in lowered:
            return False
        if self.keywords is not None:
            hits = (word in lowered for word in self.keywords)
            if not (all(hits) if self.match == "all" else any(hits)):
                return False
        return self.pattern is None or self.pattern.search(text) is not None

    def apply(self, events: Iterable[SessionEvent]) -> list[SessionEvent]:
        """Match, then cut the window: the reference for every store (spec 4.6)."""
        return self.window([e for e in events if self.matches(e)])

    def window(self, matches: Sequence[SessionEvent]) -> list[SessionEvent]:
        """The window over matches that stand oldest first."""
        if self.last_n is not None:
            return list(matches[-self.last_n :])
        if self.page is not None and self.page_size is not None:
            start = self.page * self.page_size
            return list(matches[start : start + self.page_size])
        return list(matches)

    def without_window(self) -> EventFilter:
        """The criteria alone."""
        return replace(self, last_n=None, page=None, page_size=None)

    def merge(self, other: EventFilter | None) -> EventFilter:
        """This filter overridden by ``other`` (spec 4.8): its set fields win whole, exclusions
        add up and can't be taken back, ``last_n`` and the page are one unit."""
        if other is None:
            return self
        changes: dict[str, object] = {}
        for f in fields(self):
            value = getattr(other, f.name)
            if value is not None and f.name not in _MERGED_APART:
                changes[f.name] = value
        changes["exclude_synthetic"] = self.exclude_synthetic or other.exclude_synthetic
        if other.archived is not None and self.archived is not False:
            changes["archived"] = other.archived
        if other.last_n is not None or other.page_size is not None:
            changes.update(last_n=other.last_n, page=other.page, page_size=other.page_size)
        return replace(self, **changes)  # type: ignore[arg-type]


_MERGED_APART: Final = frozenset({"exclude_synthetic", "archived", "last_n", "page", "page_size"})
