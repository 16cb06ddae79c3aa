"""docs/findings.md: what bundles come to, and that the page in the repository is of the bundles beside it."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.findings import page
from benchmarks.findings.finding import Finding, read_findings
from benchmarks.findings.page import BUNDLES, count_lines, list_scenarios, wrap, write_page
from tests.support.report_run import GENERATOR_GATE, RunBuilder, cell, passed
from wirebench.cli.list_ import plan_anywhere
from wirebench.errors import UsageError
from wirebench.model.cell import Cell
from wirebench.model.metric import METRICS
from wirebench.plan.load import read_scenario
from wirebench.results.bundle.write import write_bundle
from wirebench.results.runs import Run


def write_quick(bundle: Path, folder: Path, grpc_speed_up: float = 1.0, cells: Sequence[Cell] = ()) -> None:
    """Bundle a run of the scenario quick, with a placeholder for a report."""

    def write_report(_: Run, path: Path) -> Path:
        path.write_text("<p>a report</p>", encoding="utf-8")
        return path

    builder = RunBuilder(speed_up=lambda cell: grpc_speed_up if cell.transport == "grpc" else 1.0)
    builder = replace(builder, cells=cells or builder.cells)
    write_bundle(builder.write(folder), write_report, bundle)


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bundle."""
    path = tmp_path_factory.mktemp("quick") / "quick.wirebench.tar.gz"
    write_quick(path, path.parent / "run")
    return path


@pytest.fixture
def bundles(tmp_path: Path, quick: Path) -> Path:
    """Return a folder with that bundle."""
    folder = tmp_path / "bundles"
    folder.mkdir()
    shutil.copy(quick, folder)
    return folder


def test_a_bundle_becomes_a_finding(bundles: Path, tmp_path: Path) -> None:
    """Its verdict stands where the advice is, with an interval and a link; the others wait."""
    text = " ".join(write_page(bundles, tmp_path / "docs").read_text().split())
    assert "A small read, 16 connections: gRPC is faster than REST: " in text
    assert "95 % CI" in text
    assert "([`quick`](#quick))" in text
    found, missing = text.split("## Findings")[1].split("## Not measured yet")
    assert "### quick" in found
    assert "digest `" in found
    assert "wirebench run" in found
    assert "`quick`" not in missing
    assert all(f"`{name}`" in missing for name in list_scenarios() if name != "quick")
    assert "<svg" in (tmp_path / "docs/findings/quick.svg").read_text()


def test_what_the_answer_says_is_not_said_again(tmp_path: Path) -> None:
    """A run of one comparison has no figures beyond its answer."""
    write_quick(tmp_path / "quick.wirebench.tar.gz", tmp_path / "run", cells=(cell("rest"), cell("grpc")))
    (into := tmp_path / "unpacked").mkdir()
    finding = read_findings(tmp_path, into)["quick"]
    assert "gRPC is faster than REST" in finding.answer[0]
    assert [] == finding.figures


def test_another_run_gives_other_figures(bundles: Path, tmp_path: Path) -> None:
    """Figures are those of the bundle, and none is typed."""
    situation = "A small read, 16 connections: "
    before = " ".join(write_page(bundles, tmp_path / "before").read_text().split())
    write_quick(bundles / "quick.wirebench.tar.gz", tmp_path / "slower", grpc_speed_up=0.5)
    after = " ".join(write_page(bundles, tmp_path / "after").read_text().split())
    assert f"{situation}gRPC is faster than REST: " in before
    assert situation in after
    assert f"{situation}gRPC is faster than REST: " not in after


def test_a_count_has_no_unit(bundles: Path, tmp_path: Path) -> None:
    """Failures are told as "0 of 4,800"; what has a unit keeps it."""
    cell = {"transport": "grpc", "driver": "wireload", "operation": "users.get", "concurrency": 1}
    finding = read_findings(bundles, tmp_path)["quick"]
    assert "0" == finding.figure("errors", **cell)
    assert finding.figure("p50", **cell).endswith(" ms")


def test_failures_are_counted_beside_the_gates_that_failed(tmp_path: Path) -> None:
    """A count of windows that aren't to be trusted says so; another cell's gates aren't told."""
    run = RunBuilder(gates=lambda cell, _: (GENERATOR_GATE if cell.concurrency == 16 else passed(),)).write(tmp_path)
    finding = Finding(run, "0", tmp_path)
    cell = {"transport": "rest", "operation": "users.get"}
    busy, idle = (finding.count_failures(**cell, concurrency=connections) for connections in (16, 1))
    assert busy.startswith("0 of ")
    assert busy.endswith(" (failed gates: generator CPU)")
    assert "gates" not in idle


