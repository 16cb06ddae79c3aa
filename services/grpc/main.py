"""The command `wirebench-grpc`."""

from __future__ import annotations

import os
import sys

from services.platform import lifecycle
from services.platform.lifecycle import Runtime
from services.platform.settings import Defaults

DEFAULTS = Defaults(transport="grpc", port=50051, runtimes=("sync", "aio"), threads=10)


def main() -> None:
    """Serve until told to stop."""
    # Of itself, grpc has a long line to say about each client whose TLS handshake fails.
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    sys.exit(lifecycle.main(DEFAULTS, {"sync": _sync, "aio": _aio}, sys.argv[1:]))


def _sync() -> Runtime:
    from services.grpc.sync_runtime import RUNTIME  # noqa: PLC0415 - a process loads only what it runs

    return RUNTIME


def _aio() -> Runtime:
    from services.grpc.aio_runtime import RUNTIME  # noqa: PLC0415

    return RUNTIME


if __name__ == "__main__":
    main()
