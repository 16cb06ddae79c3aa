"""Variants of an application: checks before anything starts, files that drivers read, and verification."""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from wirebench.drivers import Job
from wirebench.drivers.driver import ID_STEP
from wirebench.drivers.wireload import Answer, compile_schema
from wirebench.errors import UsageError
from wirebench.measure.conformance import Conformance
from wirebench.measure.load_source import LoadSource
from wirebench.model.application import resolve
from wirebench.model.cell import Cell, ServiceSpec
from wirebench.model.scenario import Scenario, find_own
from wirebench.model.source import FieldPath
from wirebench.model.variables import redact
from wirebench.model.variant import CONTRACT_FILE, REFLECTION, Variant
from wirebench.system.files import open_atomic, write_atomic
from wirebench.system.paths import CONTRACT
from wirebench.system.tls import make_context
from wirebench.targets import Endpoint

#: Ids for what verification creates, each time that something else is verified.
VERIFIED_IDS = ID_STEP // 100
#: How many requests of each operation are sent to each variant, with the same inputs.
REQUESTS_EACH = 10
_SHOWN_CHARACTERS = 300
#: What a path has that leads to nothing.
_ABSENT: Any = object()


#: By operation, paths to values that all variants answer alike, by transport.
Paths = Mapping[str, Sequence[Mapping[str, str]]]
#: Jobs that were sent, and the outcomes of their requests.
Answered = Sequence[tuple[Job, Sequence[Answer]]]


class Variants:
    """The variants that a run measures: files for drivers, and verification."""

    def __init__(
        self,
        scenario: Scenario,
        folder: Path,
        kept: Path,
        source: LoadSource,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Take a folder for temporary files, one for gRPC messages, and where requests are sent from."""
        self._scenario = scenario
        self._folder = folder
        self._kept = kept
        self._source = source
        self._sleep = sleep
        self._files: dict[str, tuple[Path, Path]] = {}

    def prepare(self, endpoint: Endpoint) -> tuple[Path, Path]:
        """Return what drivers read of a running variant: the application, and gRPC messages; the first call writes it.

        Raises WirebenchError if its messages can't be read, or don't fit the application file.
        """
        name = str(endpoint.service.variant)
        if name not in self._files:
            application, file, descriptors = self._scenario.application, self._folder / "application.json", CONTRACT
            write_atomic(file, application.text)
            if application.variants[name].transport == "grpc":
                descriptors = self._kept / CONTRACT_FILE.format(name)
                messages = self._find_messages(name, endpoint)
                with open_atomic(descriptors) as kept:
                    kept.write(messages)
                if _is_reflected(application.variants[name]):  # others are checked before anything starts
                    resolve(application.path, {name: descriptors})
            self._files[name] = file, descriptors
        return self._files[name]

    def _find_messages(self, name: str, endpoint: Endpoint) -> bytes:
        application = self._scenario.application
        variant = application.variants[name]
        if not _is_reflected(variant):
            paths = [[application.folder / each for each in names] for names in (variant.schema_, variant.imports)]
            return compile_schema(paths[0], paths[1] or [application.folder], self._folder)
        requests = (each.find_request("grpc", name) for each in application.operations.values())
        calls = [request["call"] for request in requests if request]
        return self._source.reflect(endpoint, self._folder, calls, variant.headers)

    def send(
        self,
        cells: Iterable[Cell],
        endpoints: Mapping[ServiceSpec, Endpoint],
        seed: int,
        first_ids: Mapping[object, int],
    ) -> Answered:
        """Send a few requests of the cells whose services run, within the limit of one that the run hasn't started.

        `first_ids` has the first id for what each kind of request creates. Raises WirebenchError if one can't be sent.
        """
        jobs: dict[tuple[ServiceSpec, object], Job] = {}
        for cell in cells:
            endpoint, work = endpoints.get(cell.service), describe_work(cell)
            if endpoint and (cell.service, work) not in jobs:
                application, descriptors = self.prepare(endpoint)
                jobs[cell.service, work] = Job(
                    cell=cell,
                    load=self._scenario.load,
                    address=endpoint.address,
                    seed=seed,
                    id_base=first_ids[work],
                    output=self._folder / "verified.json",
                    log=self._folder / "verified.log",
                    cores=None,
                    tls=endpoint.tls,
                    application=application,
                    descriptors=descriptors,
                )
        answered = []
        for job in jobs.values():
            limit = endpoints[job.cell.service].limit
            operations = len(job.load.find_workload(job.cell.operation).operations)
            requests_each = min(REQUESTS_EACH, max(1, limit.rate_per_s // operations)) if limit else REQUESTS_EACH
            answers = self._source.send(job, endpoints[job.cell.service], requests_each)
            if limit:
                self._sleep(len(answers) / limit.rate_per_s)
            answered.append((job, answers))
        return answered

    def compare(self, answered: Answered) -> Conformance:
        operations = self._scenario.application.operations
        outcome = compare_answers(answered, {name: each.same for name, each in operations.items()})
        names = {name for name, _ in find_variables(self._scenario)}
        return replace(outcome, mismatches=tuple(redact(line, names) for line in outcome.mismatches))


def check_variants(scenario: Scenario) -> None:
    """Check the environment variables and files that variants name. Raises UsageError, with the line."""
    application = scenario.application
    for name, field in find_variables(scenario):
        if name not in os.environ:
            where = application.locate(field)
            hint = f"set it: export {name}=…; its value is never written"
            raise UsageError(f"{where}: the environment variable {name} is not set", hint)
    for name in scenario.variants:
        if tls := application.find_tls(name):
            try:
                make_context(tls)
            except UsageError as error:
                where = application.locate(("variants", name, "tls"))
                raise UsageError(f"{where}: {error.message}", error.hint, error.details) from None


def find_variables(scenario: Scenario) -> Iterator[tuple[str, FieldPath]]:
    """Yield the environment variables that a scenario's variants and operations name, each with where it stands."""
    first = next(iter(scenario.application.operations))
    levels = [level for each in scenario.transports for level in find_own(scenario.factors.operation, each) or (first,)]
    operations = dict.fromkeys(name for level in levels for name in scenario.load.find_workload(level).operations)
    return scenario.application.find_variables(scenario.variants, operations)


def _is_reflected(variant: Variant) -> bool:
    return variant.schema_ in ((), (REFLECTION,))


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
    text = "nothing" if value is _ABSENT else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
