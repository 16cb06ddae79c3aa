"""Two runs compared: verdicts, what withholds them, and what is said of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.report_run import Gates, RunBuilder, cell, passed
from wirebench.analysis.compare_runs import RunComparison, compare_runs
from wirebench.errors import UsageError
from wirebench.model.cell import Cell
from wirebench.model.record import Gate
from wirebench.model.run_info import Run
from wirebench.present.comparison import make_comparison_view
from wirebench.present.two_runs import make_run_comparison_view

REST, GRPC = cell("rest"), cell("grpc")
MACHINE = {"cpu": "Some CPU", "cores": "2", "memory": "24 GiB", "core_separation": "server on core 0"}


@dataclasses.dataclass(frozen=True)
class Maker:
    """Writes runs whose rates and latencies are known but for a noise of 1 %."""

    folder: Path

    def __call__(
        self,
        name: str,
        *cells: Cell,
        rate_per_s: float = 1000.0,
        blocks: int = 4,
        info: Mapping[str, Any] = {},
        gates: Gates = RunBuilder.gates,
    ) -> Run:
        """Return a run."""
        random = np.random.default_rng(len(name) + ord(name[0]))
        builder = RunBuilder(
            cells=cells or (REST,),
            blocks=blocks,
            samples=500,
            info={"id": f"20260101T000000Z-{name}", "machine": MACHINE, **info},
            gates=gates,
            record=lambda _: {"rate_achieved_per_s": rate_per_s * random.lognormal(0, 0.01)},
        )
        return builder.write(self.folder)


@pytest.fixture
def make(tmp_path: Path) -> Maker:
    """Return what writes runs."""
    return Maker(tmp_path)


def verdicts(found: RunComparison) -> list[str]:
    """Return the verdicts in the order of the cells."""
    return [change.verdict for change in found.changes]


def list_caveats(found: RunComparison) -> tuple[str, ...]:
    """Return what is said beside the verdicts."""
    return make_run_comparison_view(found).caveats


@pytest.mark.parametrize(
    ("rate_per_s", "verdict", "regressed"),
    [(800, "slower", True), (1250, "faster", False), (1000, "equivalent", False)],
)
def test_the_verdict_is_on_head(make: Maker, rate_per_s: float, verdict: str, regressed: bool) -> None:  # noqa: FBT001
    """What serves more in head is faster; only what is slower beyond the margin is a regression."""
    (change,) = compare_runs(make("base"), make("head", rate_per_s=rate_per_s)).changes
    assert (verdict, regressed) == (change.verdict, change.regressed)
    assert rate_per_s / 1000 == pytest.approx(change.ratios["throughput"].estimate, rel=0.03)


@pytest.mark.parametrize(
    ("gates", "base_gates", "rate_per_s", "verdict"),
    [
        (("rate_error", "dropped_iterations"), (), 600, "slower"),
        (("rate_error",), (), 1500, "withheld"),
        (("rate_error", "generator_cpu"), (), 600, "withheld"),
        (("rate_error",), ("rate_error",), 600, "withheld"),
    ],
)
def test_a_head_that_gave_way_is_a_regression(
    make: Maker, gates: tuple[str, ...], base_gates: tuple[str, ...], rate_per_s: float, verdict: str
) -> None:
    """Overload makes figures look better, so what is worse all the same is worse; not if the generator gave way."""

    def fail(names: tuple[str, ...]) -> tuple[Gate, ...]:
        return tuple(passed(name, passed=False, value=1.0) for name in names)

    base = make("base", gates=fail(base_gates))
    found = compare_runs(base, make("head", rate_per_s=rate_per_s, gates=fail(gates)))
    (change,) = found.changes
    assert (verdict, verdict == "slower") == (change.verdict, change.regressed)
    assert ("gave way under the load" in make_comparison_view(change).sentence) == change.regressed


@pytest.mark.parametrize(("of_base", "of_head", "verdict"), [(0.002, 0.011, "slower"), (0.03, 0.018, "withheld")])
def test_other_programs_take_about_as_much_beside_both(
    make: Maker, of_base: float, of_head: float, verdict: str
) -> None:
    """On average over the blocks; where they don't, nothing is a regression either."""

    def disturb(share: float) -> Callable[[Cell, int], tuple[Gate, ...]]:
        return lambda _cell, block: (passed("interference", value=share * (0.5 if block % 2 else 1.5)),)

    base = make("base", gates=disturb(of_base))
    (change,) = compare_runs(base, make("head", rate_per_s=800, gates=disturb(of_head))).changes
    assert (verdict, verdict == "slower") == (change.verdict, change.regressed)
    reason = "(other programs took more CPU time beside one of the runs)"
    assert (reason in make_comparison_view(change).sentence) == (verdict == "withheld")


