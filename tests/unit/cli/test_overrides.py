"""Options that override keys of a scenario: what they change, what the run records, and how mistakes are named."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.command_line import reject, wirebench
from tests.support.scenario_text import read
from wirebench.cli.run_options import Overrides
from wirebench.errors import UsageError
from wirebench.model.scenario import Scenario
from wirebench.plan.overrides import Override
from wirebench.plan.plan import make_plan
from wirebench.present.facts import list_facts
from wirebench.run.preparation import create_info
from wirebench.targets.cores import divide_cores
from wirebench.targets.local import LocalTarget

TEXT = """\
question: Which transport?
factors:
  transport: [rest, grpc, socket]
  operation: [users.get, users.create]
  concurrency: [1, 16]
cross_check: {driver: {rest: k6, grpc: ghz}, operation: users.get, concurrency: 16}
load: {model: closed, warmup_s: 0.5, window_s: 1}
blocks: 3
compare: transport
"""


def override(*assignments: str, **options: Any) -> tuple[Override, ...]:  # noqa: ANN401 - values of options
    """Return the overrides that options make."""
    return tuple(Overrides(assignments=list(assignments), **options).parse())


def changed(folder: Path, *overrides: Override, text: str = TEXT) -> Scenario:
    """Return the scenario with overrides; that its plan can be made, and its text gives the same plan."""
    scenario = read(folder, text, *overrides)
    plan = make_plan(scenario, 1)
    assert plan.blocks == make_plan(read(folder, scenario.source.text), 1).blocks
    return scenario


def test_every_option_sets_its_key(tmp_path: Path) -> None:
    """What a load tool has options for, and any other key by its path."""
    overrides = override(
        "factors.workers=1,2",
        "compare=workers",
        "factors.store=postgres",
        concurrency="64",
        rate="500,900",
        duration="1m30s",
        transport="rest,grpc",
        operation="users.create",
        driver="wireload",
        blocks="5",
    )
    scenario = changed(tmp_path, *overrides)
    assert {
        "question": "Which transport?",
        "factors": {
            "transport": ["rest", "grpc"],
            "operation": "users.create",
            "concurrency": 64,
            "rate_per_s": [500, 900],
            "driver": "wireload",
            "workers": [1, 2],
            "store": "postgres",
        },
        "load": {"model": "open", "warmup_s": 0.5, "window_s": 90.0},
        "blocks": 5,
        "compare": "workers",
    } == yaml.safe_load(scenario.source.text)
    assert ("--concurrency 64", "--rate 500,900") == scenario.source.overrides[:2]


def test_the_run_records_what_was_measured(tmp_path: Path) -> None:
    """The changed scenario and the changes; where options have the file's values, the file as it is."""
    target = LocalTarget(divide_cores(), lambda name: tmp_path / name)
    info = create_info(make_plan(read(tmp_path, TEXT, *override(blocks="7")), 1), target, "run", "wirebench run")
    assert (("--blocks 7",), 7, 7) == (info.overrides, yaml.safe_load(info.scenario_text)["blocks"], info.blocks)
    assert ("overrides", "--blocks 7") in list_facts(info)["The run"]
    commented = f"# Why.\n{TEXT}"
    unchanged = read(tmp_path, commented, *override(blocks="3", concurrency="1,16"))
    info = create_info(make_plan(unchanged, 1), target, "run", "wirebench run")
    assert ((), commented) == (info.overrides, info.scenario_text)


CHECK = yaml.safe_load(TEXT)["cross_check"]


@pytest.mark.parametrize(
    ("overrides", "check"),
    [
        (override(blocks=9), CHECK),
        (override(concurrency="64"), None),
        (override(driver="wireload"), None),
        (override("cross_check=null"), None),
        (override("cross_check.driver={rest: k6}", transport="rest"), {**CHECK, "driver": {"rest": "k6"}}),
        (override(transport="socket"), None),
    ],
)
def test_a_cross_check_is_removed_with_its_cells(
    tmp_path: Path, overrides: tuple[Override, ...], check: object
) -> None:
    """So is one whose drivers are replaced, or can't have the new rate; unless it is set itself."""
    assert check == yaml.safe_load(changed(tmp_path, *overrides).source.text).get("cross_check")


