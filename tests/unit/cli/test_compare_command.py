"""`wirebench compare`: what it prints, and the exit status that a build can rely on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command_line import reject, wirebench
from tests.support.report_run import GENERATOR_GATE, RunBuilder, cell, passed
from wirebench.model.record import Record

CELLS = (cell("rest"), cell("grpc"))


def write(folder: Path, name: str, factor: float = 1.0, *, fit: bool = True, blocks: int = 3) -> Path:
    """Write a run in which gRPC serves `factor` of 1,000 requests/s, and REST 1,000; return its folder."""

    def change(record: Record) -> dict[str, float]:
        return {"rate_achieved_per_s": (1000 + record.block) * (factor if record.factors["transport"] == "grpc" else 1)}

    gates = (passed() if fit else GENERATOR_GATE,)
    builder = RunBuilder(CELLS, blocks=blocks, samples=500, info={"id": name}, gates=gates, record=change)
    return builder.write(folder).folder


def test_a_regression_fails_what_asks_for_it(tmp_path: Path) -> None:
    """Exit 1 with --fail-on-regression, and only then."""
    write(tmp_path, "a-base")
    write(tmp_path, "b-head", 0.8)
    compare = ("compare", "a-base", "last", "--out", tmp_path)
    status, shown, _ = wirebench(*compare, "--fail-on-regression")
    assert 1 == status
    assert "  • gRPC: slower beyond the margin" in shown
    assert "2 cells in both runs, head against base: equivalent in 1, slower in 1; 1 is slower by more than" in shown
    (row,) = (line for line in shown.splitlines() if line.startswith("gRPC"))
    assert ["gRPC", "slower", "0.80×", "0.80–0.80"] == row.split()[:4]
    assert ["1,002", "802"] == row.split()[-2:]
    assert 0 == wirebench(*compare).status


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("a-base", "nothing"), "no run 'nothing'"),
        (("a-base", "c-empty"), "a-base and c-empty have measured no cell in common"),
    ],
)
def test_what_cannot_be_compared_is_wrong_usage(tmp_path: Path, names: tuple[str, ...], said: str) -> None:
    """There is one clear line, a next step, and status 2."""
    write(tmp_path, "a-base", blocks=1)
    write(tmp_path, "c-empty", blocks=0)
    assert said in reject("compare", *names, "--out", tmp_path)
