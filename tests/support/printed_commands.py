"""The commands that the documentation prints in its code blocks, and where each of them is tested.

Blocks without a language hold commands only; in `console` blocks they are the lines that start with `$ `.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import typer

from wirebench.cli.app import make_app
from wirebench.system.paths import ROOT

PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("*/README.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("proto/*.md")})
_BLOCK = re.compile(r"(?ms)^( *)```(\w*)\n(.*?)^\1```")


class Place(Enum):
    """What runs a command, as it is printed; ELSEWHERE, with other values where a test needs them."""

    HERE = "tests/contract/test_printed_commands.py"
    CLUSTER = "tests/cluster/test_printed_commands.py"
    CI = ".ci/run, or what it calls"
    ELSEWHERE = "the test that the rule names"
    PARSED = "nothing, for the reason that the rule gives: its options are checked"


@dataclass(frozen=True)
class Rule:
    """Where the commands that match a pattern as a whole are tested."""

    pattern: str
    tested: Place
    #: The test, or the reason.
    note: str = ""
    #: Commands that have to be running meanwhile.
    needs: tuple[str, ...] = ()
    #: What a command prints once it serves; SIGINT then ends it.
    until: str = ""
    statuses: tuple[int, ...] = (0,)


WIREBENCH = r"(\.venv/bin/)?wirebench "
REST, GRPC, SOCKET = "make run-rest", "make run-grpc", "make run-socket"
SERVE = "make serve"
#: The first that matches counts.
RULES = (
    Rule(r"make test|\.ci/run", Place.CI),
    Rule(r"make (lint|test-unit|test-go|test-charts|setup-dev|setup-cross-check)", Place.CI),
    Rule(r"make (cluster-up|test-cluster|cluster-load|test-compose)", Place.CI),
    Rule(r"make (docker-down|cluster-down)", Place.CI),
    Rule(r"make (compose-.*|wheel)", Place.ELSEWHERE, "tests/compose/test_compose.py tests/contract/test_wheel.py"),
    Rule(r"make postgres-up|\S+wirebench-(store|grpc) .*postgres/url", Place.ELSEWHERE,
         "tests/contract/test_postgres.py"),
    Rule(r"pip install wirebench-\*\.whl|.*bin/pip install .*|python3 -m venv .*|measure/bin/.*",
         Place.ELSEWHERE, "tests/contract/test_wheel.py"),
    Rule(r"\.tools/bin/helm .*|make load-rest .*connection=reopen.*", Place.ELSEWHERE, "tests/cluster/test_load.py"),
    Rule(r"helm upgrade --install agents .*", Place.ELSEWHERE, "tests/cluster/test_run.py"),
    Rule(r"helm .*", Place.ELSEWHERE, "tests/cluster/test_deployed.py"),
    Rule(r".*test_dashboards_live.py", Place.CI),
    Rule(r"make dashboards", Place.ELSEWHERE, "tests/unit/charts/test_dashboards.py"),
    Rule(r"make fuzz.*|make test-contract .*", Place.PARSED, "parts of make test"),
    Rule(r"make test-all", Place.PARSED, "takes long"),
    Rule(r".*wirebench --install-completion", Place.PARSED, "changes the user's shell"),
    Rule(r"make format", Place.PARSED, "rewrites the code"),
    Rule(r"make (docker-up|deploy)", Place.PARSED, "make cluster-up calls the scripts of their recipes"),
    Rule(r"make cluster-clean", Place.PARSED, "others need the images"),
    Rule(r"make (docker-up cluster-up .*|bench TARGET=kubernetes .*|replicate .*|accuracy.*)", Place.PARSED,
         "minutes or hours"),
    Rule(WIREBENCH + r".*--target kubernetes.*", Place.ELSEWHERE, "tests/cluster/test_run.py"),
    Rule(r"make (load-.*|prometheus grafana|undeploy)|" + WIREBENCH + r"run quick --prometheus .*",
         Place.CLUSTER),
    Rule(r"\.tools/bin/kubectl .* get nodes", Place.CLUSTER),
    Rule(r"\.tools/bin/kubectl .* POD_UID", Place.ELSEWHERE, "tests/cluster/test_deployed.py"),
    Rule(r".*WIREBENCH_DATABASE_URL.*", Place.ELSEWHERE, "tests/contract/test_databases.py"),
    Rule(r".*(HOST|TOPIC=|0\.0\.N|shop\.example|--context NAME|127\.0\.0\.1:(8080|8081|11211)).*", Place.PARSED,
         "names a host, topic or cluster"),
    Rule(WIREBENCH + r"(run|verify) question.yaml", Place.ELSEWHERE, "tests/contract/test_own_services.py"),
    Rule(WIREBENCH + r"resume.*", Place.ELSEWHERE, "tests/contract/test_resume.py"),
    Rule(WIREBENCH + r"(run .*--seed \d+|calibrate).*", Place.PARSED,
         "takes minutes"),
    Rule(r"\.tools/bin/wirebench-go (rest|grpc) --host .*|" + WIREBENCH + r"run two-machines\.yaml", Place.ELSEWHERE,
         "tests/contract/test_two_machines.py"),
    Rule(WIREBENCH + r"run .*--target external.*", Place.HERE, needs=(REST, GRPC, SOCKET)),
    Rule(r"make run-\w+.*", Place.HERE, until="ready|listening|Listening|running on"),
    Rule(r"\.(venv|tools)/bin/wirebench-(rest|go rest)", Place.HERE, until="ready|listening|Listening|running on"),
    Rule(r"make serve|" + WIREBENCH + "serve.*", Place.HERE, until="http://"),
    Rule(WIREBENCH + r"client rest .*|wireload rest .*", Place.HERE, needs=(REST,)),
    Rule(r"\.tools/bin/ghz .*|wireload grpc .*|wirebench init --reflection .*", Place.HERE, needs=(GRPC,)),
    Rule(r"echo .* nc .*|wireload socket .*|" + WIREBENCH + r"run --socket .*", Place.HERE, needs=(SOCKET,)),
    Rule(r"curl -s .*cursor=….*", Place.PARSED, "the cursor of an earlier reply"),
    Rule(r"curl -s .*", Place.HERE, needs=(SERVE,)),
    Rule(WIREBENCH + r"compare .*", Place.HERE, statuses=(0, 1)),
    Rule(r"(make (bench|example-podinfo|help|help-dev)|python |sqlite3 |" + WIREBENCH + r").*", Place.HERE),
)  # fmt: skip


@dataclass(frozen=True)
class Printed:
    """A command, without its comment, and where it is printed."""

    text: str
    place: str

    def __str__(self) -> str:
        return self.text

    @property
    def rule(self) -> Rule | None:
        """The rule that it follows, if any."""
        return next((rule for rule in RULES if re.fullmatch(rule.pattern, self.text)), None)


def read_commands() -> list[Printed]:
    """Return all printed commands, each once, in the order of pages."""
    found: dict[str, Printed] = {}
    for page in PAGES:
        text = page.read_text("utf-8")
        for block in _BLOCK.finditer(text):
            line = text.count("\n", 0, block.start()) + 1
            for command in _split_block(block[2], block[3]):
                found.setdefault(command, Printed(command, f"{page.relative_to(ROOT)}:{line}"))
    return list(found.values())


def _split_block(language: str, block: str) -> list[str]:
    if language not in ("", "console"):
        return []
    lines = [line.strip() for line in re.sub(r"\\\n\s*", "", block).splitlines()]
    if language == "console":
        lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    return [command for line in lines if (command := re.split(r"(?:^|\s+)#(?:\s|$)", line, maxsplit=1)[0].strip())]


COMMANDS = read_commands()


def select_commands(tested: Place) -> list[Printed]:
    """Return the commands that are tested there."""
    return [each for each in COMMANDS if each.rule and each.rule.tested is tested]


def parse(arguments: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """Return the command and its parameters, as our own command line reads them; nothing is run."""
    command: Any = typer.main.get_command(make_app(arguments))
    context, name, words = None, "wirebench", list(arguments)
    while True:
        context = command.make_context(name, words, parent=context)
        words = [*getattr(context, "_protected_args", ()), *context.args]
        if not (words and hasattr(command, "resolve_command")):
            return name, context.params
        name, command, words = command.resolve_command(context, words)
