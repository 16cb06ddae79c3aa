"""`make accuracy`: compare every driver with a server whose latency is known, and wireload's ceiling with others'."""

from __future__ import annotations

import argparse
import itertools
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from accuracy.ceiling import print_ceilings
from accuracy.table import describe_origin, print_table
from wirebench.cli import EXIT_INTERRUPTED
from wirebench.cli.console import print_error
from wirebench.drivers import DRIVERS
from wirebench.errors import UsageError, WirebenchError
from wirebench.measure.gates import INTERFERENCE_MAX
from wirebench.measure.truth import TruthMeasurement, compute_error_ms, measure_truth
from wirebench.measure.usage import Interference
from wirebench.model.cell import Cell, find_defaults
from wirebench.model.contract import OPEN_LOAD_DRIVERS, TRANSPORTS, Driver, Transport
from wirebench.model.histogram import Histogram
from wirebench.model.histogram_file import CLOCKS, OK
from wirebench.model.scenario import Load
from wirebench.present.numbers import ABSENT
from wirebench.system.signals import Interrupted, handle_interrupts
from wirebench.targets.cores import CoreClaim, Cores, divide_cores

WARMUP_S = 1.0
STALL_S = 1.0
#: The stall has to be in it.
_WINDOW_S_MIN = 2 * STALL_S
#: A window that other programs disturbed is measured again, so often in all.
_ATTEMPTS_MAX = 3
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
#: How far wireload may be off: in ms, and as a share of the truth.
LIMITS = {"p50": (0.1, 0.01), "p90": (0.1, 0.01), "p99": (0.2, 0.02), "p99.9": (0.5, 0.02)}

#: Users, requests per second of open loads, and connections that users share.
LOADS: dict[str, tuple[int, int | None, int | None]] = {
    "closed-1": (1, None, None),
    "closed-64": (64, None, None),
    "open-1500": (64, 1500, None),
    "closed-64-on-1": (64, None, 1),
    "open-1500-on-1": (64, 1500, 1),
    # So many users that no request that is due in a stall has to wait for one.
    "open-200": (400, 200, None),
}
#: Flags of the server: constant takes 5 ms, and pareto longer than 20 ms for 1 % of the requests.
BEHAVIOURS = {
    "constant": (),
    "two-modes": ("-latency", "2ms", "-slow", "20ms"),
    "pareto": ("-latency", "2ms", "-shape", "2"),
    "stall": ("-stall", f"{STALL_S}s"),
    "null": (),
}
#: What is measured: null shows what each driver sends at most, and errors at that rate are no one's limit.
CONDITIONS = (
    *itertools.product(["constant", "two-modes", "pareto"], [load for load in LOADS if load != "open-200"]),
    ("stall", "open-200"),
    ("null", "closed-64"),
)


@dataclass(frozen=True, slots=True)
class Case:
    """A driver on a transport, under one condition."""

    behaviour: str
    load: str
    transport: Transport
    driver: Driver

    def __str__(self) -> str:
        """Name it in progress lines."""
        return f"{self.driver} {self.transport} {self.behaviour} {self.load}"


def main(arguments: Sequence[str]) -> int:
    """Measure and print the tables; return the exit status."""
    options = _parse(arguments)
    try:
        cores = divide_cores()
        with handle_interrupts(), CoreClaim(cores.all, lambda text: print(text, file=sys.stderr)):
            cases = select_cases(options.drivers, options.transports, options.behaviours)
            print(f"{describe_origin()}\n{options.repetitions} × {options.window:g} s each.\n")
            measured = _measure_all(options, cases, cores)
            over = [row for case, file in measured.items() for row in list_rows_over_limit(case, file)]
            print_table(
                ("server", "load", "driver", "transport", "clock", "requests/s", *QUANTILES),
                itertools.chain.from_iterable(itertools.starmap(make_rows, measured.items())),
            )
            print(f"Errors of wireload over their limit: {len(over)}.", *over, sep="\n- ", end="\n\n")
            if not arguments:
                print_ceilings(cores)
            return WirebenchError.exit_status if len(measured) < len(cases) else 0
    except WirebenchError as error:
        print_error(error)
        return error.exit_status
    except Interrupted:
        print("interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make accuracy", description=__doc__, allow_abbrev=False)
    choices: dict[str, list[str]] = {"drivers": [*DRIVERS], "transports": [*TRANSPORTS], "behaviours": [*BEHAVIOURS]}
    for name, known in choices.items():
        parser.add_argument(f"--{name}", nargs="+", choices=known, default=known, help=f"only these {name}")
    parser.add_argument("--repetitions", type=int, default=3, help="how often each case is measured (default: 3)")
    parser.add_argument("--window", type=float, default=4.0, metavar="SECONDS", help="of each case (default: 4)")
    options = parser.parse_args(arguments)
    if options.window < _WINDOW_S_MIN or options.repetitions < 1:
        parser.error(f"--window must be at least {_WINDOW_S_MIN:g} seconds, and --repetitions at least 1")
    return options


