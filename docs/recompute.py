"""Recomputes the comparisons and figures of a run, with numpy alone, and checks that wirebench says the same.

    wirebench results last --json | python docs/recompute.py results

Comparisons and the means of cells are from the records, latencies from the histogram files in the folder of runs that
is named. The formulas are those of method.md. It exits with 1 if a figure or a verdict differs, and with 2 if it can't
read them.
"""

from __future__ import annotations

import base64
import itertools
import json
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

LEVEL, EQUIVALENCE_LEVEL = 0.05, 0.025
BLOCKS_MIN, BLOCKS_MAX = 3, 1000
TOLERANCE = 1e-6
HIGHER_IS_BETTER = ("throughput", "capacity", "item_rate")
NODES, WEIGHTS = np.polynomial.legendre.leggauss(200)

QUANTILES = {"min": 0, "p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99_9": 0.999, "max": 1}
P99_9_REQUESTS_MIN = 10_000
#: Figures of a cell that are geometric means over its blocks, and their names in JSON.
MEANS = {
    "throughput": "throughput_per_s",
    "cpu": "cpu_us_per_request",
    "capacity": "capacity_per_s",
    "capacity_core": "capacity_core_per_s",
    "capacity_memory": "capacity_memory_per_s",
    "item_rate": "item_rate_per_s",
    "item_cpu": "cpu_us_per_item",
}
#: How many counts a histogram has: of 1 ns to 60 s, with three significant digits.
SIZE = 27 * 1024
ZERO = np.zeros(SIZE, dtype=np.int64)

Found = dict[str, Any]
Counts = np.ndarray[Any, np.dtype[np.int64]]
Logs = np.ndarray[Any, np.dtype[np.float64]]
#: A pair with its ratio and its failed gates.
Judged = tuple[Found, Found | None, set[str]]


def t_cdf(x: float, df: float) -> float:
    """Return the probability that Student's t is at most x; with x = √df · tan(a), its density is cos(a)^(df - 1)."""

    def integrate(low: float, high: float) -> float:
        angles = (high - low) / 2 * NODES + (high + low) / 2
        return float((high - low) / 2 * WEIGHTS @ np.cos(angles) ** (df - 1))

    half = integrate(-np.pi / 2, 0)
    tail = integrate(-np.pi / 2, -np.arctan(abs(x) / np.sqrt(df))) / half / 2
    return tail if x < 0 else 1 - tail


def t_quantile(p: float, df: float) -> float:
    """Return the x that Student's t exceeds with probability 1 - p, by bisection; p is at least a half."""
    low, high = 0.0, 1e9
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if t_cdf(-middle, df) > 1 - p else (low, middle)
    return low


def figure_of(record: Found, metric: str) -> float | None:
    """Return a metric of a record; None if it wasn't measured, or isn't positive."""
    streams, latency = record["streams"] or {}, record["response"] or record["service"] or {}
    value = {
        "item_rate": streams.get("item_rate_per_s"),
        "first_item": (streams.get("first_item") or {}).get("p50_ms"),
        "gap": (streams.get("gap") or {}).get("p99_ms"),
        "item_cpu": streams.get("cpu_us_per_item"),
    } | (
        {}
        if streams
        else {
            "throughput": record["rate_achieved_per_s"],
            "p50": latency.get("p50_ms"),
            "p99": latency.get("p99_ms"),
            "cpu": record["server"]["cpu_us_per_request"],
        }
    )
    search, server = record["search"], record["server"]
    if search and (rate := search["rate_kept_per_s"]):
        cores, gb = (server["cpu_s"] or 0) / record["window_s"], (server["memory_bytes"] or 0) / 1e9
        missed = search["rate_missed_per_s"] or 2 * rate
        settled = missed / rate - 1 <= max(search["resolution"], 1 / rate)
        value |= {
            "capacity": np.sqrt(rate * missed) if settled else rate,
            "capacity_core": rate / cores if cores else None,
            "capacity_memory": rate / gb if gb else None,
        }
    found = value.get(metric)
    return found if found is not None and found > 0 else None


def list_figures(run: Found, cell: str, metric: str) -> dict[int, float]:
    """Return a cell's figures by block; none of a capacity if a block's search found none."""
    records = [record for record in run["records"] if record["cell"] == cell]
    if "capacity" in metric and any(record["search"] and not record["search"]["rate_kept_per_s"] for record in records):
        return {}
    return {record["block"]: figure for record in records if (figure := figure_of(record, metric)) is not None}


