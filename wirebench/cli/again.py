"""The scenario of a run that was measured, planned once more."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from wirebench.cli.run import SEED_MAX, Place, planned
from wirebench.errors import UsageError
from wirebench.files import whole_file
from wirebench.scenario import Plan, Scenario, read_scenario
from wirebench.scenario.model import BLOCKS_MAX
from wirebench.store import Run, RunInfo
from wirebench.store.results import TIMING_FILE


@contextlib.contextmanager
def planned_again(
    there: Run, name: str, place: Place, blocks: int | None = None, seed: int | None = None
) -> Iterator[tuple[Path, Plan]]:
    """Yield a file with a run's scenario, for as long as the `with` block runs, and its plan.

    Driver, blocks and seed are the run's, unless others are given; `name` is what messages call it. Raises UsageError.
    """
    with tempfile.TemporaryDirectory(prefix="wirebench-") as folder:
        path = Path(folder) / f"{there.info.scenario}.yaml"
        plan = planned(
            _scenario_of(there, path, name),
            place,
            _within(1, blocks or there.info.blocks, BLOCKS_MAX, name, "blocks"),
            _within(0, there.info.seed if seed is None else seed, SEED_MAX, name, "seed"),
            there.info.driver,
        )
        yield path, plan


def _scenario_of(there: Run, path: Path, name: str) -> Scenario:
    """Read a run's scenario from a file of its own, with the limits of any; its timing file is the run's and no other.

    Raises UsageError.
    """
    with whole_file(path) as written:
        written.write(there.info.scenario_text.encode())
    try:
        scenario = read_scenario(path, there.folder / TIMING_FILE)
    except UsageError as error:
        message = error.message.replace(f"{path.parent}/", "").replace(f"{there.folder}/", "")
        raise UsageError(f"{name}: {message}", "it takes the wirebench that measured it", error.details) from None
    if not _is_of(scenario, there.info):
        raise UsageError(f"{name}: its scenario isn't what its verdicts are of", "nothing was started")
    return scenario


def _is_of(scenario: Scenario, info: RunInfo) -> bool:
    return (scenario.question, scenario.compare, scenario.equivalence_margin) == (
        info.question,
        info.compare,
        info.equivalence_margin,
    )


def _within(least: int, value: int, most: int, name: str, field: str) -> int:
    if not least <= value <= most:
        hint = f"`wirebench reproduce` takes others: --{field}"
        raise UsageError(f"{name}: its {field}: {value} is not within {least} and {most:,}", hint)
    return value
