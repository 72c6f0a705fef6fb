"""Points in time that keep their text.

A timestamp is data, never an order (DESIGN 2), so it has to come back as it was given: up to nine
fractional digits, trailing zeros included. ``datetime`` holds six and forgets the zeros.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache, total_ordering
from typing import Final

from .errors import InvalidRequest

_RFC3339: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:([Zz])|([+-])(\d\d):(\d\d))", re.ASCII
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
NS: Final = 1_000_000_000
_FIRST_NS: Final = -62_135_596_800 * NS
_END_NS: Final = 253_402_300_800 * NS
"""The first instant of the year 10000."""


@total_ordering
@dataclass(frozen=True, eq=False)
class Instant:
    """A UTC instant: ``ns`` since the epoch for comparing, ``text`` (RFC 3339, ``Z``) for showing.

    ``given`` is the text that it came as, if it came as text; otherwise one is made when somebody looks.
    """

    ns: int
    given: str | None = field(default=None, repr=False)

    @cached_property
    def text(self) -> str:
        """RFC 3339 with ``Z``: as given, or with 3, 6 or 9 fractional digits."""
        return _text(self.ns) if self.given is None else self.given

    @classmethod
    def parse(cls, text: str, *, pointer: str = "timestamp") -> Instant:
        """From RFC 3339 text with a zone. The text is kept; an offset is turned into ``Z``.

        Raises:
            InvalidRequest: no zone, a date that does not exist, a leap second, or more than nine
                fractional digits (nothing is ever cut in silence).
        """
        found = _RFC3339.fullmatch(text)
        if not found:
            raise InvalidRequest.at(
                pointer, f"{text[:64]!r} is not an RFC 3339 time with a zone, such as 2026-01-31T12:00:00.000Z"
            )
        year, month, day, hour, minute, second = (int(found[i]) for i in range(1, 7))
        fraction = found[7] or ""
        if len(fraction) > 9:
            raise InvalidRequest.at(pointer, f"has {len(fraction)} fractional digits; at most 9 can be kept")
        if second == 60:
            raise InvalidRequest.at(pointer, f"{text[:64]!r} is a leap second, which cannot be kept")
        try:
            moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
            if found[9]:
                if int(found[10]) > 23 or int(found[11]) > 59:
                    raise ValueError("the zone's offset is out of range")
                offset = timedelta(hours=int(found[10]), minutes=int(found[11]))
                moment -= offset if found[9] == "+" else -offset
        except (ValueError, OverflowError) as bad:
            raise InvalidRequest.at(pointer, f"{text[:64]!r} is not a time: {bad}") from None
        ns = _seconds(moment) * NS + int(fraction.ljust(9, "0") or 0)
        return cls(ns, _clock_text(moment) + (f".{fraction}" if fraction else "") + "Z")

    @classmethod
    def of_ns(cls, ns: int) -> Instant:
        """From nanoseconds since the epoch.

        Raises:
            OverflowError: beyond the year 9999 or before the year 1.
        """
        if not _FIRST_NS <= ns < _END_NS:
            raise OverflowError(f"{ns} ns lie outside the years 1 to 9999")
        return cls(ns)

    @classmethod
    def of_ms(cls, ms: int) -> Instant:
        """From milliseconds since the epoch."""
        ns = ms * 1_000_000
        return cls(ns) if _FIRST_NS <= ns < _END_NS else cls.of_ns(ns)

    @property
    def ms(self) -> int:
        """Whole milliseconds since the epoch, rounded down."""
        return self.ns // 1_000_000

    def plus_seconds(self, seconds: int) -> Instant:
        """A later (or, with a negative number, an earlier) instant.

        Raises:
            InvalidRequest: beyond the year 9999 or before the year 1.
        """
        try:
            return Instant.of_ns(self.ns + seconds * NS)
        except OverflowError:
            raise InvalidRequest.at("ttl_seconds", "the time lies beyond the year 9999") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Instant) and other.ns == self.ns

    def __lt__(self, other: Instant) -> bool:
        return self.ns < other.ns

    def __hash__(self) -> int:
        return hash(self.ns)

    def __str__(self) -> str:
        return self.text


def _seconds(moment: datetime) -> int:
    delta = moment - _EPOCH
    return delta.days * 86_400 + delta.seconds


def _clock_text(moment: datetime) -> str:
    return moment.isoformat()[:19]


def _text(ns: int) -> str:
    seconds, rest = divmod(ns, NS)
    digits = f"{rest:09d}"
    if rest % 1_000 == 0:
        digits = digits[:6] if rest % 1_000_000 else digits[:3]
    day, second = divmod(seconds, 86_400)
    minute = second // 60
    return f"{_day_text(day)}{minute // 60:02d}:{minute % 60:02d}:{second % 60:02d}.{digits}Z"


@lru_cache(maxsize=1024)
def _day_text(day: int) -> str:
    """The date of a day since the epoch, and the ``T``. Remembered: the events of a session share few days."""
    return (_EPOCH + timedelta(days=day)).isoformat()[:11]
