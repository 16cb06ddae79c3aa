"""Ids for the users that a run creates: each creating load has its own range of unused ids."""

from __future__ import annotations

import contextlib
import itertools
import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from wirebench.errors import UsageError, WirebenchError
from wirebench.measure.client import connect
from wirebench.model.cell import Cell
from wirebench.model.scenario import Scenario
from wirebench.plan.plan import Plan, PlannedCell
from wirebench.targets.endpoint import Endpoint

#: Where the ids of users that a load creates begin, and what a creating job's first id is a multiple of.
CREATED_FIRST_ID = 10_000_000
ID_STEP = 1_000_000
_STEPS = (2**31 - CREATED_FIRST_ID) // ID_STEP
#: Several times what the generators of a large machine create; and the same of requests that create many users at once.
_CREATED_PER_S_MAX = 100_000
_BATCHES_PER_S_MAX = 20_000
_DRAWS = 20
_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class IdLayout:
    """How far behind the run's first id each creating load's ids begin, and how many ids there are in all."""

    offsets: Mapping[PlannedCell, int]
    count: int


def lay_out(plan: Plan, *, restarts_services: bool) -> IdLayout:
    """Give every creating load of a plan ids that no other one has on the same service.

    On fresh services each block starts again. Services that stay keep what was created, as a variant may that is
    started again, and may share a store: then all loads of the run have ids of their own. Raises UsageError if there
    aren't as many ids as that.
    """
    steps_taken: Counter[object] = Counter()
    offsets = {}
    is_fresh = restarts_services and not plan.scenario.variants
    for planned in itertools.chain(*plan.blocks):
        if steps := plan.scenario.load.windows * count_steps(planned.cell, plan.scenario):
            store = (planned.block, planned.cell.service) if is_fresh else None
            offsets[planned] = steps_taken[store] * ID_STEP
            steps_taken[store] += steps
    count = max(steps_taken.values(), default=0) * ID_STEP
    if count > _STEPS * ID_STEP:
        raise UsageError(
            f"{plan.scenario.source.locate(('load', 'window_s'))}: users that are created would take up to {count:,} "
            f"ids, and int32 has {_STEPS * ID_STEP:,}",
            "measure for a shorter time, in fewer blocks, or with a lower load.concurrency_max",
        )
    return IdLayout(offsets, count)


def find_free(count: int, endpoints: Iterable[Endpoint]) -> int:
    """Return the first of so many ids, drawn at random, of which no service has a user.

    What earlier runs created is avoided, and what runs at the same time create, most likely. Variants aren't asked:
    they have other operations. Raises WirebenchError if no such ids are found, or a service doesn't answer.
    """
    with contextlib.ExitStack() as opened:
        clients = [
            opened.enter_context(connect(each.service.transport, each.address, tls=each.tls, timeout_s=_TIMEOUT_S))
            for each in endpoints
            if not each.service.variant
        ]
        starts = range(_STEPS - count // ID_STEP + 1)
        for start in random.SystemRandom().sample(starts, min(_DRAWS, len(starts))):
            first_id = CREATED_FIRST_ID + start * ID_STEP
            replies = [client.call("users.list", {"after_id": first_id - 1, "limit": 1}) for client in clients]
            if failed := next((reply for reply in replies if not reply.ok), None):
                raise WirebenchError(f"a service can't list users: {failed.message}", "see the service's log")
            if all(not reply.data or reply.data[0]["id"] >= first_id + count for reply in replies):
                return first_id
    raise WirebenchError(
        f"the services have users everywhere: no {count:,} free ids in a row were found from {CREATED_FIRST_ID:,} on",
        "delete the users that earlier runs have created there, or restart the services with an empty store",
    )


def count_steps(cell: Cell, scenario: Scenario) -> int:
    """Return how many times `ID_STEP` ids a window of a load may take: none if it creates no users.

    Every request of a load takes as many ids as its largest creation does, so that all of them know their own.
    """
    load = scenario.load
    operations = load.find_workload(cell.operation).operations
    per_request = max(scenario.application.operations[operation].count_ids(cell.payload) for operation in operations)
    requests_per_s = _BATCHES_PER_S_MAX if per_request > 1 else _CREATED_PER_S_MAX
    connections = load.add_connections(cell).concurrency
    if connections > cell.concurrency:
        # Each connection skips the ids of all that may be opened, and the first one may create all users.
        requests_per_s = connections * min(requests_per_s, cell.rate_per_s or requests_per_s)
    calls = (load.calls or 0) + (load.warmup_calls or 0)
    requests = calls * cell.concurrency or requests_per_s * (load.warmup_s + load.window_s)
    return math.ceil(per_request * requests / ID_STEP)
