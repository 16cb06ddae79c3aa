"""What variants answer to single requests, and whether that is alike: wrong and different replies, each in a line."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson
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
    #: What is wrong with the reply; empty if nothing is.
    problem: str = ""


#: Jobs that were sent, and the outcomes of their requests.
Answered = Sequence[tuple[Job, Sequence[Answer]]]


class _Side(NamedTuple):
    """An answer to a job, with what it has at each path of `same`."""

    job: Job
    answer: Answer
    same: Sequence[str | None]


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


def read_same(answered: Answered) -> Iterator[list[str | None]]:
    """Yield what each answer has at the paths of `same`: equal texts for equal values, None for no value.

    gRPC messages say which values are equal, also in replies of other transports. Raises ProcessError.
    """
    described = max((job for job, _ in answered), key=lambda job: job.cell.transport == "grpc")
    replies = [
        {"operation": each.operation, "transport": job.cell.transport, "reply": each.reply}
        for job, answers in answered
        for each in answers
    ]
    yield from map(orjson.loads, carry_out("same", {**describe_job(described), "replies": replies}))


def describe_work(cell: Cell) -> tuple[object, ...]:
    return (cell.operation, cell.payload, cell.stream_items, cell.stream_rate_limit_per_s)


def compare_answers(answered: Answered, alike: Paths) -> Conformance:
    """Find what is wrong with answers, and where variants differ in values that they should have alike.

    Raises ProcessError.
    """
    mismatches = []
    texts = read_same(answered)
    by_work: dict[object, list[list[_Side]]] = {}
    for job, answers in answered:
        sides = [_Side(job, answer, next(texts)) for answer in answers]
        by_work.setdefault(describe_work(job.cell), []).append(sides)
        for answer in answers:
            if answer.problem:
                replied = f"it answered {answer.status} {_show(answer.reply)}"
                mismatches.append(f"{job.cell.variant}, {_name_answer(answer)}: {answer.problem}; {replied}")
    for same in by_work.values():
        for numbered in zip(*same, strict=False):
            good = (side for side in numbered if not side.answer.problem)
            for pair in itertools.combinations(good, 2):
                mismatches += _compare(pair, alike)
    return Conformance(sum(len(answers) for _, answers in answered), tuple(mismatches))


def _compare(sides: tuple[_Side, _Side], alike: Paths) -> Iterator[str]:
    """Yield a line for each value that two answers should have alike, and haven't."""
    answer = sides[0].answer
    for place, paths in enumerate(alike[answer.operation]):
        if not all(side.job.cell.transport in paths for side in sides):
            continue
        values = [side.same[place] for side in sides]
        if None in values or values[0] != values[1]:
            shown = (
                f"{side.job.cell.variant} has {paths[side.job.cell.transport] or 'the reply'}: "
                f"{shorten(value or 'nothing')} in {_show(side.answer.reply)}"
                for side, value in zip(sides, values, strict=True)
            )
            yield f"{_name_answer(answer)}: {'; '.join(shown)}"


def _name_answer(answer: Answer) -> str:
    return f"{answer.operation}, request {answer.number}"


def _show(value: Any) -> str:  # noqa: ANN401 - any JSON
    return shorten(json.dumps(value, ensure_ascii=False))
