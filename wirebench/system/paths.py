"""Where the project's own files are: scenarios, scripts, protos and tools, beside the package or in its wheel."""

from __future__ import annotations

import os
from pathlib import Path

#: What a wheel has of the project, at the same paths; a checkout has no such folder. scripts/build-wheel fills it.
_DATA = Path(__file__).resolve().parents[1] / "_data"
#: Whether this was installed from a wheel, which has no make targets, and of the tools wireload and truth only.
IS_WHEEL = _DATA.is_dir()
#: An image that has the package installed says where the files are.
ROOT = Path(os.environ.get("WIREBENCH_ROOT") or (_DATA if IS_WHEEL else _DATA.parents[1]))
SCENARIOS = ROOT / "scenarios"
#: Where runs are kept by default, and the name that stands for the newest of them; ~1 is the one before it.
DEFAULT_FOLDER = Path("results")
LAST = "last"
K6_SCRIPT = ROOT / "k6" / "rest.js"
CONTRACT = ROOT / "proto" / "contract.binpb"
CHARTS = ROOT / "charts"
#: What `make cluster-up` leaves: who may enter its cluster, and which images are in it.
KUBECONFIG = ROOT / "build" / "cluster" / "kubeconfig"
IMAGES = ROOT / "build" / "cluster" / "images.yaml"
#: What `make postgres-up` leaves: the URL of its server, with the password.
POSTGRES_URL = ROOT / "build" / "postgres" / "url"
TOOLS = ROOT / ".tools" / "bin"
#: What `make driver-locust` installs, in a virtual environment of its own, and what its users do.
LOCUST = ROOT / ".tools" / "locust"
LOCUSTFILE = ROOT / "locust" / "locustfile.py"
APPLICATIONS = ROOT / "applications"
#: The built-in application: what its operations send and expect.
APPLICATION = APPLICATIONS / "users.yaml"


def list_scenarios() -> dict[str, Path]:
    """Return the scenario files that come with the project, by name."""
    return {path.stem: path for path in (*sorted(SCENARIOS.glob("*.yaml")), *sorted(SCENARIOS.glob("examples/*.yaml")))}
