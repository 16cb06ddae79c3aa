"""The examples for builds: their commands and options exist, and the budget is one."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml

from tests.support.printed_commands import parse
from wirebench.model.budget import LIMITED, read_budget
from wirebench.system.paths import ROOT

PAGE = (ROOT / "docs/in-your-build.md").read_text("utf-8")
WORKFLOW = ROOT / "docs/examples/github-workflow.yaml"


def read_workflow() -> list[str]:
    """Return the lines of the workflow's steps."""
    (job,) = yaml.safe_load(WORKFLOW.read_text("utf-8"))["jobs"].values()
    return [line for step in job["steps"] for line in step.get("run", "").splitlines()]


COMMANDS = [line for line in read_workflow() if line.startswith("wirebench ")]


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_are_understood(line: str) -> None:
    """With their arguments and options; nothing is run."""
    words = shlex.split(line)[1:]
    assert words[0] == parse(words)[0]


def test_the_workflow_measures_compares_checks_and_publishes() -> None:
    """In this order."""
    script = "\n".join(read_workflow())
    steps = ["wirebench run base", "wirebench run head", "wirebench compare", "wirebench check", "$GITHUB_STEP_SUMMARY"]
    assert sorted(script.index(step) for step in steps) == [script.index(step) for step in steps]


def test_budgets_are_read(tmp_path: Path) -> None:
    """The file, and the one in the page."""
    assert 3 == len(read_budget(ROOT / "docs/examples/budget.yaml")[0].budgets)
    (text,) = re.findall(r"(?ms)^```yaml\n(budgets:.+?)^```", PAGE)
    (tmp_path / "budget.yaml").write_text(text, "utf-8")
    assert 2 == len(read_budget(tmp_path / "budget.yaml")[0].budgets)


def test_the_page_names_every_key_of_a_limit() -> None:
    """And no other."""
    row = next(line for line in PAGE.splitlines() if line.startswith("| `max`"))
    assert sorted(["max", "min", *LIMITED]) == sorted(re.findall(r"`(\w+)`", row))
