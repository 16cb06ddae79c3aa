"""`make accuracy`: compare every driver with a server whose latency is known, and write docs/accuracy.md."""

from __future__ import annotations

import argparse
import random
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from benchmarks.accuracy.conditions import BEHAVIOURS, LOADS, Case, select_cases
from benchmarks.accuracy.measure import STALL_S, WARMUP_S, measure
from benchmarks.accuracy.page import Result, make_rows, write_page
from wirebench.cli import EXIT_FAILED, EXIT_INTERRUPTED
from wirebench.cli.output import print_error
from wirebench.drivers import DRIVERS
from wirebench.errors import WirebenchError
from wirebench.measure.environment import find_warnings, read_commit, read_machine
from wirebench.measure.gates import INTERFERENCE_MAX
from wirebench.measure.truth import TruthMeasurement
from wirebench.measure.usage import Interference
from wirebench.model.contract import TRANSPORTS
from wirebench.model.labels import pluralise
from wirebench.present.numbers import format_duration
from wirebench.run.progress import TimeLeft
from wirebench.system.paths import ROOT
from wirebench.system.signals import STOPPING, Interrupted, handle_interrupts
from wirebench.targets import Cores, divide_cores
from wirebench.targets.cores import CoreClaim

#: The stall has to be in it, and the driver to write it in one part.
_WINDOW_S_MIN, _WINDOW_S_MAX = 2 * STALL_S, 20.0
#: A window that others disturbed is measured again, so often in all; the least disturbed counts.
_ATTEMPTS_MAX = 3
#: About what a driver takes to start, and to write down what it has measured.
_OVERHEAD_S = 2.5
_REPETITIONS_MAX = 100


def main(arguments: Sequence[str]) -> int:
    """Measure and write the page; return the exit status."""
    options = _parse(arguments)
    try:
        cores = divide_cores()
        with handle_interrupts(STOPPING), CoreClaim(cores.all, partial(print, file=sys.stderr)):
            cases = select_cases(options.drivers, options.transports, options.behaviours, options.loads)
            facts = _describe(options, arguments, cases, cores)
            results, problems, disturbed = _measure_all(options, cases, cores)
            if not results:
                return EXIT_FAILED
            facts += [f"Not measured: {problem}." for problem in problems]
            if disturbed:
                facts.append(_describe_disturbances(disturbed))
            write_page(options.output, results, facts)
            print(f"{options.output} is written")
            return EXIT_FAILED if problems else 0
    except WirebenchError as error:
        print_error(error)
        return error.exit_status
    except Interrupted:
        print("interrupted: no page was written", file=sys.stderr)
        return EXIT_INTERRUPTED


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make accuracy", description=__doc__, allow_abbrev=False)
    choices: dict[str, list[str]] = {
        "drivers": [*DRIVERS],
        "transports": [*TRANSPORTS],
        "behaviours": [*BEHAVIOURS],
        "loads": [*LOADS],
    }
    for name, known in choices.items():
        parser.add_argument(f"--{name}", nargs="+", choices=known, default=[], help=f"only these {name}")
    parser.add_argument("--repetitions", type=int, default=3, help="how often each case is measured (default: 3)")
    parser.add_argument("--window", type=float, default=4.0, metavar="SECONDS", help="of each case (default: 4)")
    parser.add_argument("--seed", type=int, default=1, help="of the order of cases and of random latencies")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "accuracy.md", help="the page to write")
    options = parser.parse_args(arguments)
    if not _WINDOW_S_MIN <= options.window <= _WINDOW_S_MAX:
        parser.error(f"--window must be from {_WINDOW_S_MIN:g} to {_WINDOW_S_MAX:g} seconds")
    if not 1 <= options.repetitions <= _REPETITIONS_MAX:
        parser.error(f"--repetitions must be from 1 to {_REPETITIONS_MAX}")
    return options


