"""`make replicate`: repeat runs whose right verdicts are known, and write docs/replication.md."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import get_args

from benchmarks.replicate.page import write_page
from benchmarks.replicate.studies import RUNS_FOLDER, STUDIES, Condition, Study, measure
from benchmarks.replicate.verdicts import Row, add_rows, compare_repeats, find_verdicts, read_rows
from wirebench.cli import EXIT_INTERRUPTED
from wirebench.cli.output import print_error
from wirebench.errors import WirebenchError
from wirebench.present.numbers import format_duration
from wirebench.results.runs import Run, load_run
from wirebench.system.signals import STOPPING, Interrupted, handle_interrupts

_RUNS_MAX = 1000


def main(arguments: Sequence[str]) -> int:
    """Measure what is missing, and write the page; return the exit status."""
    options = _parse(arguments)
    try:
        with handle_interrupts(STOPPING):
            for condition in options.conditions:
                for study in options.studies:
                    _repeat(study, condition, options.runs)
    except WirebenchError as error:
        print_error(error)
        return error.exit_status
    except Interrupted:
        print("interrupted: `make replicate` resumes with the next run", file=sys.stderr)
        return EXIT_INTERRUPTED
    finally:
        if rows := read_rows():
            print(f"{write_page(rows)} is written")
    return 0


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make replicate", description=__doc__, allow_abbrev=False)
    parser.add_argument("--studies", nargs="+", choices=STUDIES, default=[*STUDIES], help="only these")
    conditions = get_args(Condition)
    parser.add_argument(
        "--conditions",
        nargs="+",
        choices=conditions,
        default=["quiet", "busy"],
        help="busy: something else loads the machine; cluster: the one of `make cluster-up` (default: quiet busy)",
    )
    parser.add_argument("--runs", type=int, help="how many of each are there in the end (default: what claims need)")
    options = parser.parse_args(arguments)
    if options.runs is not None and not 0 <= options.runs <= _RUNS_MAX:
        parser.error(f"--runs must be from 0 to {_RUNS_MAX}")
    return options


def _repeat(study: Study, condition: Condition, runs: int | None) -> None:
    """Measure runs until there are so many, and keep the verdicts of each as soon as it ends."""
    plan = STUDIES[study]
    if condition == "cluster" and study != "quick":
        return
    wanted = plan.runs if runs is None else runs
    done = _list_runs(read_rows(), study, condition)
    if left := max(0, wanted - len(done)):
        print(f"{study}, {condition}: {left} runs, about {format_duration(left * plan.run_s)}", file=sys.stderr)
    for number in range(len(done), wanted):
        print(f"{study}, {condition}: run {number + 1} of {wanted}", file=sys.stderr, flush=True)
        run = measure(study, condition, number)
        rows = list(find_verdicts(study, condition, run))
        # `slower` compares within a run only; clusters have no quiet runs to be compared with.
        earlier = number - plan.every if condition == "quiet" else number
        if study != "slower" and condition != "cluster" and (quiet := _find_quiet(study, earlier)):
            rows += compare_repeats(study, condition, quiet, run)
        add_rows(rows)


def _list_runs(rows: Sequence[Row], study: Study, condition: Condition) -> list[str]:
    """Return the ids of the runs of a study under a condition, in their order."""
    return list(dict.fromkeys(row.run for row in rows if (row.study, row.condition) == (study, condition)))


def _find_quiet(study: Study, number: int) -> Run | None:
    """Return the quiet run of a number; None if there is none, or its folder is gone."""
    ids = _list_runs(read_rows(), study, "quiet")
    folder = RUNS_FOLDER / ids[number] if 0 <= number < len(ids) else None
    return load_run(folder) if folder and folder.is_dir() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