def compute_ratio(run: Found, pair: Found, metric: str, looks: int) -> Found | None:
    """Return the ratio of two cells with its interval; None if no block has both."""
    subject, baseline = (list_figures(run, pair[side], metric) for side in ("subject", "baseline"))
    blocks = sorted(subject.keys() & baseline.keys())
    return estimate(np.log([subject[block] / baseline[block] for block in blocks]), looks) if blocks else None


def compute_gain(run: Found, step: Found, other: Found, looks: int) -> Found | None:
    """Return the ratio of two steps' ratios with its interval; None if no block has all four cells."""
    cells = (step["subject"], step["baseline"], other["baseline"], other["subject"])
    figures = [list_figures(run, cell, step["metric"]) for cell in cells]
    blocks = sorted(set.intersection(*map(set, figures)))
    logs = [np.log([each[block] for block in blocks]) for each in figures]
    return estimate(logs[0] - logs[1] + logs[2] - logs[3], looks) if blocks else None


def estimate(logs: Logs, looks: int) -> Found:
    """Return the ratio that blocks' logarithms come to."""
    n, mean = len(logs), float(logs.mean())
    if n < BLOCKS_MIN:
        return {"estimate": np.exp(mean), "low": None, "high": None, "blocks": n, "log_error": None}
    error = float(logs.std(ddof=1)) / np.sqrt(n)
    half = t_quantile(1 - LEVEL / looks / 2, n - 1) * error
    low, high = np.exp(np.clip([mean - half, mean + half], -300, 300))
    return {"estimate": np.exp(mean), "low": low, "high": high, "blocks": n, "log_error": error}


