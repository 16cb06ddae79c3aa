"""Worker processes for servers that have none of their own: gRPC and the socket."""

import multiprocessing
import multiprocessing.connection
import signal
import sys
from collections.abc import Callable


def run_workers(count: int, serve: Callable[[], None]) -> None:
    """Call `serve` in `count` processes, which share a port by SO_REUSEPORT; SIGTERM is passed on to them.

    A worker that ends on its own takes the others with it, and the exit status is 1.
    """
    if count == 1:
        serve()
        return
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=serve, name=f"worker {number}") for number in range(count)]
    for worker in workers:
        worker.start()
    stopped = False

    def stop(*_: object) -> None:
        nonlocal stopped
        stopped = True
        for worker in workers:
            worker.terminate()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    multiprocessing.connection.wait([worker.sentinel for worker in workers])
    failed = not stopped
    stop()
    for worker in workers:
        worker.join()
    sys.exit(1 if failed else 0)