def test_slower_by_less_than_the_margin_is_no_regression(make: Maker) -> None:
    """A margin is what makes no difference to the asker: to leave it out takes more than to leave out 1."""
    margin = {"equivalence_margin": 0.2}
    found = compare_runs(make("base"), make("head", rate_per_s=840, info=margin))
    assert ["slower"] == verdicts(found)
    assert () == found.regressions
    assert "none is slower by more than 20 %, significantly" in make_run_comparison_view(found).summary


@pytest.mark.parametrize(
    ("rate_per_s", "reference_us", "verdict"),
    [
        (700, (1000.0, 1040.0), "slower"),
        (700, (1000.0, 1430.0), "inconclusive"),
        (700, (1430.0, 1000.0), "slower"),
        (1430, (1430.0, 1000.0), "inconclusive"),
        (350, (1000.0, 1430.0), "slower"),
        (1000, (1000.0, 1430.0), "inconclusive"),
    ],
)
def test_a_verdict_holds_whether_figures_follow_the_machines_speed_or_not(
    make: Maker, rate_per_s: float, reference_us: tuple[float, float], verdict: str
) -> None:
    """What a machine of another speed explains is no verdict; what is more than that is one."""
    base, head = (
        with_reference(make(name, rate_per_s=each_per_s), each_us)
        for name, each_per_s, each_us in zip(("base", "head"), (1000, rate_per_s), reference_us, strict=True)
    )
    found = compare_runs(base, head)
    (change,) = found.changes
    assert (verdict, verdict == "slower") == (change.verdict, change.regressed)
    differs = reference_us != (1000.0, 1040.0)
    assert differs == any("the time for a fixed piece of work in head" in sentence for sentence in list_caveats(found))


def with_reference(run: Run, reference_us: float) -> Run:
    """Return a run on a machine of this speed."""
    records = (record.model_copy(update={"reference_us": reference_us}) for record in run.records)
    return dataclasses.replace(run, records=tuple(records))


@pytest.mark.parametrize(
    ("info", "reason"),
    [
        ({"machine": MACHINE | {"cores": "4"}}, "the machines differ"),
        ({"machine": MACHINE | {"core_separation": "server and generator share core 0"}}, "the machines differ"),
        ({"target": "kubernetes"}, "the targets differ"),
        ({"versions": {"wireload": "2.0.0"}}, "another version of wireload"),
        (
            {"scenario_text": "question: q\nfactors: {transport: rest}\nload: {model: calls, calls: 50}\n"},
            "the loads differ",
        ),
        ({"scenario_text": "no: scenario"}, "the loads may differ"),
    ],
)
def test_what_is_measured_on_or_with_keeps_figures_apart(make: Maker, info: dict[str, Any], reason: str) -> None:
    """The ratio is shown, and the sentence says why there is no verdict."""
    found = compare_runs(make("base"), make("head", rate_per_s=500, info=info))
    assert (["withheld"], (reason,)) == (verdicts(found), found.changes[0].reasons)
    assert f"no verdict on head against base ({reason}): 0.50×" in make_comparison_view(found.changes[0]).sentence


@pytest.mark.parametrize(
    "info",
    [
        {"versions": {"grpcio": "2.0.0", "wireload": "0.1.0", "ghz": "9"}},  # ghz measured none of these cells
        {"commit": "feedbeef"},
        {"machine": MACHINE | {"kernel": "Linux 9", "memory": "23.9 GiB"}},
        {"scenario_text": "question: q\nfactors: {transport: rest}\nload: {window_s: 9}\n"},
    ],
)
def test_what_is_measured_may_differ(make: Maker, info: dict[str, Any]) -> None:
    """Another version of a service, a commit, a kernel or a longer window is said, and judged."""
    found = compare_runs(make("base"), make("head", rate_per_s=500, info=info))
    assert ["slower"] == verdicts(found)
    assert next(iter(info.values())) != found.base.model_dump()[next(iter(info))]
    assert found.differences
    assert all(not each.reason for each in found.differences)


def test_loads_differ_where_they_are_used(make: Maker) -> None:
    """A workload of the same name that does something else keeps its own cells apart, and no others."""
    text = "question: q\nfactors: {{transport: rest}}\nload: {{workloads: {{crud: {{mix: {}}}}}}}\n"
    crud = cell("rest", operation="crud")
    base = make("base", REST, crud, info={"scenario_text": text.format("{users.get: 1}")})
    head = make("head", REST, crud, info={"scenario_text": text.format("{users.get: 2}")})
    found = {str(change.subject.factors["operation"]): change.reasons for change in compare_runs(base, head).changes}
    assert {"users.get": (), "crud": ("the loads differ",)} == found


@pytest.mark.parametrize("names", [("same", "same"), ("base", "head")])
def test_runs_with_nothing_in_common_are_rejected(make: Maker, names: tuple[str, str]) -> None:
    """A run and itself, and runs without a cell of equal factors."""
    base = make(names[0], REST)
    head = base if names[0] == names[1] else make(names[1], GRPC)
    with pytest.raises(UsageError, match=r"are the same run|no cell in common: .* differ in .*transport"):
        compare_runs(base, head)