def adjust(p_values: list[float]) -> list[float]:
    """Return p-values adjusted by Benjamini and Hochberg."""
    order = np.argsort(p_values)
    scaled = np.array(p_values)[order] * len(p_values) / np.arange(1, len(p_values) + 1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum.accumulate(np.append(scaled, 1.0)[::-1])[::-1][:-1]
    return [float(each) for each in adjusted]


def find_failed_gates(run: Found, pair: Found, ratio: Found | None) -> set[str]:
    """Return the gates that withhold a verdict: those of both cells, and `instrument` between them."""
    metric, cells = pair["metric"], (pair["subject"], pair["baseline"])
    records = [record for record in run["records"] if record["cell"] in cells]
    gates = [gate for record in records for gate in record["gates"]]
    failed = {gate["name"] for gate in gates if not gate["passed"] and metric in gate["metrics"]}
    name, margin = f"{metric}_error_ms", run["run"]["equivalence_margin"]
    errors = [
        [error for record in records if record["cell"] == cell and (error := (record["instrument"] or {}).get(name))]
        for cell in cells
    ]
    if ratio is None or sum(map(len, errors)) < len(records):
        return failed
    baseline = [figure_of(record, metric) for record in records if record["cell"] == pair["baseline"]]
    base_ms = float(np.exp(np.mean(np.log([each for each in baseline if each]))))
    low, high = ratio["low"] or ratio["estimate"], ratio["high"] or ratio["estimate"]
    if not (low > 1 or high < 1 or 1 / (1 + margin) <= low <= high <= 1 + margin):
        low = high = ratio["estimate"]
    subject_error, baseline_error = ((min(a for a, _ in each), max(b for _, b in each)) for each in errors)
    least_ms = (low - 1) * base_ms - subject_error[1] + baseline_error[0]
    most_ms = (high - 1) * base_ms - subject_error[0] + baseline_error[1]
    is_small = 1 / (1 + margin) <= 1 + least_ms / base_ms and 1 + most_ms / base_ms <= 1 + margin
    return failed if least_ms > 0 or most_ms < 0 or is_small else failed | {"instrument"}


def judge(run: Found, pairs: list[Judged], looks: int) -> Iterator[tuple[str, Found | None]]:
    """Yield the verdict of each pair and the tests that it rests on, all of them corrected together."""
    tested = [
        place
        for place, (_, ratio, failed) in enumerate(pairs)
        if ratio and not failed and ratio["log_error"] is not None
    ]
    known = [ratio for place, (_, ratio, _) in enumerate(pairs) if ratio and place in tested]
    tests = dict(zip(tested, run_tests(known, np.log1p(run["run"]["equivalence_margin"]), looks), strict=True))
    for place, (pair, ratio, failed) in enumerate(pairs):
        found = tests.get(place)
        if failed or not ratio:
            verdict = "withheld"
        elif found and found["p_equivalence"] <= EQUIVALENCE_LEVEL:
            verdict = "equivalent"
        elif found and found["p_difference"] <= LEVEL:
            verdict = "faster" if (ratio["estimate"] > 1) == (pair["metric"] in HIGHER_IS_BETTER) else "slower"
        else:
            verdict = "inconclusive"
        yield verdict, found


def gather(run: Found, pair: Found, looks: int) -> Judged:
    """Return what a verdict on two cells rests on."""
    ratio = compute_ratio(run, pair, pair["metric"], looks)
    return pair, ratio, find_failed_gates(run, pair, ratio)


def name_pair(pair: Found) -> str:
    """Return the name of a comparison."""
    return f"{pair['subject']} / {pair['baseline']}"


def run_tests(ratios: list[Found], margin: float, looks: int) -> Iterator[Found]:
    """Yield the tests of ratios; the margin is a logarithm."""
    means = [float(np.log(ratio["estimate"])) for ratio in ratios]
    different, equivalent = [], []
    for ratio, mean in zip(ratios, means, strict=True):
        different.append(min(1, looks * 2 * p_value(ratio, abs(mean))))
        equivalent.append(min(1, looks * max(p_value(ratio, margin - mean), p_value(ratio, margin + mean))))
    different, equivalent = adjust(different), adjust(equivalent)
    decided = (sum(p <= LEVEL for p in different), sum(p <= EQUIVALENCE_LEVEL for p in equivalent))
    levels = [LEVEL / looks * min(1 + count, len(ratios)) / max(len(ratios), 1) for count in decided]
    for ratio, mean, p_difference, p_equivalence in zip(ratios, means, different, equivalent, strict=True):
        needed = None
        if p_difference > LEVEL and p_equivalence > EQUIVALENCE_LEVEL:
            goals = zip((abs(mean), margin - abs(mean)), levels, strict=True)
            needed = min((n for goal, level in goals if (n := count_blocks(ratio, goal, level))), default=None)
        yield {
            "p_difference": p_difference,
            "p_equivalence": p_equivalence,
            "comparisons": len(ratios),
            "looks": looks,
            "detectable": float(np.exp(min(reach(ratio, levels[0], ratio["blocks"]), 300))),
            "blocks_needed": needed,
        }


def p_value(ratio: Found, distance: float) -> float:
    """Return the chance of a mean that far from its bound, were the true one at the bound."""
    if ratio["log_error"] == 0:
        return 0.0 if distance > 0 else 1.0
    return t_cdf(-distance / ratio["log_error"], ratio["blocks"] - 1)


def reach(ratio: Found, level: float, blocks: int) -> float:
    """Return the distance that so many blocks find in 80 % of runs."""
    error = ratio["log_error"] * np.sqrt(ratio["blocks"] / blocks)
    return float((t_quantile(1 - level / 2, blocks - 1) + t_quantile(0.8, blocks - 1)) * error)


def count_blocks(ratio: Found, goal: float, level: float) -> int | None:
    """Return the least number of blocks, over those that there are, that reach the goal."""
    low, high = ratio["blocks"] + 1, BLOCKS_MAX
    if reach(ratio, level, high) > goal:
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if reach(ratio, level, middle) <= goal else (middle + 1, high)
    return int(low)


def list_differences(said: Any, computed: Any, where: str) -> Iterator[str]:  # noqa: ANN401 - parts of JSON
    """Yield what isn't the same, to the sixth digit, in all that was computed."""
    if isinstance(computed, dict) and said is not None:
        for name, value in computed.items():
            yield from list_differences(said[name], value, f"{where}.{name}")
    elif isinstance(computed, float) and isinstance(said, (int, float)):
        if abs(said - computed) > TOLERANCE * max(abs(computed), 1e-9):
            yield f"{where}: {said}, and computed {computed}"
    elif said != computed:
        yield f"{where}: {said}, and computed {computed}"


def decode(text: str) -> Counts:
    """Return the counts of an HdrHistogram in its V2 compressed form, from the least value on.

    Behind a header of 40 bytes stand numbers in zigzag LEB128: counts, or less than 0 for so many counts of 0. The
    ninth byte of a number has eight bits.
    """
    packed = zlib.decompress(base64.b64decode(text)[8:])[40:]
    counts: list[int] = []
    number = shift = 0
    for byte in packed:
        number |= (byte if shift == 56 else byte & 0x7F) << shift  # noqa: PLR2004 - eight bytes of seven bits
        shift += 7
        if byte < 0x80 or shift > 56:  # noqa: PLR2004 - the last byte of a number
            value = number >> 1 ^ -(number & 1)
            counts += [value] if value >= 0 else [0] * -value
            number = shift = 0
    return np.pad(np.array(counts, dtype=np.int64), (0, SIZE - len(counts)))


def merge_latencies(files: list[Found]) -> Iterator[tuple[str, float]]:
    """Yield the latencies of a cell in milliseconds by metric: of its blocks' histograms, added up."""
    merged: dict[str, Counts] = {}
    for series in itertools.chain.from_iterable(file["series"] for file in files):
        if series["code"] == "ok":
            merged[series["clock"]] = merged.get(series["clock"], 0) + decode(series["histogram"])
    # Values under 2,048 ns have an index each; then each 1,024 indexes are of twice as many values as those before.
    index = np.arange(SIZE)
    bucket = np.maximum((index >> 10) - 1, 0)
    lowest = np.where(index < 1024, index, (index & 1023) + 1024) << bucket  # noqa: PLR2004
    highest = lowest + (1 << bucket) - 1

    def find_quantile(clock: str, quantile: float) -> float:
        cumulative = np.cumsum(merged[clock])
        rank = max(np.ceil(quantile * cumulative[-1] - 1e-9), 1)
        return float(highest[np.searchsorted(cumulative, rank)]) / 1e6

    if merged.get("first_item", ZERO).any():
        yield "first_item", find_quantile("first_item", 0.5)
    if merged.get("gap", ZERO).any():
        yield "gap", find_quantile("gap", 0.99)
    clock = "response" if merged.get("response", ZERO).any() else "service"
    if merged.keys() & {"first_item", "gap"} or not merged.get(clock, ZERO).any():
        return
    for metric, quantile in QUANTILES.items():
        if metric != "p99_9" or merged[clock].sum() >= P99_9_REQUESTS_MIN:
            yield metric, find_quantile(clock, quantile)
    yield "mean", float(merged[clock] @ ((lowest + highest) / 2) / merged[clock].sum()) / 1e6


def check(run: Found, folder: Path) -> Iterator[str]:
    """Yield what differs between what wirebench says of a run and what its records and histograms come to."""
    looks = len(run["run"]["looks"]["blocks"]) if run["run"]["looks"] else 1
    main = [pair for pair in run["comparisons"] if not pair["instruments"]]
    checks = list(itertools.chain.from_iterable(pair["checks"] for pair in main))
    for pair in (*run["comparisons"], *checks):
        for metric, ratio in pair["ratios"].items():
            where = f"{name_pair(pair)}: {metric}"
            yield from list_differences(ratio, compute_ratio(run, pair, metric, looks), where)
    judged = {name_pair(pair): gather(run, pair, looks) for pair in (*main, *checks)}
    gains: list[Found] = []
    judged_gains: list[Judged] = []
    for step in main:
        for gain in step["gains"]:
            ratio = compute_gain(run, step, gain, looks)
            yield from list_differences(gain["ratio"], ratio, f"gain of {step['subject']} over {gain['subject']}")
            gains.append(gain)
            judged_gains.append((step, ratio, judged[name_pair(step)][2] | judged[name_pair(gain)][2]))
    families = [(pairs, [judged[name_pair(each)] for each in pairs]) for pairs in (main, checks)]
    for pairs, family in (*families, (gains, judged_gains)):
        for pair, (verdict, tests) in zip(pairs, judge(run, family, looks), strict=True):
            yield from list_differences(pair["verdict"], verdict, f"{name_pair(pair)}: verdict")
            yield from list_differences(pair["significance"], tests, f"{name_pair(pair)}: significance")
    for cell in run["cells"]:
        records = [record for record in run["records"] if record["cell"] == cell["cell"]]
        for metric, field in MEANS.items():
            figures = list_figures(run, cell["cell"], metric).values()
            mean = float(np.exp(np.mean(np.log([*figures])))) if figures else None
            yield from list_differences(cell[field], mean, f"{cell['cell']}: {field}")
        files = [json.loads((folder / run["run"]["id"] / record["histogram_file"]).read_text()) for record in records]
        for metric, latency in merge_latencies(files):
            yield from list_differences(cell[f"{metric}_ms"], latency, f"{cell['cell']}: {metric}")


def main() -> int:
    """Check the run on stdin, print what differs, and return the exit code."""
    try:
        (folder,) = sys.argv[1:]
        run = json.load(sys.stdin)
        differences = list(check(run, Path(folder)))
    except (ValueError, KeyError, TypeError, OSError) as error:
        sys.stderr.write(f"error: {error!r}\n{__doc__}")
        return 2
    sys.stdout.write(
        "\n".join([*differences, f"{len(run['comparisons'])} comparisons, {len(differences)} differences\n"])
    )
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
