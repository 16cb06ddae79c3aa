"""`make replicate`: repeat runs whose right verdicts are known, and print how often verdicts are right.

Runs collect in results/replicate, and the tables are of all of them.
"""

from __future__ import annotations

import argparse
import itertools
import math
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from scipy.stats import binomtest

from accuracy.table import describe_origin, print_table
from wirebench.analysis.compare_cells import find_comparisons
from wirebench.analysis.pair import Verdict, judge
from wirebench.analysis.ratio import CONFIDENCE
from wirebench.cli import EXIT_INTERRUPTED
from wirebench.cli.console import print_error
from wirebench.errors import WirebenchError
from wirebench.model.metric import METRICS
from wirebench.model.run_info import Run
from wirebench.plan import read_scenario
from wirebench.plan.overrides import parse_assignment
from wirebench.present.numbers import ABSENT, format_number
from wirebench.run.runner import execute
from wirebench.run.target_options import TargetOptions, plan_for_target
from wirebench.store.runs import load_run
from wirebench.system.paths import ROOT
from wirebench.system.signals import Interrupted, handle_interrupts

RUNS_FOLDER = ROOT / "results" / "replicate"
_SERVICES = ("rest", "grpc", "socket")
#: What the true ratio is of: of p99 it is known for copies only.
_JUDGED = ("throughput", "p99", "cpu")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A verdict whose right one is known: the subject takes so many percent more CPU time than its baseline."""

    metric: str
    percent: int
    verdict: Verdict
    ratio: float | None

    @property
    def truth(self) -> float:
        """The true ratio; the server is the bottleneck, so that throughput is the reciprocal of its CPU time."""
        cost = 1 + self.percent / 100
        return 1 / cost if METRICS[self.metric].more_is_better else cost

    @property
    def is_right(self) -> bool:
        """Whether it is what the truth is."""
        return self.verdict == ("slower" if self.percent else "equivalent")

    @property
    def is_wrong(self) -> bool:
        """Whether it claims what isn't true; an inconclusive one claims nothing."""
        return not self.is_right and self.verdict in ("faster", "slower", "equivalent")


def main(arguments: Sequence[str]) -> int:
    """Measure, and print the tables of all runs; return the exit status."""
    parser = argparse.ArgumentParser(prog="make replicate", description=__doc__, allow_abbrev=False)
    parser.add_argument("--copies", type=int, default=3, help="runs of a service and its copies, a minute each")
    parser.add_argument("--slower", type=int, default=1, help="runs of known slow-downs, three minutes each")
    options = parser.parse_args(arguments)
    status = 0
    try:
        with handle_interrupts():
            for number in range(options.copies):
                service = _SERVICES[number % len(_SERVICES)]
                measure("copies", [f"factors.variant={','.join(f'{service}-{copy}' for copy in 'abcd')}"])
            for _ in range(options.slower):
                measure("slower")
    except WirebenchError as error:
        print_error(error)
        status = error.exit_status
    except Interrupted:
        print("interrupted: what was measured counts", file=sys.stderr)
        status = EXIT_INTERRUPTED
    print(f"{describe_origin()}\n")
    print_runs([load_run(folder) for folder in sorted(RUNS_FOLDER.glob("*/"))])
    return status


def measure(study: str, assignments: Iterable[str] = ()) -> None:
    """Measure one run of a scenario of this folder. Raises WirebenchError."""
    overrides = [parse_assignment(each) for each in assignments]
    scenario = read_scenario(Path(__file__).with_name(f"{study}.yaml"), overrides=overrides)
    execute(plan_for_target(scenario, TargetOptions()), TargetOptions(), RUNS_FOLDER)


def find_outcomes(run: Run) -> Iterator[Outcome]:
    """Yield the verdict on each comparison with the service as it is, or with a copy, by each metric."""
    comparisons = [each for each in find_comparisons(run) if not each.instruments]
    for name in _JUDGED:
        pairs = [replace(each, metric=METRICS[name]) for each in comparisons]
        for pair in judge(pairs):
            subject, baseline = (str(cell.factors[pair.factor]) for cell in (pair.subject, pair.baseline))
            is_slowed = baseline == "as-it-is"
            is_unknown = name == "p99" if is_slowed else subject.startswith("slower")
            if is_unknown:
                continue
            percent = int(subject.rpartition("-")[2]) if is_slowed else 0
            ratio = pair.ratios.get(name)
            yield Outcome(name, percent, pair.verdict, ratio.estimate if ratio else None)


def print_runs(runs: Sequence[Run]) -> None:
    """Print a table of each study."""
    for study in dict.fromkeys(run.info.scenario for run in runs):
        own = [run for run in runs if run.info.scenario == study and run.info.status == "complete"]
        print(f"`{study}`, {len(own)} runs:\n")
        print_table(
            ("metric", "true ratio", "measured", "comparisons", "right", "inconclusive", "withheld", "wrong"),
            tabulate([outcome for run in own for outcome in find_outcomes(run)]),
        )


def tabulate(outcomes: Sequence[Outcome]) -> Iterator[Sequence[str]]:
    """Yield a row for each metric and size of a difference."""
    for metric, percent in itertools.product(_JUDGED, sorted({each.percent for each in outcomes})):
        own = [each for each in outcomes if (each.metric, each.percent) == (metric, percent)]
        if not own:
            continue
        logs = [math.log(each.ratio) for each in own if each.ratio]
        measured = f"{format_number(math.exp(statistics.fmean(logs)))}×" if logs else ABSENT
        verdicts = Counter(each.verdict for each in own)
        counts = (len(own), sum(each.is_right for each in own), verdicts["inconclusive"], verdicts["withheld"])
        wrong = _describe_share(sum(each.is_wrong for each in own), len(own) - verdicts["withheld"])
        yield METRICS[metric].label, f"{format_number(own[0].truth)}×", measured, *map(str, counts), wrong


def _describe_share(count: int, total: int) -> str:
    """Return a part of a total with its exact 95 % interval (C. J. Clopper, E. S. Pearson, Biometrika 26, 1934)."""
    if not total:
        return ABSENT
    interval = binomtest(count, total).proportion_ci(CONFIDENCE, method="exact")
    return f"{count} of {total} ({100 * interval.low:.1f} %–{100 * interval.high:.1f} %)"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