def _describe(options: argparse.Namespace, arguments: Sequence[str], cases: Sequence[Case], cores: Cores) -> list[str]:
    """Return what is measured, on what and how often; on stderr say how long it takes, and what may disturb it."""
    caveats = list(find_warnings(cores))
    total = len(cases) * options.repetitions
    seconds = total * (WARMUP_S + options.window + _OVERHEAD_S)
    print(f"{len(cases)} cases × {options.repetitions} repetitions, about {format_duration(seconds)}", file=sys.stderr)
    for caveat in caveats:
        print(f"caveat: {caveat}", file=sys.stderr)
    hardware = read_machine()
    names = dict.fromkeys(case.driver for case in cases)
    absent = [driver for driver in DRIVERS.values() if driver.read_version() is None]
    command = f"make accuracy ARGS={shlex.quote(shlex.join(arguments))}" if arguments else "make accuracy"
    return [
        f"By: `{command}`, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, commit {read_commit() or 'unknown'}.",
        f"On: {hardware['cpu']}, {hardware['cores']} cores, {hardware['memory']}, {hardware['kernel']}; {cores}.",
        f"Drivers: {', '.join(f'{name} {DRIVERS[name].read_version()}' for name in names)}.",
        *(f"Not installed: {driver.name} (`{driver.setup}`)." for driver in absent),
        f"How often: {options.repetitions} repetitions of {len(cases)} cases in a random order (seed {options.seed}).",
        f"How long: a warm-up of {WARMUP_S:g} s and a window of {options.window:g} s on a fresh server each time.",
        "Percentiles are of the requests of all repetitions together.",
        *(f"Caveat: {caveat}." for caveat in caveats),
    ]


def _measure_all(
    options: argparse.Namespace, cases: Sequence[Case], cores: Cores
) -> tuple[list[Result], dict[str, None], int]:
    """Measure all cases, and show each result when its last repetition is done.

    Return the results, what went wrong, and how many windows others disturbed.
    """
    order = random.Random(options.seed)  # noqa: S311 - an order, not a secret
    total = len(cases) * options.repetitions
    time_left = TimeLeft(total, WARMUP_S + options.window + _OVERHEAD_S)
    found: dict[Case, list[TruthMeasurement]] = {case: [] for case in cases}
    problems: dict[str, None] = {}
    disturbed = 0
    shuffled = [case for _ in range(options.repetitions) for case in order.sample(cases, len(cases))]
    for done, case in enumerate(shuffled):
        print(f"{done + 1}/{total} {case}, {format_duration(time_left.compute_s())} left", file=sys.stderr, flush=True)
        try:
            measured, interference = _measure_undisturbed(case, options.seed + done, options.window, cores)
            found[case].append(measured)
            disturbed += interference > INTERFERENCE_MAX
        except WirebenchError as error:
            print_error(error)
            problems[f"{case}: {error}"] = None
        time_left.count_done(done + 1)
        if case not in shuffled[done + 1 :] and found[case]:
            for row in make_rows(Result.of(case, found[case])):
                print(f"{case.behaviour} {case.load}:", *row, sep="  ", flush=True)
    return [Result.of(case, own) for case, own in found.items() if own], problems, disturbed


def _describe_disturbances(windows: int) -> str:
    share = f"{INTERFERENCE_MAX:.0%}".replace("%", " %")
    disturbed = f"Disturbed: in {pluralise(windows, 'window')} others took over {share} of the cores"
    return f"{disturbed} in each of {_ATTEMPTS_MAX} attempts."


def _measure_undisturbed(case: Case, seed: int, window_s: float, cores: Cores) -> tuple[TruthMeasurement, float]:
    """Return the first measurement that others didn't disturb, or the one that they disturbed least, and how much.

    That is their share of the cores' time. Raises WirebenchError.
    """
    attempts: list[tuple[TruthMeasurement, float]] = []
    while len(attempts) < _ATTEMPTS_MAX:
        interference = Interference(cores.all)
        attempts.append((measure(case, seed, window_s, cores), interference.compute_share()))
        if attempts[-1][1] <= INTERFERENCE_MAX:
            return attempts[-1]
    return min(attempts, key=lambda attempt: attempt[1])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
