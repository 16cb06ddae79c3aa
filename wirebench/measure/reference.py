"""How fast a core is at the moment: the CPU time of a fixed piece of work."""

from __future__ import annotations

import json
import os
import statistics
import threading
import time

#: Of these the median counts: the first finds its data in no cache.
_REPEATS = 5
_ROUNDS = 10
_DOCUMENT = {f"user-{number}": {"id": number, "name": "x" * (number % 32)} for number in range(200)}


def measure_reference_us(core: int) -> float:
    """Return the CPU time of a fixed piece of work on a core, in µs; it takes about 20 ms.

    Virtual machines and processors that get warm are not equally fast all the time. Services' CPU time doesn't show it.
    This work never changes, so its CPU time shows it. Where threads can't be bound to a core, any core runs it.
    """
    took_us: list[float] = []

    def measure() -> None:
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {core})  # of this thread alone
        for _ in range(_REPEATS):
            start_ns = time.thread_time_ns()
            _work()
            took_us.append((time.thread_time_ns() - start_ns) / 1e3)

    thread = threading.Thread(target=measure, name="reference")
    thread.start()
    thread.join()
    return statistics.median(took_us)


def _work() -> int:
    """Encode, decode, sort and look up, as services do."""
    length = 0
    for _ in range(_ROUNDS):
        users = json.loads(json.dumps(_DOCUMENT))
        length += sum(len(users[name]["name"]) for name in sorted(users, reverse=True))
    return length
