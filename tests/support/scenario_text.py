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
