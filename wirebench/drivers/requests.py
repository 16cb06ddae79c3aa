"""Requests for tools that are told them beforehand. k6 makes its own, from the same application file."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

from wirebench.drivers.driver import Job
from wirebench.model.application import Operation, builtin
from wirebench.model.inputs import Drawing
from wirebench.model.template import Values, render

#: How many requests there are to choose from, where they differ.
_REQUESTS = 1000


def operation_of(job: Job) -> Operation:
    """Return the operation that a job sends."""
    return builtin().operations[job.cell.operation]


def draw_inputs(job: Job, fresh: int | str = 0) -> list[dict[str, Any]]:
    """Return the inputs of requests to choose from; one of them where all are alike.

    `fresh` stands for an id that the tool itself puts in: a template of its own, or a number that it replaces.
    """
    operation, cell = operation_of(job), job.cell
    drawing = Drawing(random.Random(job.seed), payload=cell.payload, fresh=fresh)  # noqa: S311 - load, not a secret
    count = _REQUESTS if operation.varies and not operation.creates else 1
    return [builtin().draw(cell.operation, drawing) for _ in range(count)]


def expected_values(operation: Operation, values: Values) -> dict[str, Any]:
    """Return values that a reply's JSON must have, by path; what isn't equality is left out."""
    expect = operation.rest.expect.json_ if operation.rest else {}
    return dict(pair for path, template in expect.items() for pair in _equalities(path, template, values))


def _equalities(path: str, template: Any, values: Values) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - any JSON
    if not isinstance(template, Mapping):
        yield path, render(template, values)
    elif "matches" in template:
        for name, value in render(template["matches"], values).items():
            yield f"{path}.{name}", value
