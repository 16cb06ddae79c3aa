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

#: What a path has that leads to nothing.
_ABSENT: Any = object()
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
    by_work: dict[object, list[tuple[Job, Sequence[Answer]]]] = {}
    mismatches = []
    for job, answers in answered:
        by_work.setdefault(describe_work(job.cell), []).append((job, answers))
        for answer in answers:
            if answer.problem:
                replied = f"it answered {answer.status} {_show(answer.reply)}"
                mismatches.append(f"{job.cell.variant}, {_name_answer(answer)}: {answer.problem}; {replied}")
    for same in by_work.values():
        for numbered in zip(*(answers for _, answers in same), strict=False):
            good = [(job, answer) for (job, _), answer in zip(same, numbered, strict=True) if not answer.problem]
            for pair in itertools.combinations(good, 2):
                mismatches += _compare(pair, alike)
    return Conformance(sum(len(answers) for _, answers in answered), tuple(mismatches))


def _compare(sides: tuple[tuple[Job, Answer], tuple[Job, Answer]], alike: Paths) -> Iterator[str]:
    """Yield a line for each value that two answers should have alike, and haven't."""
    transports = [job.cell.transport for job, _ in sides]
    (_, answer), _ = sides
    for each in alike[answer.operation]:
        if not all(transport in each for transport in transports):
            continue
        paths = [each[transport] for transport in transports]
        one, other = (_resolve_path(reply.reply, path) for (_, reply), path in zip(sides, paths, strict=True))
        if not _are_alike(one, other, (transports[0] == "grpc", transports[1] == "grpc")):
            sides_shown = (
                f"{job.cell.variant} has {path or 'the reply'}: {_show(value)} in {_show(reply.reply)}"
                for (job, reply), path, value in zip(sides, paths, (one, other), strict=True)
            )
            yield f"{_name_answer(answer)}: {'; '.join(sides_shown)}"


def _resolve_path(value: Any, path: str) -> Any:  # noqa: ANN401 - any JSON
    """Return what a path leads to; `*` stands for each item of a list, as all do for a stream."""
    for place, key in enumerate(filter(None, path.split("."))):
        if isinstance(value, list) and not key.isdecimal():
            rest = ".".join(path.split(".")[place + (key == "*") :])
            return [_resolve_path(item, rest) for item in value]
        if isinstance(value, list):
            value = value[int(key)] if int(key) < len(value) else _ABSENT
        else:
            value = value.get(key, _ABSENT) if isinstance(value, dict) else _ABSENT
    return value


def _are_alike(one: Any, other: Any, may_lack: tuple[bool, bool]) -> bool:  # noqa: ANN401 - any JSON
    """Return whether two values are the same; `may_lack` says which side may leave out what is empty.

    gRPC's JSON does so, and has large numbers as text.
    """
    if isinstance(one, dict) and isinstance(other, dict):
        keys = one.keys() | other.keys()
        return all(_are_alike(one.get(key, _ABSENT), other.get(key, _ABSENT), may_lack) for key in keys)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_are_alike(*pair, may_lack) for pair in zip(one, other, strict=True))
    if one is _ABSENT or other is _ABSENT:
        sides = tuple(zip((one, other), may_lack, strict=True))
        return all(may if value is _ABSENT else not value for value, may in sides)
    if {type(one), type(other)} in ({int, str}, {float, str}):
        return str(one) == str(other)
    return (type(one) is bool) == (type(other) is bool) and bool(one == other)


def _name_answer(answer: Answer) -> str:
    return f"{answer.operation}, request {answer.number}"


def _show(value: Any) -> str:  # noqa: ANN401 - any JSON
    return shorten("nothing" if value is _ABSENT else json.dumps(value, ensure_ascii=False))
