"""Several drivers: which are compared, how far they agree, and how they check the verdicts of the first."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.support.report_run import GENERATOR_GATE, RunBuilder, cell, passed
from wirebench.analysis.compare_cells import Comparison, find_comparisons
from wirebench.model.contract import Driver
from wirebench.model.record import Gate
from wirebench.present import sentences


def driven(tmp_path: Path, *drivers: Driver, gates: tuple[Gate, ...] = ()) -> tuple[Comparison, ...]:
    """Return the comparisons of a run of two concurrencies by some drivers."""
    cells = [cell("rest", driver=driver, concurrency=count) for driver in drivers for count in (1, 16)]
    chosen = gates or (passed(),)
    builder = RunBuilder(cells=cells, info={"compare": "driver"}, gates=chosen)
    return find_comparisons(builder.write(tmp_path))


@pytest.mark.parametrize(
    ("drivers", "pairs"),
    [(("oha", "locust", "k6"), [("k6", "locust"), ("k6", "oha")]), (("oha", "locust"), [("oha", "locust")])],
)
def test_drivers_are_held_against_k6_alone(
    tmp_path: Path, drivers: tuple[Driver, ...], pairs: list[tuple[str, str]]
) -> None:
    """In each of two situations; without it, the first is the reference that a cross-check needs."""
    found = driven(tmp_path, *drivers)
    assert all(each.instruments for each in found)
    assert sorted(2 * pairs) == sorted((each.baseline_level, each.subject_level) for each in found)


def test_how_far_drivers_agree_is_one_sentence_each(tmp_path: Path) -> None:
    """It spans all situations; each situation has its own sentence too."""
    found = driven(tmp_path, "k6", "oha", "locust")
    said = sentences.describe_agreement(found)
    assert ["oha", "locust"] == [sentence.split()[0] for sentence in said]
    assert all("the p50" in sentence and "of k6, over 2 situations." in sentence for sentence in said)


def test_a_disagreement_that_failed_a_gate_says_so(tmp_path: Path) -> None:
    """A generator without CPU time measures itself."""
    assert "the requests/s (unreliable: generator CPU), " in sentences.describe_verdict(
        driven(tmp_path, "k6", "locust", gates=(GENERATOR_GATE,))[0]
    )


#: What `quick` drives: one driver for all, and for two transports one that users know.
CHECKED = (
    cell("rest", driver="wireload"),
    cell("grpc", driver="wireload"),
    cell("socket", driver="wireload"),
    cell("rest", driver="k6"),
    cell("grpc", driver="ghz"),
)


def test_two_drivers_of_a_service_each_check_the_verdict_of_one_that_drove_both(tmp_path: Path) -> None:
    """k6 on REST and ghz on gRPC: what they come to together says whether the verdict depends on the driver."""
    found = find_comparisons(RunBuilder(cells=CHECKED).write(tmp_path))
    judged = [each for each in found if not each.instruments]
    assert [("wireload",)] * 3 == [each.drivers for each in judged]
    checks = {(each.subject_level, each.baseline_level): each.checks for each in judged}
    (check,) = checks.pop(("grpc", "rest"))
    assert ("ghz", "k6") == check.drivers
    assert [(), ()] == list(checks.values())
    assert [("wireload", "k6"), ("wireload", "ghz")] == [
        (each.baseline_level, each.subject_level) for each in found if each.instruments
    ]


def test_a_second_driver_of_both_services_checks_the_first(tmp_path: Path) -> None:
    """The verdict rests on the first driver, and is not given once more for each."""
    cells = [cell(transport, driver=driver) for transport in ("rest", "grpc") for driver in ("wireload", "k6")]
    judged = [each for each in find_comparisons(RunBuilder(cells=cells).write(tmp_path)) if not each.instruments]
    assert [("wireload",)] == [each.drivers for each in judged]
    assert [("k6",)] == [check.drivers for each in judged for check in each.checks]


def test_a_cross_check_says_whether_it_leads_to_the_same_verdict(tmp_path: Path) -> None:
    """So does the summary, which counts."""
    found = find_comparisons(RunBuilder(cells=CHECKED).write(tmp_path))
    (checked,) = (each for each in found if each.checks)
    assert "Cross-check by ghz and k6: the same verdict (1." in sentences.describe_verdict(checked)
    assert ("other drivers lead to the same verdict in 1 of 1 cross-check.",) == sentences.describe_cross_checks(found)
    other = dataclasses.replace(checked, checks=(dataclasses.replace(checked.checks[0], verdict="slower"),))
    assert "Cross-check by ghz and k6: another verdict, gRPC is slower than REST (1." in sentences.describe_verdict(
        other
    )
    said = "other drivers lead to the same verdict in 0 of 1 cross-check"
    assert (f"{said}.",) == sentences.describe_cross_checks([other])
    withheld = dataclasses.replace(checked, checks=(dataclasses.replace(checked.checks[0], verdict="withheld"),))
    assert (f"{said}; 1 more has no verdict.",) == sentences.describe_cross_checks([other, withheld])


def test_a_cross_check_that_failed_a_gate_has_no_verdict(tmp_path: Path) -> None:
    """A driver that was full says nothing for or against the verdict of another."""
    run = RunBuilder(
        cells=CHECKED, gates=lambda of, _block: (GENERATOR_GATE if of.driver == "ghz" else passed(),)
    ).write(tmp_path)
    (checked,) = (each for each in find_comparisons(run) if each.checks)
    assert "faster" == checked.verdict
    assert (
        "Cross-check by ghz and k6: no verdict on gRPC against REST (failed gates: generator CPU)"
        in sentences.describe_verdict(checked)
    )
    assert () == sentences.describe_cross_checks([checked])