def select_cases(drivers: Sequence[Driver], transports: Sequence[Transport], behaviours: Sequence[str]) -> list[Case]:
    """Return the cases of installed drivers. Raises UsageError if there are none."""
    cases = [
        Case(behaviour, load, transport, driver)
        for behaviour, load in CONDITIONS
        for transport in transports
        for driver in TRANSPORTS[transport].drivers
        if behaviour in behaviours and driver in drivers and DRIVERS[driver].read_version()
        # Of the truth server's transports, gRPC alone multiplexes.
        if transport == "grpc" or not LOADS[load][2]
        # Without a response clock an open load hides what it was sent for.
        if driver in OPEN_LOAD_DRIVERS or not LOADS[load][1]
    ]
    if not cases:
        raise UsageError("no installed driver can send these loads", "choose others: make accuracy ARGS=--help")
    return cases


def _measure_all(options: argparse.Namespace, cases: Sequence[Case], cores: Cores) -> dict[Case, TruthMeasurement]:
    """Return what was measured, with all repetitions of a case merged; cases that failed are missing."""
    parts: dict[Case, list[TruthMeasurement]] = {case: [] for case in cases}
    order = random.Random(1)  # noqa: S311 - an order, not a secret
    shuffled = [case for _ in range(options.repetitions) for case in order.sample(cases, len(cases))]
    for number, case in enumerate(shuffled, 1):
        print(f"{number}/{len(shuffled)} {case}", file=sys.stderr, flush=True)
        try:
            parts[case].append(_measure_undisturbed(case, number, options.window, cores))
        except WirebenchError as error:
            print_error(error)
    return {case: merge_repetitions(own) for case, own in parts.items() if own}


def _measure_undisturbed(case: Case, seed: int, window_s: float, cores: Cores) -> TruthMeasurement:
    attempts = 0
    while True:
        attempts += 1
        interference = Interference(cores.all)
        measured = measure(case, seed, window_s, cores)
        if interference.compute_share() <= INTERFERENCE_MAX:
            return measured
        if attempts == _ATTEMPTS_MAX:
            print(f"{case}: other programs disturbed all of {attempts} windows", file=sys.stderr)
            return measured


def measure(case: Case, seed: int, window_s: float, cores: Cores) -> TruthMeasurement:
    """Send the load once, with server and driver on cores of their own. Raises WirebenchError."""
    concurrency, rate_per_s, connections = LOADS[case.load]
    levels: dict[str, Any] = {
        **find_defaults(case.transport),
        "driver": case.driver,
        "concurrency": concurrency,
        "rate_per_s": rate_per_s,
        "connections": connections,
    }
    load = Load(model="open" if rate_per_s else "closed", warmup_s=WARMUP_S, window_s=window_s)
    middle = f"{WARMUP_S + (window_s - STALL_S) / 2}s"
    flags = ["-behaviour", case.behaviour, "-stall-after", middle, *BEHAVIOURS[case.behaviour]]
    return measure_truth(Cell(**levels), load, flags, seed, cores)


def merge_repetitions(parts: Sequence[TruthMeasurement]) -> TruthMeasurement:
    """Merge exactly: histograms and counts add up."""
    series = tuple(series for each in parts for series in each.file.series)
    dropped = sum(each.file.dropped_iterations for each in parts)
    return TruthMeasurement(
        truth=sum((each.truth for each in parts), start=Histogram.empty()),
        file=parts[0].file.model_copy(update={"series": series, "dropped_iterations": dropped}),
        window_s=sum(each.window_s for each in parts),
        unstamped=sum(each.unstamped for each in parts),
    )


def make_rows(case: Case, measured: TruthMeasurement) -> Iterator[Sequence[str]]:
    """Yield a row for each clock: truth and error at each percentile, in ms."""
    counts = measured.file.count_by_code()
    remarks = {
        "failed": sum(counts.values()) - counts[OK],
        "dropped": measured.file.dropped_iterations,
        "without kernel timestamp": measured.unstamped,
    }
    rate = ", ".join([f"{counts[OK] / measured.window_s:,.0f}", *(f"{n:,} {what}" for what, n in remarks.items() if n)])
    for clock in CLOCKS:
        if measured.file.merge_histograms(clock).count:
            errors = (_describe(find_error_ms(measured, clock, name)) for name in QUANTILES)
            yield case.behaviour, case.load, case.driver, case.transport, clock, rate, *errors


def find_error_ms(measured: TruthMeasurement, clock: Any, name: str) -> tuple[float, float] | None:  # noqa: ANN401
    """Return the truth at a percentile and the driver's error on a clock; None if no request lies beyond."""
    return compute_error_ms(measured.truth, measured.file.merge_histograms(clock), QUANTILES[name])


def _describe(error: tuple[float, float] | None) -> str:
    return f"{error[0]:.2f} {error[1]:+.2f}" if error else ABSENT


def list_rows_over_limit(case: Case, measured: TruthMeasurement) -> Iterator[str]:
    """Yield the errors of wireload that are over their limit, on the clock that a user of the load waits on."""
    if case.driver != "wireload" or case.behaviour == "null":
        return
    clock = "response" if LOADS[case.load][1] else "service"
    for name, (absolute_ms, share) in LIMITS.items():
        error = find_error_ms(measured, clock, name)
        if error and abs(error[1]) > absolute_ms + share * error[0]:
            yield f"{case.behaviour}, {case.load}, {case.transport}, {name}: {error[1]:+.2f} ms"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
