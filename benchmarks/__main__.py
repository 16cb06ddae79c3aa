"""`make bench-self`: run all benchmarks, or those named: `make bench-self ARGS="services report"`."""

from __future__ import annotations

import importlib
import sys

from wirebench.cli.output import print_error
from wirebench.errors import WirebenchError

BENCHMARKS = (
    "services", "settings", "streams", "connections", "network", "wireload", "resources", "push", "progress",
    "verdicts", "report", "index", "api", "overhead",
)  # fmt: skip


def main(names: list[str]) -> int:
    """Run benchmarks and return 1 if one of them is over its limit, or fails."""
    unknown = set(names) - set(BENCHMARKS)
    if unknown:
        print(f"no benchmark {', '.join(sorted(unknown))}: choose from {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    good = True
    for name in names or BENCHMARKS:
        print(f"== {name}", flush=True)
        try:
            good = importlib.import_module(f"benchmarks.{name}").main() and good
        except WirebenchError as error:
            print_error(error)
            good = False
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
