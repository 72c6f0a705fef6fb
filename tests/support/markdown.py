"""Markdown as a renderer sees it: links, and the anchors of headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)")


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return _FENCED.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> Iterator[tuple[str, str, str]]:
    """Each relative link: as it is written, its path ("" for the page itself) and its anchor or ""."""
    for match in _LINK.finditer(prose(page)):
        yield match[0], match[1], match[2] or ""


def anchors(page: Path) -> set[str]:
    """What can stand after # to reach a heading. A heading that comes again gets -1, -2, …"""
    found: set[str] = set()
    seen: dict[str, int] = {}
    for heading in re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE):
        slug = _slug(heading)
        found.add(f"{slug}-{seen[slug]}" if slug in seen else slug)
        seen[slug] = seen.get(slug, 0) + 1
    return found


def _slug(heading: str) -> str:
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
