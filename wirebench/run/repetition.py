"""Planning a run once more, to resume or to reproduce it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wirebench.analysis.differences import has_same_operations
from wirebench.errors import UsageError
from wirebench.model.scenario import BLOCKS_MAX, Scenario
from wirebench.model.source import parse_yaml
from wirebench.plan.load import check_scenario
from wirebench.plan.overrides import Override
from wirebench.plan.plan import Plan
from wirebench.results.bundle.manifest import RUN
from wirebench.results.runs import TIMING_FILE, Run
from wirebench.run.target_options import SEED_MAX, TargetOptions, plan_for_target


def plan_again(  # noqa: PLR0913 - options of commands
    run: Run,
    target: TargetOptions,
    application: Path | None = None,
    *,
    name: str = "",
    blocks: int | None = None,
    seed: int | None = None,
) -> Plan:
    """Return the plan of a run's scenario, by default with its blocks and seed.

    `name` is what messages call the file that contains the run, by default its run.json. Commands of variants come
    from the local application file, never from the run: that may be untrusted. Raises UsageError.
    """
    name = name or str(run.folder / RUN)
    seed = _check_range(0, run.info.seed if seed is None else seed, SEED_MAX, name, "seed")
    blocks = _check_range(1, blocks or run.info.blocks, BLOCKS_MAX, name, "blocks")
    scenario = _read_scenario(run, name, application)
    if blocks != scenario.blocks:
        scenario = _read_scenario(run, name, application, (Override(f"--blocks {blocks}", ("blocks",), blocks),))
    return plan_for_target(scenario, target, seed)


def _read_scenario(run: Run, name: str, application: Path | None, overrides: Sequence[Override] = ()) -> Scenario:
    """Read a run's scenario with the limits of any scenario, and with the timing file of the run. Raises UsageError."""
    known = application or (Path(run.info.application) if run.info.application else None)
    path = run.folder / f"{run.info.scenario}.yaml"
    try:
        data, source = parse_yaml(run.info.scenario_text, path, f"{name}: scenario_text", "a scenario")
        scenario = check_scenario(data, source, run.folder / TIMING_FILE, known, overrides)
    except UsageError as error:
        hint = "name its application file: --application FILE" if known else "use the version that created the run"
        raise UsageError(error.message, hint, error.details) from None
    asked = (scenario.question, scenario.compare, scenario.equivalence_margin)
    if asked != (run.info.question, run.info.compare, run.info.equivalence_margin):
        raise UsageError(f"{name}: scenario differs from the one its verdicts were computed for", "nothing was started")
    if scenario.variants and (problem := _find_distrust(run, scenario, is_given=application is not None)):
        message = f"{scenario.application.path} {problem}"
        raise UsageError(f"{name}: {message}", "name the file that it was measured with: --application FILE")
    return scenario.add_earlier_overrides(run.info.overrides)


def _find_distrust(run: Run, scenario: Scenario, *, is_given: bool) -> str:
    """Return why the application file can't be trusted or used; empty if it can."""
    path = scenario.application.path
    if not is_given and run.is_imported:
        return "is named by an imported run, which may be untrusted: its services aren't started"
    # Also below it: an import keeps logs, whatever they are.
    is_in_run = path and any((folder / RUN).exists() for folder in path.resolve().parents)
    if not is_given and is_in_run and any(each.start or each.kubernetes for each in scenario.variants.values()):
        return "is inside a run folder, which may be untrusted: its services aren't started"
    if not has_same_operations(run, scenario.application):
        return "has other operations than the application that was measured"
    return ""


def _check_range(least: int, value: int, most: int, name: str, field: str) -> int:
    if not least <= value <= most:
        hint = f"choose another one: `wirebench reproduce` with --{field}"
        raise UsageError(f"{name}: its {field}: {value} is not within {least} and {most:,}", hint)
    return value
