"""The verdicts of all runs: a row for each comparison and metric, kept in docs/replication/verdicts.csv."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from benchmarks.replicate.studies import SLOWER_PERCENT, Condition, Study
from wirebench.analysis.compare_cells import Comparison, find_comparisons
from wirebench.analysis.compare_runs import compare_runs
from wirebench.analysis.pair import CellPair, judge
from wirebench.model.frozen import FrozenModel
from wirebench.model.metric import METRICS, Metric
from wirebench.present.sentences import describe_situation
from wirebench.results.runs import Run
from wirebench.system.paths import ROOT

VERDICTS = ROOT / "docs" / "replication" / "verdicts.csv"
JUDGED = ("throughput", "p99", "cpu")


class Row(FrozenModel):
    """One comparison by one metric. `run` is its id; of two runs that were compared, both.

    `truth` is the true ratio, where it is known. `low` and `high` bound `ratio` with 95 % confidence; they are empty
    where there is no figure.
    """

    study: str
    condition: str
    run: str
    commit: str | None
    comparison: str
    metric: str
    truth: float | None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: str
    failed_gates: str | None = None


def find_verdicts(study: Study, condition: Condition, run: Run) -> Iterator[Row]:
    """Yield what a run says of each of its comparisons, by each metric that verdicts are on."""
    comparisons = [each for each in find_comparisons(run) if not each.instruments]
    make_row = partial(_make_row, study=study, condition=condition, run=run.info.id, commit=run.info.commit)
    for name in JUDGED:
        for each in _judge_by(METRICS[name], comparisons, run.info.equivalence_margin):
            title = f"{describe_situation(each)}: {each.subject_level} / {each.baseline_level}"
            yield make_row(each, comparison=title, metric=name, truth=_find_truth(study, name, each))


def compare_repeats(study: Study, condition: Condition, quiet: Run, repeat: Run) -> Iterator[Row]:
    """Yield what `wirebench compare` says of a run under a condition and a quiet one of the same cells."""
    runs = f"{repeat.info.id} / {quiet.info.id}"
    make_row = partial(
        _make_row, study=study, condition=f"{condition} / quiet", run=runs, commit=repeat.info.commit, truth=1.0
    )
    for name in JUDGED:
        for each in compare_runs(quiet, repeat, METRICS[name]).changes:
            yield make_row(each, comparison=each.subject.name, metric=name)


def _judge_by(metric: Metric, comparisons: Sequence[Comparison], margin: float) -> tuple[Comparison, ...]:
    """Return the comparisons with verdicts on another metric than that of their load."""
    pairs = [replace(each, metric=metric, failed_gates=each.list_failed_gates(metric.name)) for each in comparisons]
    return judge(pairs, margin)


def _find_truth(study: Study, metric: str, comparison: Comparison) -> float | None:
    """Return the true ratio by server CPU; that by requests/s is its reciprocal where the server is the bottleneck."""
    if study == "copies":
        return 1.0
    if study == "quick" or metric == "p99":
        return None
    costs = {"as-it-is": 1.0} | {f"slower-by-{percent}": 1 + percent / 100 for percent in SLOWER_PERCENT}
    ratio = costs[comparison.subject_level] / costs[comparison.baseline_level]
    return ratio if metric == "cpu" else 1 / ratio


def _make_row(pair: CellPair, *, metric: str, **origin: str | float | None) -> Row:
    ratio = pair.ratios.get(metric)
    figures = {"ratio": ratio.estimate, "low": ratio.low, "high": ratio.high} if ratio else {}
    gates = " ".join(gate.name for gate in pair.failed_gates)
    found = {"metric": metric, **figures, "verdict": pair.verdict, "failed_gates": gates or None}
    return Row.model_validate({**origin, **found})


def read_rows() -> list[Row]:
    """Return all rows; none before the first run."""
    if not VERDICTS.exists():
        return []
    with VERDICTS.open(encoding="utf-8", newline="") as file:
        return [Row.model_validate({name: text or None for name, text in row.items()}) for row in csv.DictReader(file)]


def list_runs(rows: Iterable[Row], study: Study, condition: Condition) -> list[str]:
    """Return the ids of the runs of a study under a condition, in their order."""
    return list(dict.fromkeys(row.run for row in rows if (row.study, row.condition) == (study, condition)))


def add_rows(rows: Iterable[Row]) -> None:
    """Add rows; they stay, whatever they say."""
    VERDICTS.parent.mkdir(parents=True, exist_ok=True)
    is_new = not VERDICTS.exists()
    with VERDICTS.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow(Row.model_fields)
        writer.writerows(
            [f"{each:.5g}" if isinstance(each, float) else each for each in row.model_dump().values()] for row in rows
        )
