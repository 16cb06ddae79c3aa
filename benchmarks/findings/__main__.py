"""`make findings`: writes docs/findings.md and its pictures from the bundles in docs/findings/."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.findings.page import BUNDLES, write_page
from wirebench.errors import WirebenchError


def main() -> int:
    """Write the page; return the exit status."""
    try:
        path = write_page(BUNDLES, Path(sys.argv[1]) if len(sys.argv) > 1 else BUNDLES.parent)
    except WirebenchError as error:
        sys.stderr.write(f"error: {error.message}\n  next: {error.hint}\n")
        return error.exit_status
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
