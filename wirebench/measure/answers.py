"""What variants answer to single requests, and whether that is alike: wrong and different replies, each in a line."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from wirebench.drivers import Job
from wirebench.drivers.wireload import carry_out, describe_job
from wirebench.errors import WirebenchError
from wirebench.measure.conformance import Conformance, shorten
from wirebench.model.cell import Cell
from wirebench.model.frozen import FrozenModel

#: By operation, paths to values that all variants answer alike, by transport.
Paths = Mapping[str, Sequence[Mapping[str, str]]]


class Answer(FrozenModel):
    """The outcome of one request: a line of `wireload request`."""

    operation: str
    number: int
    #: An HTTP status, the name of a gRPC code, or `ok`.
    status: int | str
    reply: Any = None
    #: A text for each entry of `same`: equal ones for equal values, None for no value.
    same: tuple[str | None, ...] = ()
    #: What is wrong with the reply; empty if nothing is.
    problem: str = ""


#: Jobs that were sent, and the outcomes of their requests.
Answered = Sequence[tuple[Job, Sequence[Answer]]]
_Side = tuple[Job, Answer]


def send_requests(job: Job, requests_each: int) -> list[Answer]:
    """Send `requests_each` of each operation of a job, on one connection.

    Raises ProcessError if the service can't be reached.
    """
    lines = carry_out("request", {**describe_job(job), "requests_each": requests_each})
    try:
        return list(map(Answer.model_validate_json, lines))
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise WirebenchError(f"{job.address}: its reply can't be read: {reason}", "correct what it answers") from None


def describe_work(cell: Cell) -> tuple[object, ...]:
    return (cell.operation, cell.payload, cell.stream_items, cell.stream_rate_limit_per_s)


def compare_answers(answered: Answered, alike: Paths) -> Conformance:
    """Find what is wrong with answers, and where variants differ in values that they should have alike."""
    by_work: dict[object, list[list[_Side]]] = {}
    mismatches = []
    for job, answers in answered:
        by_work.setdefault(describe_work(job.cell), []).append([(job, answer) for answer in answers])
        for answer in answers:
            if answer.problem:
                replied = f"it answered {answer.status} {_show(answer.reply)}"
                mismatches.append(f"{job.cell.variant}, {_name_answer(answer)}: {answer.problem}; {replied}")
    for same in by_work.values():
        for numbered in zip(*same, strict=False):
            good = ((job, answer) for job, answer in numbered if not answer.problem)
            for pair in itertools.combinations(good, 2):
                mismatches += _compare(pair, alike)
    return Conformance(sum(len(answers) for _, answers in answered), tuple(mismatches))


def _compare(sides: tuple[_Side, _Side], alike: Paths) -> Iterator[str]:
    """Yield a line for each value that two answers should have alike, and haven't."""
    (job, answer), (other_job, other) = sides
    for paths, *values in zip(alike[answer.operation], answer.same, other.same, strict=True):
        if not {job.cell.transport, other_job.cell.transport} <= paths.keys():
            continue
        if None in values or values[0] != values[1]:
            shown = (
                f"{job.cell.variant} has {paths[job.cell.transport] or 'the reply'}: "
                f"{shorten(value or 'nothing')} in {_show(answer.reply)}"
                for (job, answer), value in zip(sides, values, strict=True)
            )
            yield f"{_name_answer(answer)}: {'; '.join(shown)}"


def _name_answer(answer: Answer) -> str:
    return f"{answer.operation}, request {answer.number}"


def _show(value: Any) -> str:  # noqa: ANN401 - any JSON
    return shorten(json.dumps(value, ensure_ascii=False))
