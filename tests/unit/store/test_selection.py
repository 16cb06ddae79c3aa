"""Queries are read strictly: what isn't understood is rejected with the reason."""

from __future__ import annotations

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
    ("name", "value", "message"),
    [
        ("protocol", "http", "protocol: must be 'rest', 'grpc' or 'socket' (it is 'http')"),
        ("concurrency", "0", "concurrency: must be at least 1 (it is '0')"),
        ("concurrency", "٣", "concurrency: must be a valid integer"),
        ("concurrency", "9" * 100, "concurrency: must be at most 10000 (it is '999"),
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
