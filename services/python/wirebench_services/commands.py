"""The commands `wirebench-rest`, `wirebench-grpc` and `wirebench-socket`."""

import functools
import signal
import sys


def main(transport: str) -> None:
    # Until there is a server to stop, Ctrl-C ends the command without a traceback, also during imports.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from wirebench_services.service_command import run  # noqa: PLC0415

    sys.exit(run(transport, sys.argv[1:]))


rest, grpc, socket_ = (functools.partial(main, transport) for transport in ("rest", "grpc", "socket"))