def test_two_bundles_of_a_scenario_are_rejected(bundles: Path, quick: Path, tmp_path: Path) -> None:
    """It would be unclear which one the page is of."""
    shutil.copy(quick, bundles / "again.wirebench.tar.gz")
    with pytest.raises(UsageError, match="two bundles of quick"):
        write_page(bundles, tmp_path / "docs")


def test_a_bundle_of_no_shipped_scenario_is_rejected(
    bundles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It answers a question that isn't in the repository."""
    others = {name: question for name, question in list_scenarios().items() if name != "quick"}
    monkeypatch.setattr(page, "list_scenarios", lambda: others)
    with pytest.raises(UsageError, match="no scenario quick"):
        write_page(bundles, tmp_path / "docs")


def test_what_is_no_bundle_is_rejected(bundles: Path, tmp_path: Path) -> None:
    """A damaged file is named."""
    (bundles / "workers.wirebench.tar.gz").write_bytes(b"no archive")
    with pytest.raises(UsageError, match=r"workers\.wirebench\.tar\.gz"):
        write_page(bundles, tmp_path / "docs")


def test_bundles_that_are_too_large_for_a_repository_are_rejected(
    bundles: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every clone would fetch them."""
    monkeypatch.setattr(page, "BUNDLES_MIB_MAX", 0.001)
    with pytest.raises(UsageError, match="MiB, more than"):
        write_page(bundles, tmp_path / "docs")


def test_lines_of_code_are_neither_blank_nor_comments(tmp_path: Path) -> None:
    """Docstrings don't count either."""
    (tmp_path / "a.py").write_text('"""Says\n\nmuch."""\n\n# why\nx = 1\n\n\ndef f():\n    """Say."""\n    return x\n')
    (tmp_path / "a.go").write_text("// why\npackage a\n\nvar x = 1 // one\n")
    assert (3, 2) == (count_lines(tmp_path / "a.py"), count_lines(tmp_path / "a.go"))


class PlannedFinding:
    """A finding of a scenario that wasn't measured: it answers with nothing, and knows which cells there would be."""

    bundle, digest, command, size_kib = Path("x.wirebench.tar.gz"), "0", "wirebench run", 1
    answer: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()
    limitations: tuple[str, ...] = ()

    def __init__(self, scenario: str) -> None:
        plan, _ = plan_anywhere(read_scenario(scenario))
        self.compared, self.cells = plan.scenario.compare, [cell.factors for cell in plan.cells]
        self.run = SimpleNamespace(info=SimpleNamespace(id="x", blocks=1, machine={}, versions={}))

    def _select(self, **factors: object) -> list[dict[str, Any]]:
        return [cell for cell in self.cells if all(cell[name] == level for name, level in factors.items())]

    def compare(self, one: str, other: str, **factors: object) -> str:
        """Find both cells."""
        levels = {str(cell[str(self.compared)]) for cell in self._select(**factors)}
        assert {one, other} <= levels, f"{one}, {other} at {factors}"
        return ""

    def count_failures(self, **factors: object) -> str:
        """Find the cell."""
        return self.figure("errors", **factors)

    def figure(self, metric: str, **factors: object) -> str:
        """Find the cell."""
        assert metric in METRICS
        assert 1 == len(self._select(**factors)), factors
        return ""


def test_what_the_page_quotes_is_measured_by_its_scenario() -> None:
    """Each comparison and figure of the template is of cells that the scenario has: it fails here, not after a run."""
    scenarios = list_scenarios()
    planned: Any = {name: PlannedFinding(name) for name in scenarios}
    page.render(scenarios, planned, defaultdict(str))


def test_every_finding_has_an_answer() -> None:
    """A sentence at least, before its picture."""
    text = (BUNDLES.parent / page.PAGE).read_text(encoding="utf-8")
    findings = text.partition("\n## Findings\n")[2].split("\n### ")[1:]
    assert [] == [each.partition("\n")[0] for each in findings if "\n- " not in each.partition("\n![")[0]]


def test_tables_and_headings_keep_their_lines() -> None:
    """Markdown reads neither a table nor a heading on one line with what follows."""
    text = "# Title\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nText.\n"
    assert text == wrap(text)
