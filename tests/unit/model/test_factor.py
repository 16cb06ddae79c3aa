"""A factor is declared in one place, from which scenarios, plans, ids, names and the order of cells follow."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

from wirebench.model.cell import DEFAULTS, FACTORS, Cell
from wirebench.model.contract import TRANSPORTS, Implementation
from wirebench.model.factor import Level
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
from wirebench.present.labels import name_cell
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


#: Levels that aren't a list and have no limits.
FREE = {
    "variant": "names of the application file",
    "operation": "names of the application file, or of a workload",
    "payload": "a name of the application file, or a number",
}


def describe_levels(name: str) -> str:
    """Return the levels of a factor: those of each transport, a range, or the names."""
    factor, hint = FACTORS[name], get_type_hints(Cell)[name]
    if name in FREE:
        return FREE[name]
    if factor.choices:
        levels = {}
        for transport, facts in TRANSPORTS.items():
            known = [factor.choices(facts, implementation) for implementation in get_args(Implementation)]
            levels[transport] = join(dict.fromkeys(itertools.chain(*known)))
        by_transport = "; ".join(f"{transport}: {each}" for transport, each in levels.items())
        return by_transport if len(set(levels.values())) > 1 else next(iter(levels.values()))
    if factor.limits:
        least, greatest = factor.limits
        return f"{least:,}–{greatest:,}" + (", `none`" if factor.none else "")
    kinds = [factor.levels or hint, *get_args(factor.levels or hint)]
    return join(next(get_args(each) for each in kinds if get_origin(each) is Literal))


def describe_default(name: str) -> str:
    """Return the default of a factor, if each cell has one."""
    factor = FACTORS[name]
    default = DEFAULTS.get(name) if factor.cluster_default is None else factor.cluster_default
    return "the first" if factor.choices else join([default or ("none" if factor.none and factor.limits else None)])


def describe_needs(name: str) -> str:
    """Return what a level, by default any but the default, can't be without."""
    factor = FACTORS[name]
    of = f"{join(factor.needed_by)}: " if factor.needed_by else ""
    needs = [f"{of}`{other}` {join(levels)}" for other, levels in factor.needs.items() if levels != (None,)]
    needs += ["built-in application"] * factor.is_built_in_only
    places = {("kubernetes",): "cluster", ("local",): "target `local`"}
    needs += [place for targets, place in places.items() if targets == factor.targets]
    return "; ".join(needs + ["open load"] * (factor.load_models == ("open",)))


def join(levels: Iterable[Level]) -> str:
    """Return levels as code; no level is left out."""
    return ", ".join(f"`{level}`" for level in levels if level is not None)


def test_the_reference_has_a_row_for_each_factor() -> None:
    """All but the meaning follows from the declarations; after a change, replace rows by those that are shown here."""
    rows = {
        name: [describe_levels(name), describe_default(name), describe_needs(name)]
        for name in FACTORS
        if name != "shape"  # that of the load model
    }
    table = (ROOT / "docs/scenarios.md").read_text("utf-8").partition("| factor | meaning |")[2].partition("\n\n")[0]
    cells = [line[2:-2].split(" | ") for line in table.splitlines()[2:]]
    assert rows == {name.strip("`"): rest for name, _, *rest in cells}
