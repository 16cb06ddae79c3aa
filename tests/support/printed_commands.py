"""The commands that the documentation prints in its code blocks, and how those are run that tests run.

Blocks without a language hold commands only; in `console` blocks they are the lines that start with `$ `.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import typer

from wirebench.cli.app import make_app
from wirebench.system.paths import ROOT

PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("*/README.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("proto/*.md")})
_BLOCK = re.compile(r"(?ms)^( *)```(\w*)\n(.*?)^\1```")


@dataclass(frozen=True)
class Rule:
    """How commands that match a pattern as a whole are run."""

    pattern: str
    #: Commands that have to be running meanwhile.
    needs: tuple[str, ...] = ()
    #: What a command prints once it serves; SIGINT then ends it.
    until: str = ""
    statuses: tuple[int, ...] = (0,)


WIREBENCH = r"(\.venv/bin/)?wirebench "
REST, GRPC, SOCKET = "make run-rest", "make run-grpc", "make run-socket"
#: Commands that are parsed alone: they name a host, a run, a file or a cluster of the reader's, change the shell, or
#: take long. Tests of what they do have values of their own.
NOT_RUN = re.compile(
    r".*(HOST|TOPIC=|0\.0\.N|shop\.example|--context NAME|127\.0\.0\.1:(8080|8081|11211)|cursor=…|POD_UID|postgres/url"
    r"|WIREBENCH_DATABASE_URL|--target kubernetes|TARGET=kubernetes|connection=reopen|--install-completion"
    r"|test_dashboards_live|question\.yaml|two-machines\.yaml|wirebench (resume|calibrate)|--seed \d).*"
)
#: Run in the cluster.
CLUSTER = re.compile(
    r"make (load-.*|prometheus grafana|undeploy)|wirebench run quick --prometheus .*|\.tools/bin/kubectl .* get nodes"
)
#: Run in a copy of the project; the first that matches counts. All others are targets of make that CI calls.
RULES = (
    Rule(WIREBENCH + r"run .*--target external.*", needs=(REST, GRPC, SOCKET)),
    Rule(r"make run-\w+.*|\.(venv|tools)/bin/wirebench-(rest|go rest)", until="ready|listening|Listening|running on"),
    Rule(r"make serve|" + WIREBENCH + "serve.*", until="http://"),
    Rule(WIREBENCH + r"client rest .*|wireload rest .*", needs=(REST,)),
    Rule(r"\.tools/bin/ghz .*|wireload grpc .*|wirebench init --reflection .*", needs=(GRPC,)),
    Rule(r"echo .* nc .*|wireload socket .*|" + WIREBENCH + r"run --socket .*", needs=(SOCKET,)),
    Rule(r"curl -s .*", needs=("make serve",)),
    Rule(WIREBENCH + r"compare .*", statuses=(0, 1)),
    Rule(r"(make (bench|example-podinfo|help|help-dev)|python |sqlite3 |" + WIREBENCH + r").*"),
)


@dataclass(frozen=True)
class Printed:
    """A command, without its comment, and where it is printed."""

    text: str
    place: str

    def __str__(self) -> str:
        return self.text

    @property
    def rule(self) -> Rule | None:
        """How it is run in a copy of the project; None if it isn't."""
        if NOT_RUN.fullmatch(self.text) or CLUSTER.fullmatch(self.text):
            return None
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


IN_CLUSTER = [each for each in COMMANDS if CLUSTER.fullmatch(each.text) and not NOT_RUN.fullmatch(each.text)]


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
