"""What variants answer to single requests, and whether that is alike: wrong and different replies, each in a line."""

from __future__ import annotations

import itertools
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from wirebench.drivers import Job
from wirebench.drivers.wireload import carry_out, describe_job
from wirebench.errors import WirebenchError
from wirebench.measure.conformance import Conformance, shorten
from wirebench.model.application import Application
from wirebench.model.cell import Cell
from wirebench.model.frozen import FrozenModel
from wirebench.targets.launch import redact


class Answer(FrozenModel):
    """The outcome of one request: a line of `wireload request`."""

    operation: str
    #: The request: method, path or call, and body.
    sent: str
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
#: What differs between replies that are wrong in the same way.
_NUMBER = re.compile(r"\d+")


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


def compare_answers(answered: Answered, application: Application) -> Conformance:
    """Find what is wrong with answers, and where variants differ in values that they should have alike.

    What happened to many requests is one line: where the application file has it, and the first of these requests.
    """
    by_work: dict[object, list[list[_Side]]] = {}
    found = defaultdict[tuple[object, ...], list[str]](list)
    for job, answers in answered:
        by_work.setdefault(describe_work(job.cell), []).append([(job, answer) for answer in answers])
        for answer in answers:
            if answer.problem:
                where = _locate_request(application, job.cell, answer.operation)
                problem, sent = redact(answer.problem, application), _show(answer.sent, application)
                replied = f"; it answered {answer.status} {_show_reply(answer, application)}" if answer.status else ""
                line = f"{where}: {job.cell.variant}: {problem}; sent {sent}{replied}"
                found[where, job.cell.variant, answer.status, _NUMBER.sub("", problem)].append(line)
    for same in by_work.values():
        for numbered in zip(*same, strict=False):
            good = ((job, answer) for job, answer in numbered if not answer.problem)
            for pair in itertools.combinations(good, 2):
                for where, line in _compare(pair, application):
                    found[where, *(job.cell.variant for job, _ in pair)].append(line)
    lines = (f"{each[0]}{f' ({len(each)} times)' * (len(each) > 1)}" for each in found.values())
    return Conformance(sum(len(answers) for _, answers in answered), tuple(lines))


def _locate_request(application: Application, cell: Cell, operation: str) -> str:
    """Return where an operation's request to a cell's variant is written."""
    is_own = cell.variant in application.operations[operation].variants
    place = ("variants", cell.variant) if is_own and cell.variant else (cell.transport,)
    return application.source.locate(("operations", operation, *place))


def _compare(sides: tuple[_Side, _Side], application: Application) -> Iterator[tuple[str, str]]:
    """Yield where a value is asked for that two answers should have alike, and haven't, with a line about it."""
    (job, answer), (other_job, other) = sides
    alike = application.operations[answer.operation].same
    for place, (paths, *values) in enumerate(zip(alike, answer.same, other.same, strict=True)):
        if not {job.cell.transport, other_job.cell.transport} <= paths.keys():
            continue
        if None in values or values[0] != values[1]:
            where = application.source.locate(("operations", answer.operation, "same", place))
            shown = (
                f"{job.cell.variant} has {paths[job.cell.transport] or 'the reply'}: "
                f"{_show(value or 'nothing', application)} in {_show_reply(answer, application)}, "
                f"sent {_show(answer.sent, application)}"
                for (job, answer), value in zip(sides, values, strict=True)
            )
            yield where, f"{where}: {'; '.join(shown)}"


def _show_reply(answer: Answer, application: Application) -> str:
    return _show(json.dumps(answer.reply, ensure_ascii=False), application)


def _show(text: str, application: Application) -> str:
    return shorten(redact(text, application))  # in this order: a part of a value would not be known
