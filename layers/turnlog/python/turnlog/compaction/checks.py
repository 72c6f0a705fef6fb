"""What parameters of triggers and strategies may be."""

from __future__ import annotations

from ..domain.errors import InvalidRequest


def positive(name: str, value: object) -> None:
    """Refuse what is not a whole number above 0; raises ``InvalidRequest`` that names it."""
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise InvalidRequest.at(f"/{name}", "must be a whole number greater than 0")
