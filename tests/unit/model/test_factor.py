"""A factor is declared in one place, from which scenarios, plans, ids, names and the order of cells follow."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from wirebench.model.cell import FACTORS
from wirebench.system.paths import ROOT

#: What a commit would add to `ServiceSpec`.
DECLARATION = """
    pinning: Literal["none", "cores"] = declare(
        "none",
        "service",
        marks_default=False,
        needs={"transport": ("rest", "grpc")},
        nouns={"cores": "pinned cores"},
    )
"""
#: Plans a scenario of the new factor.
PROGRAM = """
import json, sys
from pathlib import Path
from wirebench.errors import UsageError
from wirebench.model.cell import sort_key
from wirebench.model.labels import name_cell
from wirebench.plan import make_plan, read_scenario

def plan(transport):
    path = Path(sys.argv[1])
    path.write_text(f"question: x\\nfactors: {{transport: {transport}, pinning: [cores, none]}}\\ncompare: pinning\\n")
    cells = sorted(make_plan(read_scenario(path), 1).cells, key=lambda cell: sort_key(cell.factors))
    return [(cell.pinning, cell.id, str(cell.service), name_cell(cell.factors)) for cell in cells]

try:
    plan("socket")
except UsageError as error:
    print(json.dumps([plan("rest"), error.message]))
"""


def test_a_declaration_is_all_that_a_factor_needs_until_it_is_applied(tmp_path: Path) -> None:
    """One declaration in a copy of the package gives it levels, an id, words, a place in the order, and a check."""
    shutil.copytree(ROOT / "wirebench", tmp_path / "wirebench")
    for name in ("applications", "scenarios"):
        (tmp_path / name).symlink_to(ROOT / name)
    module = tmp_path / "wirebench" / "model" / "cell.py"
    place = "    tls: contract.Tls"
    module.write_text(module.read_text("utf-8").replace(place, f"{DECLARATION.lstrip(chr(10))}{place}"), "utf-8")
    scenario = tmp_path / "scenario.yaml"
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, scenario], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    cells, message = json.loads(run.stdout)
    service = "rest-gunicorn-gthread-w1-memory"
    expected = [("none", service, "REST"), ("cores", f"{service}-cores", "REST with pinned cores")]
    assert expected == [(level, name, words) for level, _, name, words in cells]
    assert [f"{name}-keep-wireload-users.get-c1" for name in (service, f"{service}-cores")] != [
        each[1] for each in cells
    ]
    assert f"{scenario}:2: factors.pinning: pinning cores needs transport rest or grpc, and not socket" in message


def test_every_factor_is_described() -> None:
    """The reference has a row for each factor that a scenario can name."""
    reference = (ROOT / "docs" / "scenarios.md").read_text("utf-8")
    assert [] == [name for name in FACTORS if name != "shape" and f"\n| `{name}` |" not in reference]
