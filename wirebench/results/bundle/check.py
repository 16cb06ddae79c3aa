"""Check that the files of a run are consistent, before an export and before an import."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
from pydantic import TypeAdapter, ValidationError

from wirebench.errors import UsageError, WirebenchError
from wirebench.model.cell import Cell
from wirebench.model.histogram import Histogram
from wirebench.model.histogram_file import HistogramFile
from wirebench.model.record import QUANTILES, Latency, OperationFigures, Record
from wirebench.model.run_info import RunInfo
from wirebench.model.scenario import BLOCKS_MAX, QUESTION_CHARACTERS_MAX
from wirebench.model.validation_messages import describe_first
from wirebench.results.runs import Run, load_run, record_paths

_CELL = TypeAdapter(Cell)
_CELL_FIELDS = frozenset(field.name for field in fields(Cell))
#: Where whole numbers of 64 bits end, which is what databases and arrays take.
_INT_END = 2**63
#: What fractions are within, unless they are 0: nothing that is measured is longer, faster, or smaller.
_FRACTION_MAX = 1e15
_FRACTION_MIN = 1e-17
#: A run's cells are counted in 32 bits.
_CELLS_MAX = 2**31 - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Both are rounded.
_WINDOW_SHARE_MIN = 0.99
#: So far back may the clock have been set between a run's name and its begin, and so long may it have waited for cores.
_CLOCK_SET_MAX, _WAITED_MAX = timedelta(days=1), timedelta(days=30)


def load_checked_run(folder: Path) -> Run:
    """Read a run, and see that its records are its own, and that its histograms can be read.

    The run may be forged. Raises UsageError that says what doesn't fit.
    """
    try:
        for name in ("run.json", *sorted(f"records/{path.name}" for path in record_paths(folder))):
            _check_numbers(folder, name)
        run = load_run(folder)
        _check_info(run.info)
        levels: dict[str, Mapping[str, object]] = {}
        for record in run.records:
            _check_record(record, run.info)
            _check_order(record)
            _check_factors(record)
            if levels.setdefault(record.cell, record.factors) != record.factors:
                raise _make_error(_name_file(record), "its factors are others than those of its cell in other blocks")
            _check_histograms(folder, record)
    except WirebenchError as error:
        raise UsageError(error.message.replace(f"{folder}/", "")) from None
    return run


def _make_error(path: str, reason: str) -> UsageError:
    return UsageError(f"{path}: {reason}")


def _name_file(record: Record) -> str:
    return f"records/{record.id}.json"


def _check_info(info: RunInfo) -> None:
    if info.id.partition("-")[2] != info.scenario:
        raise _make_error("run.json", f"run {info.id!r} isn't of the scenario {info.scenario!r}")
    if len(info.question) > QUESTION_CHARACTERS_MAX:
        raise _make_error("run.json", f"question: it has more than {QUESTION_CHARACTERS_MAX} characters")
    moments = [_parse_start(info), *info.resumed_at]
    if moments != sorted(moments):
        raise _make_error("run.json", "resumed_at: it was resumed before it was begun, or before the last time")
    if not (1 <= info.blocks <= BLOCKS_MAX and 1 <= info.cells <= _CELLS_MAX):
        raise _make_error("run.json", f"a run has from 1 to {BLOCKS_MAX:,} blocks, and a cell at least")
    if not 0 < info.equivalence_margin < 1:
        raise _make_error("run.json", f"equivalence_margin: {info.equivalence_margin} isn't between 0 and 1")


def _parse_start(info: RunInfo) -> datetime:
    try:
        started = datetime.fromisoformat(info.started_at)
    except ValueError:
        raise _make_error("run.json", f"started_at: {info.started_at[:40]!r} isn't a time") from None
    if started.tzinfo is None:
        raise _make_error("run.json", "started_at has no time zone")
    if started < _EPOCH:  # archives, and other zones than its own, have no such time
        raise _make_error("run.json", "started_at: nothing was measured before 1970")
    try:
        named = datetime.strptime(info.id.partition("-")[0], "%Y%m%dT%H%M%S%z")
    except ValueError:
        raise _make_error("run.json", f"id: {info.id[:40]!r} doesn't begin with a time") from None
    if not -_CLOCK_SET_MAX <= started - named <= _WAITED_MAX:
        raise _make_error("run.json", "started_at isn't when the run began by its name")
    return started


def _check_record(record: Record, info: RunInfo) -> None:
    expected = {
        "run": info.id,
        "scenario": info.scenario,
        "machine": info.machine,
        "id": f"b{record.block:03d}-{record.cell}",
        "histogram_file": f"histograms/{record.id}.json",
    }
    for name, value in expected.items():
        if getattr(record, name) != value:
            raise _make_error(_name_file(record), f"{name} isn't that of run.json and of its block and cell")
    if not (1 <= record.block <= info.blocks and 0 <= record.order < info.cells):
        raise _make_error(_name_file(record), "its block and order aren't those of the run's plan")
    if not record.gates:
        raise _make_error(_name_file(record), "no gate was checked")
    # Loads that are sent in parts have pauses between them.
    if (record.window_end_unix_ns - record.window_start_unix_ns) / 1e9 < _WINDOW_SHARE_MIN * record.window_s:
        raise _make_error(_name_file(record), "its window ends earlier than it says")


def _check_order(record: Record) -> None:
    for name, latency in _list_latencies(record):
        ascending = [figure for each in QUANTILES if (figure := getattr(latency, each)) is not None]
        if ascending != sorted(ascending):
            raise _make_error(_name_file(record), f"{name}: its percentiles don't ascend")


def _list_latencies(record: Record) -> Iterator[tuple[str, Latency]]:
    parts: dict[str, OperationFigures | Record] = {"": record, **record.operations}
    found = {
        f"{name} {clock}".strip(): getattr(part, clock)
        for name, part in parts.items()
        for clock in ("service", "response")
    }
    if record.streams:
        found |= {"first_item": record.streams.first_item, "gap": record.streams.gap}
    found |= {f"merged {clock}": latency for clock, latency in record.merged.items()}
    yield from ((name, latency) for name, latency in found.items() if latency)


def _check_factors(record: Record) -> None:
    if unknown := sorted(record.factors.keys() - _CELL_FIELDS):
        raise _make_error(_name_file(record), f"factors: {unknown[0][:40]!r} is not known here")
    try:
        _CELL.validate_json(orjson.dumps(record.factors), strict=True)
    except ValidationError as error:
        raise _make_error(_name_file(record), f"factors: {describe_first(error)}") from None


def _check_histograms(folder: Path, record: Record) -> None:
    _check_numbers(folder, record.histogram_file)
    file = HistogramFile.read(folder / record.histogram_file)
    of_slices = (text for each in file.slices for text in each.histograms)
    texts = (*(each.histogram for each in file.series), *of_slices, *file.search)
    for place, text in enumerate(filter(None, texts)):
        try:
            Histogram.decode(text)
        except ValueError as error:
            raise _make_error(record.histogram_file, f"histogram {place + 1}: {error}") from None


def _check_numbers(folder: Path, name: str) -> None:
    """See that nothing is negative but differences, and that all can be calculated with."""
    try:
        numbers = list(_list_numbers(json.loads((folder / name).read_bytes())))
    except (ValueError, RecursionError, OSError):
        return  # what is no JSON, or isn't there, is left to who reads it next and says so
    for path, value in numbers:
        is_figure = value == 0 or _FRACTION_MIN <= abs(value) <= _FRACTION_MAX
        if not (abs(value) < _INT_END if isinstance(value, int) else is_figure):
            raise _make_error(name, f"{path}: {str(value)[:40]} isn't a valid number")
        if value < 0 and not path.startswith(("proxy.", "instrument.")):
            raise _make_error(name, f"{path}: {value} is negative")


def _list_numbers(value: object, path: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _list_numbers(each, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for each in value:
            yield from _list_numbers(each, path)
    elif isinstance(value, int | float):
        yield path, value
