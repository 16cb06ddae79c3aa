"""How fast a core is at the moment: the CPU time of a fixed piece of work."""

from __future__ import annotations

import json
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

#: Of these the median counts: the first finds its data in no cache.
_REPEATS = 5
_ROUNDS = 10
_DOCUMENT = {f"user-{number}": {"id": number, "name": "x" * (number % 32)} for number in range(200)}


def measure_reference_us(core: int) -> float:
    """Return the CPU time of a fixed piece of work on a core, in µs; it takes about 20 ms.

    Virtual machines and processors that get warm are not equally fast all the time. Services' CPU time doesn't show it.
    This work never changes, so its CPU time shows it. Where threads can't be bound to a core, any core runs it.
    """

    def measure() -> float:
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {core})  # of this thread alone
        return statistics.median(_time_work_us() for _ in range(_REPEATS))

    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(measure).result()


def _time_work_us() -> float:
    start_ns = time.thread_time_ns()
    _work()
    return (time.thread_time_ns() - start_ns) / 1e3


def _work() -> int:
    """Encode, decode, sort and look up, as services do."""
    length = 0
    for _ in range(_ROUNDS):
        users = json.loads(json.dumps(_DOCUMENT))
        length += sum(len(users[name]["name"]) for name in sorted(users, reverse=True))
    return length
