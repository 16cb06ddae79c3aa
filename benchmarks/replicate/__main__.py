"""`make replicate`: repeat runs whose right verdicts are known, and write docs/replication.md."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from benchmarks.replicate.page import write_page
from benchmarks.replicate.studies import PLANS, RUNS_FOLDER, Condition, Study, count_runs_between, measure
from benchmarks.replicate.verdicts import Row, add_rows, compare_repeats, find_verdicts, list_runs, read_rows
from wirebench.cli import EXIT_INTERRUPTED
from wirebench.cli.output import print_error
from wirebench.errors import WirebenchError
from wirebench.present.numbers import format_duration
from wirebench.results.runs import Run, load_run
from wirebench.system.signals import STOPPING, Interrupted, handle_interrupts

_RUNS_MAX = 1000
_MINUTES_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Job:
    """A study under a condition: how many runs there are, and how many there are to be."""

    study: Study
    condition: Condition
    done: int
    wanted: int

    @property
    def run_s(self) -> float:
        """About how long a run takes."""
        return PLANS[self.study, self.condition].run_s


def main(arguments: Sequence[str]) -> int:
    """Measure what is missing, and write the page; return the exit status."""
    options = _parse(arguments)
    ends = time.monotonic() + 60 * options.minutes
    try:
        with handle_interrupts(STOPPING):
            while jobs := _list_jobs(read_rows(), options):
                left_s = sum((job.wanted - job.done) * job.run_s for job in jobs)
                job = choose_job(jobs, ends - time.monotonic())
                if job is None:
                    print(f"time is up; what is left takes about {format_duration(left_s)}", file=sys.stderr)
                    break
                number = f"run {job.done + 1} of {job.wanted}"
                left = f"about {format_duration(left_s)} left"
                print(f"{job.study}, {job.condition}: {number}; {left}", file=sys.stderr, flush=True)
                _measure(job)
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
    parser.add_argument("--studies", nargs="+", choices=get_args(Study), default=get_args(Study), help="only these")
    conditions = get_args(Condition)
    parser.add_argument(
        "--conditions",
        nargs="+",
        choices=conditions,
        default=["quiet", "busy"],
        help="busy: something else loads the machine; cluster: the one of `make cluster-up` (default: quiet busy)",
    )
    parser.add_argument("--runs", type=int, help="how many of each are there in the end (default: what claims need)")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no run that would end later")
    options = parser.parse_args(arguments)
    if options.runs is not None and not 0 <= options.runs <= _RUNS_MAX:
        parser.error(f"--runs must be from 0 to {_RUNS_MAX}")
    if not (0 < options.minutes <= _MINUTES_MAX or options.minutes == math.inf):
        parser.error(f"--minutes must be over 0, and at most {_MINUTES_MAX}")
    return options


def _list_jobs(rows: Sequence[Row], options: argparse.Namespace) -> list[Job]:
    """Return what has runs left."""
    jobs = []
    for (study, condition), plan in PLANS.items():
        if study in options.studies and condition in options.conditions:
            wanted = plan.runs if options.runs is None else options.runs
            jobs.append(Job(study, condition, len(list_runs(rows, study, condition)), wanted))
    return [job for job in jobs if job.done < job.wanted]


def choose_job(jobs: Sequence[Job], left_s: float) -> Job | None:
    """Return what has the smallest share of its runs, of those whose next run ends in time; None if none does."""
    return min((job for job in jobs if job.run_s <= left_s), key=lambda job: job.done / job.wanted, default=None)


def _measure(job: Job) -> None:
    """Measure the next run, and keep its verdicts."""
    run = measure(job.study, job.condition, job.done)
    rows = list(find_verdicts(job.study, job.condition, run))
    # `slower` compares within a run only; clusters have no quiet runs to be compared with.
    earlier = job.done - count_runs_between(job.study) if job.condition == "quiet" else job.done
    if job.study != "slower" and job.condition != "cluster" and (quiet := _find_quiet(job.study, earlier)):
        rows += compare_repeats(job.study, job.condition, quiet, run)
    add_rows(rows)


def _find_quiet(study: Study, number: int) -> Run | None:
    """Return the quiet run of a number; None if there is none, or its folder is gone."""
    ids = list_runs(read_rows(), study, "quiet")
    folder = RUNS_FOLDER / ids[number] if 0 <= number < len(ids) else None
    return load_run(folder) if folder and folder.is_dir() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
