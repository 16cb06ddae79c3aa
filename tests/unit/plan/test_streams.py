"""Scenarios of streams."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.scenario_text import read, reject
from wirebench.plan.plan import make_plan

SCENARIO = """\
question: Which transport streams best?
factors:
  transport: [rest, grpc, socket]
  operation: ledger.stream_transactions
  stream_rate_limit_per_s: [100, none]
"""


def test_streams_are_planned_with_their_number_of_items(tmp_path: Path) -> None:
    """A scenario that doesn't say it has streams of 1,000 items; `none` is no limit; cells have names of their own."""
    plan = make_plan(read(tmp_path, SCENARIO), seed=1)
    assert [(1000, 100), (1000, None)] * 3 == [(each.stream_items, each.stream_rate_limit_per_s) for each in plan.cells]
    assert 6 == len({each.id for each in plan.cells})
    assert plan.cells[0].id.endswith("-i1000-l100-c1")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "stream_transactions",
            "get_balance",
            "5: factors.stream_rate_limit_per_s: ledger.get_balance is not a stream",
        ),
        ("  stream_rate", "  stream_items: 10\n  payload: 512k\n  stream_rate", "6: factors.payload"),
        ("  stream_rate", "  driver: {grpc: ghz}\n  stream_rate", "5: factors.driver.grpc: ghz can't drive ledger"),
        ("  stream_rate", "  codec: {rest: protobuf}\n  stream_rate", "5: factors.codec.rest: REST streams are Server"),
        ("  stream_rate", "  stream_items: 0\n  stream_rate", "5: factors.stream_items: must be at least 1 (it is 0)"),
        (
            "  operation: ledger.stream_transactions",
            "  operation: reads",
            "6: load.workloads.reads.mix.ledger.stream_transactions",
        ),
    ],
)
def test_streams_that_cannot_be_are_rejected(tmp_path: Path, old: str, new: str, said: str) -> None:
    """What streams can't have, and what only streams have, is one line with its place."""
    text = SCENARIO.replace(old, new)
    if "reads" in new:
        text += "load: {workloads: {reads: {mix: {ledger.stream_transactions: 1}}}}\n"
    reject(tmp_path, text, said)
