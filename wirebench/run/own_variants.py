"""Variants of an application: checks before anything starts, files that drivers read, and verification."""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from wirebench.drivers import Job
from wirebench.errors import UsageError
from wirebench.measure.answers import Answered, compare_answers, describe_work
from wirebench.measure.conformance import Conformance
from wirebench.model.application import Operation, Request, find_headers, resolve
from wirebench.model.cell import Cell, ServiceSpec
from wirebench.model.scenario import Scenario, find_own
from wirebench.model.source import FieldPath
from wirebench.model.variant import CONTRACT_FILE, REFLECTION, VARIABLE, Variant
from wirebench.run.ids import ID_STEP
from wirebench.run.load_pod.task import ReflectTask, SendTask
from wirebench.run.load_source import LoadSource
from wirebench.run.schema import compile_schema
from wirebench.system.files import write_atomic
from wirebench.system.paths import CONTRACT
from wirebench.system.tls import make_context
from wirebench.targets.endpoint import Endpoint

#: Ids for what verification creates, each time that something else is verified.
VERIFIED_IDS = ID_STEP // 100
#: How many requests of each operation are sent to each variant, with the same inputs.
REQUESTS_EACH = 10


class Variants:
    """The variants that a run measures: files for drivers, and verification."""

    def __init__(self, scenario: Scenario, folder: Path, source: LoadSource) -> None:
        """Take a folder for files, and where requests are sent from."""
        self._scenario = scenario
        self._folder = folder
        self._source = source
        self._files: dict[str, tuple[Path, Path]] = {}

    def prepare(self, endpoint: Endpoint) -> tuple[Path, Path]:
        """Return what drivers read of a running variant: the application, and gRPC messages; the first call writes it.

        Raises WirebenchError if its messages can't be read, or don't fit the application file.
        """
        name = str(endpoint.service.variant)
        if name not in self._files:
            application, file = self._scenario.application, self._folder / "application.json"
            write_atomic(file, application.source.text)
            if application.variants[name].transport == "grpc":
                descriptors = self._folder / CONTRACT_FILE.format(name)
                messages = self._find_messages(name, endpoint)
                write_atomic(descriptors, messages)
                if _is_reflected(application.variants[name]):  # others are checked before anything starts
                    resolve(application.path, {name: descriptors})
            else:  # Messages say which values are equal.
                variants = application.variants
                found = (each for name, (_, each) in self._files.items() if variants[name].transport == "grpc")
                descriptors = next(found, CONTRACT)
            self._files[name] = file, descriptors
        return self._files[name]

    def _find_messages(self, name: str, endpoint: Endpoint) -> bytes:
        application = self._scenario.application
        variant = application.variants[name]
        if not _is_reflected(variant):
            paths = [[application.path.parent / each for each in names] for names in (variant.schema_, variant.imports)]
            return compile_schema(paths[0], paths[1] or [application.path.parent])
        requests = (each.find_request("grpc", name) for each in application.operations.values())
        calls = [request["call"] for request in requests if request]
        task = ReflectTask(address=endpoint.address, tls=endpoint.tls, calls=tuple(calls), headers=variant.headers)
        return base64.b64decode(self._source.run(task, [endpoint]))

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
        for cell in sorted(cells, key=lambda cell: cell.transport != "grpc"):  # Others are compared by its messages.
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
            task = SendTask(job=job, requests_each=requests_each)
            answers = self._source.run(task, [endpoints[job.cell.service]])
            if limit:
                time.sleep(len(answers) / limit.rate_per_s)
            answered.append((job, answers))
        return answered

    def compare(self, answered: Answered) -> Conformance:
        return compare_answers(answered, self._scenario.application)


def check_variants(scenario: Scenario) -> None:
    """Check the environment variables and files that variants name. Raises UsageError, with the line."""
    application = scenario.application
    for name, field in find_variables(scenario):
        if name not in os.environ:
            where = application.source.locate(field)
            hint = f"set it: export {name}=…; its value is never written"
            raise UsageError(f"{where}: the environment variable {name} is not set", hint)
    for name in scenario.variants:
        if tls := application.find_tls(name):
            try:
                make_context(tls)
            except UsageError as error:
                where = application.source.locate(("variants", name, "tls"))
                raise UsageError(f"{where}: {error.message}", error.hint, error.details) from None


def describe_verification(scenario: Scenario, services: Sequence[ServiceSpec]) -> str:
    """Return what is verified of the replies of these services, in words."""
    if not scenario.variants:
        return f"{'equal ' if len(services) > 1 else ''}replies to random requests"
    paths = {path for each in _find_operations(scenario).values() for same in each.same for path in same.values()}
    compared = "equal bodies" if paths == {""} else "equal values of `same`" if paths else "nothing compared"
    return f"status, expectations, {compared}" if len(services) > 1 else "status, expectations"


def _find_operations(scenario: Scenario) -> dict[str, Operation]:
    """Return the operations that a scenario measures."""
    first = next(iter(scenario.application.operations))
    levels = [level for each in scenario.transports for level in find_own(scenario.factors.operation, each) or (first,)]
    names = dict.fromkeys(name for level in levels for name in scenario.load.find_workload(level).operations)
    return {name: scenario.application.operations[name] for name in names}


def find_variables(scenario: Scenario) -> Iterator[tuple[str, FieldPath]]:
    """Yield the environment variables that a scenario's variants and operations name, each with where it stands."""
    sections: dict[FieldPath, dict[str, str]] = {}
    for name in scenario.variants:
        for key in ("headers", "environment"):
            sections["variants", name, key] = getattr(scenario.variants[name], key)
    for name, operation in _find_operations(scenario).items():
        requests: dict[FieldPath, Request | None] = {("rest",): operation.rest, ("grpc",): operation.grpc}
        requests |= {("variants", each): own for each, own in operation.variants.items() if each in scenario.variants}
        for field, request in requests.items():
            key, sections["operations", name, *field, key] = find_headers(request)
    for field, texts in sections.items():
        for key, text in texts.items():
            yield from ((variable, (*field, key)) for variable in VARIABLE.findall(text))


def _is_reflected(variant: Variant) -> bool:
    return variant.schema_ in ((), (REFLECTION,))
