"""Scaling laws in words and as pictures: the points with the law, where adding stops helping, and the residuals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from wirebench.analysis.ratio import BLOCKS_MIN
from wirebench.analysis.scaling import Scaling
from wirebench.analysis.scaling_law import COUNT_MAX, LEVELS_MIN, Estimate, Model, ScalingLaw
from wirebench.model.labels import capitalise, describe_situation, label_factor, name_gate, pluralise
from wirebench.present.charts.scaling import draw_law, draw_residuals
from wirebench.present.charts.style import Style, assign_styles_to_names
from wirebench.present.charts.svg import Chart
from wirebench.present.numbers import format_ci, format_number

_MODELS: dict[Model, str] = {
    "linear": "grows linearly",
    "amdahl": "follows Amdahl's law",
    "usl": "follows the universal scalability law",
}


def describe_scalings(scalings: Iterable[Scaling]) -> tuple[str, ...]:
    """Say of each series which law it follows and where adding stops helping; and once a reason, which have none."""
    laws, without = [], dict[str, list[str]]()
    for each in scalings:
        if each.law:
            laws.append(capitalise(_describe_law(each, each.law)))
        else:
            without.setdefault(_explain_missing_law(each), []).append(name_scaling(each))
    missing = (f"{reason}: {'; '.join(names)}." for reason, names in without.items())
    return (*laws, *missing)


def name_scaling(scaling: Scaling) -> str:
    """Name a series: its service, operation and load."""
    first = scaling.series.cells[0]
    return f"{_name_line(scaling)}, {describe_situation(first.factors, {scaling.series.factor})}"


def draw_scalings(scalings: Iterable[Scaling]) -> tuple[Chart, ...]:
    """Draw the laws of a run: of each factor and situation, the points with their laws, and the residuals."""
    by_title: dict[tuple[str, str], list[Scaling]] = {}
    with_law = [each for each in scalings if each.law]
    for each in with_law:
        factor = each.series.factor
        title = describe_situation(each.series.cells[0].factors, {factor})
        by_title.setdefault((factor, title), []).append(each)
    styles = assign_styles_to_names(
        (_name_line(each), str(each.series.cells[0].factors["transport"])) for each in with_law
    )
    return tuple(
        chart
        for (factor, title), together in by_title.items()
        for chart in _draw(label_factor(factor), title, [(styles[_name_line(each)], each) for each in together])
    )


def _draw(label: str, title: str, styled: Sequence[tuple[Style, Scaling]]) -> Iterator[Chart]:
    laws = [(style, each.law) for style, each in styled if each.law]
    rate = styled[0][1].series.cells[0].rate.label
    yield Chart(
        f"{rate} and scaling law: {title}",
        f"over {label}; bands: 95 % intervals, dotted: extrapolated",
        draw_law(f"Scaling law of {rate} over {label}, {title}", laws),
    )
    yield Chart(
        f"Residuals: {title}",
        f"measured {rate} as a ratio to the law, over {label}",
        draw_residuals(f"Residuals of {rate} over {label}, {title}", laws),
    )


def _name_line(scaling: Scaling) -> str:
    return scaling.series.cells[0].name_without(scaling.series.factor)


def _describe_law(scaling: Scaling, law: ScalingLaw) -> str:
    label = label_factor(scaling.series.factor)
    unit = scaling.series.cells[0].rate.label
    if law.is_misfit:
        worst = max(abs(each - 1) for each in law.residuals)
        return f"{name_scaling(scaling)}: {unit} follows no scaling law; the best fit is up to {100 * worst:.2g} % off."
    parts = [f"{name_scaling(scaling)}: {unit} {_MODELS[law.model]} with {label}"]
    if law.model == "linear":
        parts.append(f"{_format_estimate(law.one)} for each")
    if law.model != "linear":
        parts.append(f"σ {_format_estimate(law.sigma)}")
    if law.model == "usl":
        parts.append(f"κ {_format_estimate(law.kappa)}")
    return f"{', '.join(parts)}; {_describe_best(law, label)}."


def _describe_best(law: ScalingLaw, label: str) -> str:
    """Say where adding stops helping."""
    most, best = max(law.levels), law.best
    if math.isinf(best.estimate):
        low = math.floor(min(best.low, COUNT_MAX))
        limit = f"; it levels off at about {_describe_limit(law.sigma)}" if law.model == "amdahl" else ""
        return f"adding helps up to {low:,} {label} at least{_mark_extrapolated(low, most)}{limit}"
    if best.high <= 1:
        return "adding never helps"
    return f"it is greatest at {_format_best(best)} {label}{_mark_extrapolated(best.estimate, most)}"


def _describe_limit(sigma: Estimate) -> str:
    """Say what Amdahl's law comes to in the end: 1 / σ."""
    high = 1 / sigma.low if _round_to_zero(sigma.low) else math.inf
    return f"{format_number(1 / sigma.estimate)} times that of one{format_ci(1 / sigma.high, high)}"


def _mark_extrapolated(level: float, most: float) -> str:
    return f", extrapolated beyond the {most:g} that were measured" if level > most else ""


def _format_best(best: Estimate) -> str:
    high = best.high if best.high < COUNT_MAX else math.inf
    return f"{best.estimate:,.0f}{format_ci(best.low, high, '{:,.0f}'.format)}"


def _format_estimate(of: Estimate) -> str:
    estimate, low, high = map(_round_to_zero, (of.estimate, of.low, of.high))
    return f"{format_number(estimate)}{format_ci(low, high)}"


def _round_to_zero(value: float) -> float:
    return 0.0 if value < 1e-6 else value  # noqa: PLR2004 - less has no effect at any number that could be run


def _explain_missing_law(scaling: Scaling) -> str:
    factor, levels = scaling.series.factor, scaling.series.levels
    what = f"No scaling law over {label_factor(factor)}"
    if scaling.failed:
        by_gate: dict[str, list[str]] = {}
        for level, gate in scaling.failed:
            by_gate.setdefault(name_gate(gate.name), []).append(f"{level:g}")
        failed = "; ".join(f"{name} at {', '.join(at)}" for name, at in by_gate.items())
        return f"{what}, as gates failed ({failed})"
    if len(levels) < LEVELS_MIN:
        wanted = ",".join(f"{level:g}" for level in (*levels, 2 * levels[-1]))
        return f"{what} from {len(levels)} levels ({LEVELS_MIN} are needed: `--set factors.{factor}={wanted}`)"
    blocks = pluralise(scaling.blocks, "block")
    return f"{what} from {blocks} with all levels: {BLOCKS_MIN} are needed (--blocks)"
