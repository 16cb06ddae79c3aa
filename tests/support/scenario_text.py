"""Scenario files for tests: what is good about one is changed into what is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from wirebench.errors import UsageError
from wirebench.model.contract import TargetName
from wirebench.model.scenario import Scenario
from wirebench.plan.load import read_scenario
from wirebench.plan.overrides import Override
from wirebench.plan.plan import make_plan

GOOD = """\
question: Which transport?
factors:
  transport: [rest, grpc, socket]
  operation: users.get
  concurrency: [1, 16]
  driver: {rest: k6, grpc: [wireload, ghz]}
load: {model: closed, warmup_s: 0.5, window_s: 1}
blocks: 3
"""
DRIVEN = """\
question: x
factors:
  transport: [rest, grpc]
  driver: {rest: [oha, k6], grpc: [ghz, wireload]}
  operation: users.get
compare: driver
"""
HTTP = """\
question: x
factors:
  transport: [rest, grpc]
  implementation: go
  http: {rest: [1, 2]}
  codec: {rest: [json, protobuf]}
"""
CROSS_CHECKED = """\
question: x
factors:
  transport: [rest, grpc]
  operation: [users.get, users.create]
  concurrency: [1, 16]
cross_check: {driver: {rest: [k6, oha], grpc: ghz}, operation: users.get, concurrency: 16}
"""
WORKLOADS = """\
question: Which transport?
factors:
  transport: [rest, grpc]
  operation: [crud, shop]
  payload: profile
  concurrency: 10
load:
  workloads:
    crud: {sequence: [users.create, users.update, users.get, users.delete]}
    shop: {mix: {users.get: 8, users.list: 1, users.create: 2, users.delete: 1}}
"""
SWEEP = """\
question: Where does it break?
factors: {transport: [rest, grpc]}
load: {model: sweep, concurrency_max: 48}
"""
OPEN = """\
question: Does it keep up?
factors: {transport: [rest, grpc], rate_per_s: 100, concurrency: {rest: [4, 16], grpc: 16}, operation: users.get}
load: {model: open, concurrency_max: 48}
"""
CALLS = """\
question: What do 500 calls take?
factors: {transport: [rest, grpc]}
load: {model: calls, calls: 500}
"""
PHASES = """\
question: In phases?
factors: {transport: [rest, grpc], operation: crud}
load:
  model: calls
  calls: 40
  workloads:
    crud: {phases: [users.create, users.list, users.get, users.delete]}
"""
CAPACITY = """\
question: What does it serve?
factors: {transport: [rest, grpc], concurrency: 16}
load:
  model: capacity
  objective: {p99_ms: 50}
  window_s: 2
"""
SPAWNED = """\
question: How?
factors: {transport: rest, concurrency: 21}
load: {spawn_rate_per_s: 10, warmup_s: 2}
"""
STREAMS = """\
question: Which transport streams best?
factors:
  transport: [rest, grpc]
  operation: ledger.stream_transactions
  stream_rate_limit_per_s: [100, none]
"""
REPLAY = """\
question: Who waits?
factors: {transport: [rest, socket], concurrency: 8}
load: {model: replay, timing: timing.json}
"""


def read(tmp_path: Path, text: str, *overrides: Override) -> Scenario:
    """Read a scenario of this text, with overrides."""
    path = tmp_path / "scenario.yaml"
    path.write_text(text, encoding="utf-8")
    return read_scenario(path, overrides=overrides)


def reject(tmp_path: Path, text: str, expected: str, target: TargetName = "local") -> str:
    """Check that a scenario of this text is rejected, with this after its name; return the next step."""
    with pytest.raises(UsageError) as error:
        make_plan(read(tmp_path, text), 1, target)
    expected = f"{tmp_path}/scenario.yaml:{expected}"
    assert expected == error.value.message[: len(expected)]
    assert error.value.hint
    return error.value.hint
