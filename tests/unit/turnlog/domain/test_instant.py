"""Instants: exact, and shown as they were given."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.domain.errors import InvalidRequest
from turnlog.domain.instant import Instant

MIN, MAX = Instant.parse("0001-01-01T00:00:00Z"), Instant.parse("9999-12-31T23:59:59.999999999Z")
instants = st.integers(MIN.ns, MAX.ns).map(Instant.of_ns)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-01T00:00:00Z",
        "2026-01-01T00:00:00.0Z",
        "2026-01-01T00:00:00.100Z",
        "2026-02-28T23:59:59.123456789Z",
        "2024-02-29T00:00:00Z",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59.999999999Z",
    ],
)
def test_a_text_in_utc_is_kept_as_it_is(text: str) -> None:
    assert str(Instant.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2026-01-01t00:00:00.5z", "2026-01-01T00:00:00.5Z"),
        ("2026-01-01T00:30:00+01:00", "2025-12-31T23:30:00Z"),
        ("2025-12-31T23:30:00.120-00:45", "2026-01-01T00:15:00.120Z"),
        ("2026-01-01T00:00:00-00:00", "2026-01-01T00:00:00Z"),
    ],
)
def test_an_offset_becomes_utc_and_the_fraction_stays(text: str, shown: str) -> None:
    assert Instant.parse(text).text == shown


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-01",
        "2026-01-01T00:00:00",
        "2026-01-01 00:00:00Z",
        "2026-01-01T00:00Z",
        "2026-1-1T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z",
        "2016-12-31T23:59:60Z",
        "0000-01-01T00:00:00Z",
        "2026-01-01T00:00:00.Z",
        "2026-01-01T00:00:00.1234567890Z",
        "2026-01-01T00:00:00+0100",
        "2026-01-01T00:00:00+24:00",
        "2026-01-01T00:00:00+00:60",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        " 2026-01-01T00:00:00Z",
        "2026-01-01T00:00:00Z\n",
        "٢٠٢٦-01-01T00:00:00Z",
    ],
)
def test_what_is_no_time_is_refused_with_its_pointer(text: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        Instant.parse(text, pointer="/events/0/timestamp")
    assert [error.pointer for error in refused.value.errors] == ["/events/0/timestamp"]


@given(st.datetimes(timezones=st.just(UTC)))
def test_it_agrees_with_datetime(moment: datetime) -> None:
    ns = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // (moment.resolution) * 1000
    assert Instant.parse(moment.isoformat().replace("+00:00", "Z")).ns == ns


@given(instants)
def test_a_number_comes_back_from_its_text(instant: Instant) -> None:
    again = Instant.parse(instant.text)
    assert (again.ns, again.text) == (instant.ns, instant.text)
    assert len(instant.text) in (24, 27, 30)


@given(instants, instants)
def test_instants_compare_by_time_alone(one: Instant, other: Instant) -> None:
    assert (one < other, one <= other, one == other) == (one.ns < other.ns, one.ns <= other.ns, one.ns == other.ns)


def test_equal_times_of_different_texts_are_equal() -> None:
    one, other = Instant.parse("2026-01-01T00:00:00Z"), Instant.parse("2026-01-01T00:00:00.000Z")
    assert one == other
    assert hash(one) == hash(other)
    assert one.text != other.text
    assert one != "2026-01-01T00:00:00Z"


def test_milliseconds_are_rounded_down() -> None:
    assert Instant.of_ms(1_767_225_600_123).text == "2026-01-01T00:00:00.123Z"
    assert Instant.parse("2026-01-01T00:00:00.123999Z").ms == 1_767_225_600_123
    assert Instant.parse("1969-12-31T23:59:59.9999Z").ms == -1


def test_seconds_are_added_and_the_calendar_has_an_end() -> None:
    assert Instant.parse("2026-01-01T00:00:00.5Z").plus_seconds(90).text == "2026-01-01T00:01:30.500Z"
    assert Instant.parse("2026-01-01T00:00:00Z").plus_seconds(-1).text == "2025-12-31T23:59:59.000Z"
    for seconds in (10**12, 10**30, -(10**12)):
        with pytest.raises(InvalidRequest, match="ttl_seconds"):
            Instant.parse("2026-01-01T00:00:00Z").plus_seconds(seconds)
