"""Verification, before a plan is measured, that all its services answer alike."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from wirebench.drivers.driver import CREATED_FIRST_ID, ID_STEP
from wirebench.errors import WirebenchError
from wirebench.measure.conformance import Conformance, check_services
from wirebench.measure.counters import wait_until_settled
from wirebench.measure.ids import find_free
from wirebench.measure.variants import VERIFIED_IDS, Answered, Variants
from wirebench.model.cell import ServiceSpec
from wirebench.model.labels import pluralise
from wirebench.plan.plan import Plan
from wirebench.results.runs import RunWriter
from wirebench.run.load_pod import pods
from wirebench.run.progress import Progress
from wirebench.targets import Endpoint, Target

_MILLICORES = 250

#: Runs services while a `with` block runs.
RunServices = Callable[[Sequence[ServiceSpec]], AbstractContextManager[Mapping[ServiceSpec, Endpoint]]]


@dataclass(slots=True)
class Verifier:
    """Verifies services, and chooses the ids of the records that the run creates on them."""

    plan: Plan
    target: Target
    writer: RunWriter
    progress: Progress
    #: None for the built-in application.
    variants: Variants | None
    #: How many ids the loads of the run take.
    ids: int
    #: The least id that the run creates records with.
    first_id: int = CREATED_FIRST_ID
    is_done: bool = False
    #: The first ids of records that verification creates, one for each kind of request.
    _verified_ids: Iterator[int] = field(default_factory=itertools.count, init=False)

    @property
    def is_due(self) -> bool:
        """Whether to verify services that were just started: a restarted variant may answer differently."""
        return not self.is_done or (self.variants is not None and self.target.restarts_services)

    def verify(self, endpoints: Mapping[ServiceSpec, Endpoint]) -> None:
        """Verify running services. Raises WirebenchError if they don't answer alike."""
        self.progress.step("verifying that all services answer alike")
        load_pods, seed = self.target.load_pods, self.plan.seed
        if self.variants:
            if not self.is_done:
                self._find_ids(endpoints.values())
            outcome = self.variants.verify(self.plan.cells, endpoints, seed, self._verified_ids)
        elif load_pods:
            outcome = pods.verify(load_pods, endpoints.values(), seed)
        else:
            outcome = check_services(tuple(endpoints.values()), seed)
        self._conclude(outcome)
        if not load_pods and not self.variants:
            self._find_ids(endpoints.values())
            replicas = [replica for endpoint in endpoints.values() for replica in endpoint.replicas]
            wait_until_settled([replica.admin_url for replica in replicas if replica.admin_url])

    def verify_in_turns(self, run_services: RunServices) -> None:
        """Verify as many services at a time as there are transports: a cluster may have no room for more.

        One small replica of each is enough: answers depend on neither replicas nor limits. Raises WirebenchError.
        """
        if self.variants:
            self._verify_variants_in_turns(self.variants, run_services)
            return
        services = [
            replace(
                each,
                replicas=1,
                placement=None,
                cpu_limit_millicores=_MILLICORES,
            )
            for each in self.plan.services
        ]
        by_transport: dict[str, dict[ServiceSpec, None]] = {}
        for service in services:
            by_transport.setdefault(service.transport, {})[service] = None
        for turn in itertools.zip_longest(*by_transport.values()):
            with run_services([service for service in turn if service]) as endpoints:
                self.verify(endpoints)

    def _verify_variants_in_turns(self, variants: Variants, run_services: RunServices) -> None:
        """Send requests to one variant after the other, and compare the answers of all."""
        self.progress.step("verifying that all services answer alike")
        self._find_ids(())
        first_ids = defaultdict[object, int](self._verified_ids.__next__)
        cells = self.plan.cells
        answered: Answered = ()
        for service in dict.fromkeys(cell.service for cell in cells):
            with run_services((service,)) as endpoints:
                answered = (*answered, *variants.send(cells, endpoints, self.plan.seed, first_ids))
        self._conclude(variants.compare(answered))

    def _conclude(self, outcome: Conformance) -> None:
        """Record the outcome. Raises WirebenchError if services don't answer alike."""
        info = self.writer.info
        self.writer.update(
            conformance_requests=info.conformance_requests + outcome.requests,
            conformance_mismatches=(*info.conformance_mismatches, *outcome.mismatches),
        )
        if not outcome.passed:
            raise WirebenchError(
                f"{pluralise(len(outcome.mismatches), 'problem')} in the replies to {outcome.requests} requests",
                f"correct the {'variant or the application file' if self.variants else 'service'}, "
                "and try `wirebench verify`",
                "\n".join(outcome.mismatches[:10]),
            )
        self.is_done = True

    def _find_ids(self, endpoints: Iterable[Endpoint]) -> None:
        """Choose ids that are free on services that aren't restarted, and note them: their records stay there."""
        if self.ids and (self.variants or not self.target.restarts_services):
            verified = len(self.plan.blocks) * len(self.plan.cells) * VERIFIED_IDS if self.variants else 0
            count = self.ids + math.ceil(verified / ID_STEP) * ID_STEP
            self.first_id = find_free(count, endpoints)
            ids = f"{self.first_id} to {self.first_id + count - 1}"
            what = "records" if self.variants else "users"
            self.writer.note(f"{what} that it creates stay in the services: their ids are among {ids}")
        self._verified_ids = itertools.count(self.first_id + self.ids, VERIFIED_IDS)
