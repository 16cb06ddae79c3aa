"""A load in words, as lists and reports show it."""

from __future__ import annotations

from collections.abc import Iterator

from wirebench.scenario.model import Load


def describe_load(load: Load) -> str:
    """Name the model of a load, and what it sets besides rates, warm-up and window."""
    return ", ".join(_parts(load))


def _parts(load: Load) -> Iterator[str]:
    yield f"{load.calls:,} calls a connection" if load.calls else load.model
    if load.warmup_calls:
        yield f"{load.warmup_calls:,} to warm up"
    if load.spawn_rate_per_s is not None:
        yield f"{load.spawn_rate_per_s:g} users start a second"
    if load.timeout_s is not None:
        yield f"timeout {load.timeout_s:g} s"
