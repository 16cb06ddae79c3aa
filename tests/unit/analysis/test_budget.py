"""Limits of a run: met, broken and undecided by their intervals, and what withholds a verdict."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.report_run import GENERATOR_GATE, RunBuilder, cell, passed
from wirebench.analysis.budget import BudgetCheck, check_budget
from wirebench.analysis.significance import FALSE_ALARMS
from wirebench.errors import UsageError
from wirebench.model.budget import read_budget
from wirebench.model.record import Gate, Instrument, Record
from wirebench.present.budget_sentences import describe_check, list_budget_caveats, summarise_check
from wirebench.results.runs import Run

REST, GRPC = cell("rest"), cell("grpc")
#: Four blocks about 1,000, whose 95 % interval is 987 to 1,013.
ABOUT_1000 = (990.0, 997.0, 1003.0, 1010.0)

Change = Callable[[Record], Mapping[str, Any]]


def make_run(
    tmp_path: Path,
    rates_per_s: Sequence[float] = ABOUT_1000,
    name: str = "a",
    gates: tuple[Gate, ...] = (passed(),),
    change: Change = lambda _record: {},
    **info: Any,  # noqa: ANN401 - fields of RunInfo
) -> Run:
    """Return a run of REST and gRPC with these rates, one a block."""
    builder = RunBuilder(
        cells=(REST, GRPC),
        blocks=len(rates_per_s),
        samples=200,
        info={"id": name, **info},
        gates=gates,
        record=lambda record: {"rate_achieved_per_s": rates_per_s[record.block - 1], **change(record)},
    )
    return builder.write(tmp_path)


def check(tmp_path: Path, text: str, run: Run, base: Run | None = None) -> BudgetCheck:
    """Check a run by a budget file that has this one budget."""
    path = tmp_path / "budget.yaml"
    path.write_text(f"budgets:\n  - {text}\n", encoding="utf-8")
    return check_budget(*read_budget(path), run, base)


def verdicts(found: BudgetCheck) -> list[str]:
    """Return the verdicts in their order."""
    return [each.verdict for each in found.checks]


@pytest.mark.parametrize(
    ("limit", "verdict"),
    [
        ("min: {throughput_per_s: 980}", "met"),
        ("min: {throughput_per_s: 995}", "undecided"),
        ("min: {throughput_per_s: 1005}", "undecided"),
        ("min: {throughput_per_s: 1020}", "broken"),
        ("max: {throughput_per_s: 980}", "broken"),
        ("max: {throughput_per_s: 1020}", "met"),
    ],
)
def test_an_interval_within_a_limit_meets_it_and_beyond_breaks_it(tmp_path: Path, limit: str, verdict: str) -> None:
    """What lies on both sides of the limit decides nothing, whatever the estimate."""
    found = check(tmp_path, f"{{cells: {{transport: rest}}, {limit}}}", make_run(tmp_path))
    assert [verdict] == verdicts(found)
    figure = found.checks[0].figure
    assert figure is not None
    assert pytest.approx((987, 1013), abs=1) == (figure.low, figure.high)


def test_cells_are_chosen_by_their_factors(tmp_path: Path) -> None:
    """All of them without any; the sentence counts them."""
    run = make_run(tmp_path)
    limit = "min: {throughput_per_s: 900}"
    assert ["met"] == verdicts(check(tmp_path, f"{{cells: {{transport: grpc, rate_per_s: none}}, {limit}}}", run))
    found = check(tmp_path, f"{{{limit}}}", run)
    assert "2 limits of 2 cells: 2 met." == summarise_check(found)


def test_several_limits_are_broken_together(tmp_path: Path) -> None:
    """One that alone would just be broken isn't as one of many, by Holm's correction, and the sentence says so."""
    run = make_run(tmp_path)
    just = "cells: {transport: rest}, min: {throughput_per_s: 1014}"
    assert ["broken"] == verdicts(check(tmp_path, f"{{{just}}}", run))
    others = "".join(f"\n  - {{cells: {{transport: rest}}, min: {{throughput_per_s: {rate}}}}}" for rate in range(1, 9))
    first = check(tmp_path, f"{{{just}}}{others}", run)
    assert ["undecided", *["met"] * 8] == verdicts(first)
    assert "alone it would be broken, but not as one of several limits" in describe_check(first.checks[0])
    assert "as 9 are tested (Holm)" in next(list_budget_caveats(first))


def test_kept_limits_are_rarely_called_broken(tmp_path: Path) -> None:
    """At most once in forty runs, although each of six limits is exactly at the truth."""
    run = make_run(tmp_path, [1000.0] * 5)
    random = np.random.default_rng(5)
    budget = "{cells: {transport: rest}, min: {throughput_per_s: 1000}, max: {throughput_per_s: 1000}}"
    path = tmp_path / "budget.yaml"
    path.write_text(f"budgets:\n{f'  - {budget}{chr(10)}' * 3}", encoding="utf-8")
    read = read_budget(path)
    wrong = 0
    for _ in range(1000):
        rates = 1000 * np.exp(0.02 * random.standard_t(4, size=5))
        records = (
            each.model_copy(update={"rate_achieved_per_s": float(rates[each.block - 1])}) for each in run.records
        )
        found = check_budget(*read, dataclasses.replace(run, records=tuple(records)))
        wrong += bool(found.with_verdict("broken"))
    assert wrong / 1000 <= FALSE_ALARMS + 0.01


def test_one_block_decides_nothing(tmp_path: Path) -> None:
    """However far it is from the limit."""
    found = check(tmp_path, "{min: {throughput_per_s: 1}}", make_run(tmp_path, [1000.0]))
    assert ["undecided"] * 2 == verdicts(found)
    assert "fewer than 3 blocks have no interval: run more (--blocks)" in describe_check(found.checks[0])
    assert [] == list(list_budget_caveats(found))


def test_counts_are_facts_of_the_run(tmp_path: Path) -> None:
    """They need no interval, and no gate withholds them: failed requests are seen whatever else has failed."""
    gate = passed("error_rate", passed=False, value=0.5)
    run = make_run(tmp_path, [1000.0], gates=(gate,), change=lambda _: {"errors": {"unavailable": 3}})
    assert ["broken"] * 2 == verdicts(check(tmp_path, "{max: {failed: 2}}", run))
    assert ["met"] * 2 == verdicts(check(tmp_path, "{max: {failed: 3}}", run))
    found = check(tmp_path, "{max: {failed: 2}}", run)
    assert "REST users.get, 16 connections: errors at most 2: broken; measured 3." == describe_check(found.checks[0])


@pytest.mark.parametrize(
    ("limit", "verdict"),
    [
        ("max: {p99_ms: 0.001}", "broken"),
        ("max: {p99_ms: 5000}", "withheld"),
        ("min: {throughput_per_s: 1020}", "broken"),
        ("min: {throughput_per_s: 980}", "withheld"),
    ],
)
def test_a_service_that_gave_way_can_only_break_limits(tmp_path: Path, limit: str, verdict: str) -> None:
    """What an overload drops makes figures look better: a limit that they break is broken, none is met."""
    gates = (passed("rate_error", passed=False, value=0.4), passed("dropped_iterations", passed=False, value=0.4))
    found = check(tmp_path, f"{{{limit}}}", make_run(tmp_path, gates=gates))
    assert [verdict] * 2 == verdicts(found)
    assert "failed gates: " in describe_check(found.checks[0])


def test_a_service_that_answers_nothing_breaks_the_limit_of_errors(tmp_path: Path) -> None:
    """No request has failed where none has ended."""
    run = make_run(tmp_path, change=lambda _: {"requests": 0, "rate_achieved_per_s": 0.0})
    found = check(tmp_path, "{max: {failed: 0}}", run)
    assert ["broken"] * 2 == verdicts(found)
    assert "broken (nothing was answered)" in describe_check(found.checks[0])


@pytest.mark.parametrize(
    ("limit", "verdict"),
    [("p99_ms: 0.001", "withheld"), ("p95_ms: 0.001", "withheld"), ("cpu_us_per_request: 1", "broken")],
)
def test_a_failed_gate_withholds_what_depends_on_it(tmp_path: Path, limit: str, verdict: str) -> None:
    """Percentiles that no gate names depend on those of p99; server CPU depends on other gates."""
    found = check(tmp_path, f"{{max: {{{limit}}}}}", make_run(tmp_path, gates=(GENERATOR_GATE,)))
    assert [verdict] * 2 == verdicts(found)
    assert verdict == "broken" or "withheld (failed gates: generator CPU); measured " in describe_check(found.checks[0])


def test_a_block_without_a_figure_withholds_the_verdict(tmp_path: Path) -> None:
    """The mean of the others would hide a block in which nothing succeeded."""
    run = make_run(tmp_path, change=lambda record: {"rate_achieved_per_s": 0.0} if record.block == 2 else {})
    found = check(tmp_path, "{min: {throughput_per_s: 10}}", run)
    assert ["withheld"] * 2 == verdicts(found)
    assert "(measured in 3 of 4 blocks)" in describe_check(found.checks[0])


@pytest.mark.parametrize(
    ("error_ms", "met", "broken"),
    [
        ((-0.0001, 0.0001), "met", "broken"),
        ((-900.0, 0.0), "undecided", "broken"),
        ((0.0, 900.0), "met", "undecided"),
    ],
)
def test_the_drivers_error_may_be_on_either_side(
    tmp_path: Path, error_ms: tuple[float, float], met: str, broken: str
) -> None:
    """A figure that its error may have moved across the limit decides nothing."""
    instrument = Instrument(
        coarse=False, p50_error_ms=error_ms, p99_error_ms=error_ms, ceiling_per_s=None, ceiling_share=None
    )
    run = make_run(tmp_path, change=lambda _: {"instrument": instrument})
    for limit_ms, verdict in ((500, met), (0.01, broken)):
        found = check(tmp_path, f"{{max: {{p50_ms: {limit_ms}}}}}", run)
        assert [verdict] * 2 == verdicts(found)
        assert not any("own error" in caveat for caveat in list_budget_caveats(found))
    unknown = check(tmp_path, "{max: {p50_ms: 500}}", make_run(tmp_path, name="unknown"))
    assert "The driver's own error is unknown" in next(list_budget_caveats(unknown))


@pytest.mark.parametrize(
    ("rate", "share", "verdict"),
    [
        (1.0, "5 %", "met"),
        (0.8, "5 %", "broken"),
        (0.8, "40 %", "met"),
        (0.953, "5 %", "undecided"),
        (1.5, "5 %", "met"),
    ],
)
def test_slower_than_base_is_by_the_ratio(tmp_path: Path, rate: float, share: str, verdict: str) -> None:
    """What is faster is no slower."""
    base = make_run(tmp_path, name="base")
    head = make_run(tmp_path, [rate * each for each in ABOUT_1000], name="head")
    found = check(tmp_path, f"{{cells: {{transport: rest}}, slower_than_base_max: {share}}}", head, base)
    assert [verdict] == verdicts(found)


def test_runs_that_cannot_be_compared_withhold_the_verdict(tmp_path: Path) -> None:
    """As `compare` does; so does a cell that base lacks."""
    head = make_run(tmp_path, name="head")
    base = make_run(tmp_path, name="base", machine={"cpu": "Another", "cores": "2"})
    only_rest = dataclasses.replace(base, records=tuple(r for r in base.records if r.factors["transport"] == "rest"))
    found = check(tmp_path, "{slower_than_base_max: 5 %}", head, only_rest)
    assert [("the machines differ",), ("base has no such cell",)] == [each.reasons for each in found.checks]
    assert ["withheld"] * 2 == verdicts(found)


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        (
            "{cells: {transport: socket}, max: {failed: 0}}",
            "budget.yaml:2: budgets.cells: no cell of a has transport=socket",
            "its cells have transport rest, grpc",
        ),
        (
            "{max: {gap_ms: 1}}",
            "budget.yaml:2: budgets.max.gap_ms: no cell that it is for has p99 gap between items",
            "choose another figure",
        ),
        (
            "{slower_than_base_max: 5 %}",
            "budget.yaml:2: budgets.slower_than_base_max: slower_than_base_max needs a run to compare with",
            "--base RUN",
        ),
    ],
)
def test_a_limit_without_anything_to_check_is_an_error(tmp_path: Path, text: str, said: str, hint: str) -> None:
    """A misspelt level must not pass."""
    with pytest.raises(UsageError) as error:
        check(tmp_path, text, make_run(tmp_path))
    assert said in error.value.message
    assert hint in error.value.hint


def test_a_base_that_nothing_is_compared_with_is_an_error(tmp_path: Path) -> None:
    """A user who names it expects a comparison."""
    with pytest.raises(UsageError, match="has no slower_than_base_max"):
        check(tmp_path, "{max: {failed: 0}}", make_run(tmp_path), make_run(tmp_path, name="base"))


def test_runs_without_figures_are_errors(tmp_path: Path) -> None:
    """So is one that is still running; an incomplete one is checked, and said to be incomplete."""
    run = make_run(tmp_path, status="incomplete", reason="interrupted")
    assert "a is incomplete (interrupted)" in next(list_budget_caveats(check(tmp_path, "{max: {failed: 0}}", run)))
    running = dataclasses.replace(run, info=run.info.model_copy(update={"status": "running"}))
    for each, said in ((running, "a is still running"), (dataclasses.replace(run, records=()), "no window of a was")):
        with pytest.raises(UsageError, match=said):
            check(tmp_path, "{max: {failed: 0}}", each)
