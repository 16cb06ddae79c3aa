"""Queries are read strictly: what isn't understood is rejected with the reason."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from wirebench.store.query import Filters, ParameterError


def test_a_filter_has_the_levels_that_are_given() -> None:
    """Repeated, by an alias or with commas between, each once; empty fields of a form are none."""
    pairs = [
        ("protocol", "rest,grpc"),
        ("transport", "grpc"),
        ("scenario", ""),
        ("concurrency", "16,1"),
        ("run_id", "a,,b"),
    ]
    expected = Filters(protocol=("rest", "grpc"), transport=("grpc",), concurrency=(16, 1), run_id=("a", "b"))
    found = Filters.read(pairs)
    assert (expected, {"rest", "grpc"}) == (found, {*found.transports})


@pytest.mark.parametrize(
    ("given", "since", "until"),
    [
        ("2026-11-21", datetime(2026, 11, 21, tzinfo=UTC), datetime(2026, 11, 21, 23, 59, 59, 999_999, tzinfo=UTC)),
        ("2026-11-21T10:15:00Z", *[datetime(2026, 11, 21, 10, 15, tzinfo=UTC)] * 2),
        ("2026-11-21 10:15:00.5-02:00", *[datetime(2026, 11, 21, 12, 15, 0, 500_000, tzinfo=UTC)] * 2),
        ("2026-11-21T10:15 02:00", *[datetime(2026, 11, 21, 8, 15, tzinfo=UTC)] * 2),
    ],
)
def test_a_date_counts_as_a_whole(given: str, since: datetime, until: datetime) -> None:
    """From its first moment to its last; times are in UTC, and a plus may have become a space on its way."""
    filters = Filters.read([("since", given), ("until", given)])
    assert (since, until) == (filters.since, filters.until)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("protocol", "http", "protocol: must be 'rest', 'grpc' or 'socket' (it is 'http')"),
        ("concurrency", "0", "concurrency: must be at least 1 (it is '0')"),
        ("concurrency", "٣", "concurrency: must be a valid integer"),
        ("concurrency", "9" * 100, "concurrency: must be at most 10000 (it is '999"),
        ("since", "yesterday", "since: 'yesterday' isn't a date or time such as 2026-11-21 or 2026-11-21T10:15:00Z"),
        ("until", "9999-12-31T23:59:59-10:00", "until: '9999-12-31T23:59:59-10:00' isn't a date or time such as"),
        ("since", "0001-01-01T00:00:00+10:00", "since: '0001-01-01T00:00:00+10:00' isn't a date or time such as"),
        ("scenario", "a\x00b", "scenario: has characters that can't be printed"),
        ("client", "curl", "client: must be 'wireload'"),
        ("codec", "json", "codec: there is no such parameter"),
    ],
)
def test_what_is_malformed_is_rejected(name: str, value: str, message: str) -> None:
    """With the parameter and the reason."""
    with pytest.raises(ParameterError) as caught:
        Filters.read([(name, value)])
    assert caught.value.message.startswith(message)
    assert name == caught.value.parameter
    assert caught.value.hint
