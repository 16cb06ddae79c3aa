"""The command `wirebench-rest`."""

from __future__ import annotations

import sys

from services.platform import lifecycle
from services.platform.lifecycle import Runtime
from services.platform.settings import Defaults

DEFAULTS = Defaults(
    transport="rest",
    port=5000,
    runtimes=("gunicorn-gthread", "gunicorn-sync", "uvicorn"),
    threads=8,
    alpn_protocols=("http/1.1",),
)


def main() -> None:
    """Serve until told to stop."""
    runtimes = {"gunicorn-gthread": _gunicorn_gthread, "gunicorn-sync": _gunicorn_sync, "uvicorn": _uvicorn}
    sys.exit(lifecycle.main(DEFAULTS, runtimes, sys.argv[1:]))


def _gunicorn_gthread() -> Runtime:
    from services.rest.gunicorn_gthread import RUNTIME  # noqa: PLC0415 - a process loads only what it runs

    return RUNTIME


def _gunicorn_sync() -> Runtime:
    from services.rest.gunicorn_sync import RUNTIME  # noqa: PLC0415

    return RUNTIME


def _uvicorn() -> Runtime:
    from services.rest.uvicorn_runtime import RUNTIME  # noqa: PLC0415

    return RUNTIME


if __name__ == "__main__":
    main()
