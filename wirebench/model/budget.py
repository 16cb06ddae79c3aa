"""The budget file as typed data: limits that figures of a run have to keep."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from wirebench.errors import UsageError, suggest
from wirebench.model.factor import FACTORS
from wirebench.model.frozen import StrictModel, convert_list
from wirebench.model.metric import COMPARED, METRICS, Metric
from wirebench.model.source import FieldPath, Source, read_yaml

BUDGETS_MAX = 100
LEVELS_MAX = 100
LIMIT_MAX = 1e12
SLOWER_PERCENT_MAX = 1000

Bound = Literal["max", "min"]

_PERCENT = re.compile(r"(\d{1,4}(?:\.\d{1,6})?) ?%")

#: The metrics that limits are for, by their field, such as `p99_ms`.
LIMITED: Mapping[str, Metric] = {
    metric.field: metric for metric in METRICS.values() if metric.name in (*COMPARED, "p90", "p95", "errors")
}


def _read_levels(value: Any) -> Any:  # noqa: ANN401 - untrusted
    levels = value if isinstance(value, list) else [value]
    if not 1 <= len(levels) <= LEVELS_MAX:
        raise ValueError(f"must have 1 to {LEVELS_MAX} levels")
    if not all(isinstance(level, str | int | float) and not isinstance(level, bool) for level in levels):
        raise ValueError("must be a level or a list of levels; `none` where a factor has none")
    return tuple(map(str, levels))


def _read_percent(value: Any) -> Any:  # noqa: ANN401 - untrusted
    found = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    if not found or not 0 < float(found[1]) <= SLOWER_PERCENT_MAX:
        raise ValueError(f"must be a percentage over 0, at most {SLOWER_PERCENT_MAX} %, such as 5 %")
    return float(found[1]) / 100


Limits = dict[str, Annotated[float, Field(ge=0, le=LIMIT_MAX)]]


class CellBudget(StrictModel):
    """Limits of the cells that have one of the levels of each factor in `cells`; of all cells without any.

    `max` and `min` hold limits by the keys of `LIMITED`. `slower_than_base_max` is of what verdicts are on: 0.05 allows
    5 % slower than in another run.
    """

    cells: dict[str, Annotated[tuple[str, ...], BeforeValidator(_read_levels)]] = Field(default={})
    max: Limits = Field(default={})
    min: Limits = Field(default={})
    slower_than_base_max: Annotated[float, BeforeValidator(_read_percent)] | None = None

    @model_validator(mode="after")
    def _check_limits(self) -> Self:
        if not self.max and not self.min and self.slower_than_base_max is None:
            raise ValueError("has no limit: give max, min or slower_than_base_max")
        return self

    def list_limits(self) -> Iterator[tuple[Bound, str, float]]:
        """Yield each limit on a metric: which bound it is, its key, and its value."""
        yield from (("max", key, limit) for key, limit in self.max.items())
        yield from (("min", key, limit) for key, limit in self.min.items())


class Budget(StrictModel):
    """What a budget file holds."""

    budgets: Annotated[
        tuple[CellBudget, ...], BeforeValidator(convert_list), Field(min_length=1, max_length=BUDGETS_MAX)
    ]


def read_budget(path: Path) -> tuple[Budget, Source]:
    """Read and check a budget file, and return where its fields stand. Raises UsageError, with line and fix."""
    data, source = read_yaml(path, "a budget file", "name a budget file; docs/in-your-build.md describes it")
    try:
        budget = Budget.model_validate(data)
    except ValidationError as error:
        raise source.make_error(error.errors(), "docs/in-your-build.md describes every key") from None
    for place, each in enumerate(budget.budgets):
        _check_names(each, ("budgets", place), source)
    return budget, source


def _check_names(budget: CellBudget, at: FieldPath, source: Source) -> None:
    """Check what the names of factors and figures stand for. Raises UsageError."""
    for name in budget.cells:
        if name not in FACTORS:
            raise UsageError(f"{source.locate((*at, 'cells', name))}: no such factor", suggest(name, FACTORS))
    for bound, key, limit in budget.list_limits():
        where = source.locate((*at, bound, key))
        if key not in LIMITED:
            raise UsageError(f"{where}: no such figure", f"limits are for {', '.join(LIMITED)}")
        if limit == 0 and LIMITED[key].over_blocks != "sum":
            raise UsageError(f"{where}: must be over 0", "only counts can be 0")
