"""The commands of README and docs: their targets, variables and options exist."""

from __future__ import annotations

import re
import shlex

import pytest

from tests.support.command_line import parse
from tests.support.printed_commands import COMMANDS, PAGES, RULES, find_rule
from tests.support.waiting import run_program
from wirebench.system.paths import ROOT

MAKEFILES = "".join(file.read_text("utf-8") for file in (ROOT / "Makefile", *ROOT.glob("make/*.mk")))
VARIABLES = set(re.findall(r"(?m)^([A-Z_]+) \?=", MAKEFILES)) | set(re.findall(r"\$\(([A-Z_]+)\)", MAKEFILES))
#: `make …` between backticks, in sentences.
INLINE = {
    found
    for page in PAGES
    for found in re.findall(r"(?<=`)make [^`…]+(?=`)", re.sub(r"(?ms)^ *```.*?^ *```", "", page.read_text("utf-8")))
}


def test_each_rule_has_a_command() -> None:
    """A rule whose commands were removed goes, too."""
    used = set(map(find_rule, COMMANDS))
    assert [] == [rule.pattern for rule in RULES if rule not in used]


@pytest.mark.parametrize("command", [each for each in COMMANDS if re.search(r"\bwirebench \w", each)])
def test_wirebench_knows_printed_arguments(command: str) -> None:
    """Commands and options, whether the command is run by a test or not."""
    for part in re.split(r" \| | && |; |\$\(", command):
        words = re.sub(r'^(\w+=\S+ )+|\)"$', "", part)
        if re.match(r"(\S*bin/)?wirebench ", words):
            parse(shlex.split(words)[1:])


@pytest.mark.parametrize("command", sorted({each for each in COMMANDS if each.startswith("make ")} | INLINE))
def test_make_knows_printed_targets_and_variables(command: str) -> None:
    """As `make --dry-run` shows; what it would run of wirebench is parsed as well."""
    words = shlex.split(command.partition(" && ")[0])[1:]
    assert {name for word in words if (name := word.partition("=")[0]).isupper() and "=" in word} <= VARIABLES
    targets = [word for word in words if not re.search(r"[*=]|^-|^[A-Z]+$", word)]
    known = "|".join(map(re.escape, targets))
    assert set(targets) <= set(re.findall(rf"(?m)^(?:.* )?({known})(?: .*)?:", MAKEFILES))
    if re.match(r"(bench|load-\w+|serve|report|benchmark-replay)$", targets[0] if targets else ""):
        done = run_program(["make", "--dry-run", "--directory", str(ROOT), *words], check=True)  # fmt: skip
        for line in done.stdout.replace("\\\n", " ").splitlines():
            if line.startswith(".venv/bin/wirebench "):
                parse(shlex.split(line)[1:])
