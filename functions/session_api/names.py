"""What can name a tenant or a user, wherever the name comes from."""

from __future__ import annotations

import unicodedata

from turnlog.domain.event import has_text


def names_somebody(text: str) -> bool:
    """Whether it has text, and holds neither control characters nor lone surrogates."""
    return has_text(text) and not any(unicodedata.category(c) in ("Cc", "Cs") for c in text)
