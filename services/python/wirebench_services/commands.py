"""The commands `wirebench-rest`, `wirebench-grpc` and `wirebench-socket`."""

import functools
import signal
import sys


def main(transport: str) -> None:
    # Until there is a server to stop, Ctrl-C ends the command at once and without a traceback: also during the imports
    # below.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from wirebench_services.service_command import run  # noqa: PLC0415

    sys.exit(run(transport, sys.argv[1:]))


rest, grpc, socket_ = (functools.partial(main, transport) for transport in ("rest", "grpc", "socket"))

if __name__ == "__main__":
    main(sys.argv.pop(1))
