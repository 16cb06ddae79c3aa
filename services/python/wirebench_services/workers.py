"""Worker processes for servers that have none of their own: gRPC and the socket."""

import multiprocessing
import multiprocessing.connection
import signal
import sys
from collections.abc import Callable

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def run_workers(count: int, serve: Callable[[], None]) -> None:
    """Call `serve` in `count` processes, which share a port by SO_REUSEPORT; SIGTERM is passed on to them.

    A worker that ends on its own takes the others with it, and the exit status is 1.
    """
    if count == 1:
        serve()
        return
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_start_serving, args=(serve,)) for _ in range(count)]
    # A signal between the first fork and the handlers would end this process alone.
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    for worker in workers:
        worker.start()

    def stop(*_: object) -> None:
        for worker in workers:
            worker.terminate()

    for number in STOP_SIGNALS:
        signal.signal(number, stop)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    multiprocessing.connection.wait([worker.sentinel for worker in workers])
    stop()
    for worker in workers:
        worker.join()
    sys.exit(int(any(worker.exitcode for worker in workers)))


def _start_serving(serve: Callable[[], None]) -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    serve()