def test_levels_of_other_transports_and_unused_workloads_stay(tmp_path: Path) -> None:
    """No cell has them. The comparison is removed if one level is left of what it compares."""
    text = TEXT.replace("  concurrency", "  codec: {rest: [json, protobuf], socket: json}\n  concurrency")
    text = text.replace("window_s: 1", "window_s: 1, workloads: {crud: {sequence: [users.create, users.delete]}}")
    scenario = changed(tmp_path, *override(transport="grpc", operation="users.get"), text=text)
    assert {("protobuf", "users.get")} == {(cell.codec, cell.operation) for cell in make_plan(scenario, 1).cells}
    assert "compare" not in yaml.safe_load(scenario.source.text)


def test_a_factor_that_does_not_fit_can_be_removed(tmp_path: Path) -> None:
    """The hint has the option; without overrides, the file is what is to be corrected."""
    text = TEXT.replace("[users.get, users.create]", "users.create\n  payload: profile")
    text = text.replace("operation: users.get, ", "")
    with pytest.raises(UsageError, match=r"yaml:5: factors\.payload: users\.get has no payload 'profile'") as error:
        make_plan(read(tmp_path, text, *override(operation="users.get")), 1)
    changed(tmp_path, *override("factors.payload=null", operation="users.get"), text=text)
    with pytest.raises(UsageError) as error:
        make_plan(read(tmp_path, text.replace("users.create", "users.get")), 1)
    assert "--set" not in error.value.hint


@pytest.mark.parametrize(
    ("arguments", "expected", "hint"),
    [
        (("--operation", "users.gt"), "--operation users.gt: factors.operation: there is no operation", "users.get"),
        (("--driver", "ghz"), "--driver ghz: factors.driver: rest has no driver 'ghz'", "choose from wireload"),
        (
            ("--rate", "9", "--set", "load.model=closed"),
            "--rate 9: factors.rate_per_s: the load model closed has no",
            "open",
        ),
        (("--set", "factors.wrokers=1"), "factors.wrokers: no such key: there are workers", "scenarios.md"),
        (("--set", "blocks=many"), "--set blocks=many: blocks: must be a valid integer (it is 'many')", ""),
        (("--set", "blocks.x=1"), "--set blocks.x=1: blocks has no keys in", "--set 'blocks={x: …}'"),
        (("--set", "factors.tls=null"), "--set factors.tls=null: factors.tls isn't set in", "remove the option"),
        (("--set", "blocks"), "--set blocks: not a key and its value", "--set factors.workers=1,2"),
        (("--set", "blocks="), "--set blocks=: there is no value, or more", ""),
        (("--set", "load={a: 1, a: 2}"), "'a' appears twice", ""),
    ],
)
def test_mistakes_name_the_option(tmp_path: Path, arguments: tuple[str, ...], expected: str, hint: str) -> None:
    """There is one line with a next step, and nothing is started."""
    (tmp_path / "mine.yaml").write_text(TEXT)
    said = reject("run", tmp_path / "mine.yaml", *arguments, "--out", tmp_path / "results")
    error, _, next_step = said.partition("\nnext: ")
    assert expected in error
    assert hint in next_step
    assert not (tmp_path / "results").exists()


def test_a_dry_run_shows_the_plan_and_starts_nothing(tmp_path: Path) -> None:
    """Cells by number, their order in each block, the time and what is needed."""
    command = ("run", "ledger-stream", "--blocks", 2, "--transport", "grpc", "--dry-run", "--out", tmp_path / "out")
    status, printed, _ = wirebench(*command)
    assert 0 == status
    assert ["   1", "   2", "   3", "   4"] == re.findall(r"(?m)^ +\d+(?=  )", printed)
    assert sorted(re.findall(r"(?m)^block \d: (.*)$", printed)[0].split()) == ["1", "2", "3", "4"]
    assert "4 cells × 2 blocks, about" in printed
    assert re.search(r"needs: PostgreSQL( \(missing\))?; nothing was started", printed)
    plan = json.loads(wirebench(*command, "--json")[1])
    assert (4, 2) == (len(plan["cells"]), len(plan["order"]))
    assert not (tmp_path / "out").exists()
