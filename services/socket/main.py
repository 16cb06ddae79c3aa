"""The command `wirebench-socket`."""

from __future__ import annotations

import sys

from services.platform import lifecycle
from services.platform.lifecycle import Runtime
from services.platform.settings import Defaults

DEFAULTS = Defaults(transport="socket", port=9000, runtimes=("asyncio", "threaded"), threads=10)


def main() -> None:
    """Serve until told to stop."""
    sys.exit(lifecycle.main(DEFAULTS, {"asyncio": _asyncio, "threaded": _threaded}, sys.argv[1:]))


def _asyncio() -> Runtime:
    from services.socket.asyncio_runtime import RUNTIME  # noqa: PLC0415 - a process loads only what it runs

    return RUNTIME


def _threaded() -> Runtime:
    from services.socket.threaded_runtime import RUNTIME  # noqa: PLC0415

    return RUNTIME


if __name__ == "__main__":
    main()
