"""The commands that the documentation prints in its code blocks, and how those are run that tests run.

Blocks without a language hold commands only; in `console` blocks they are the lines that start with `$ `.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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
#: Commands that are parsed alone: they name a host, a run, a file or a cluster, change the shell, or take long. Tests
#: of what they do have values of their own.
NOT_RUN = re.compile(
    r".*(HOST|TOPIC=|0\.0\.N|shop\.example|--context NAME|127\.0\.0\.1:(8080|8081|11211)|cursor=…|POD_UID|postgres/url"
    r"|WIREBENCH_DATABASE_URL|--target kubernetes|TARGET=kubernetes|connection=reopen|--install-completion"
    r"|test_dashboards_live|question\.yaml|two-machines\.yaml|wirebench (resume|calibrate)|--seed \d|--prometheus).*"
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


def find_rule(command: str) -> Rule | None:
    """Return how a command is run in a copy of the project; None if it isn't."""
    if NOT_RUN.fullmatch(command):
        return None
    return next((rule for rule in RULES if re.fullmatch(rule.pattern, command)), None)


def _split_block(language: str, block: str) -> list[str]:
    """Return the commands of a block, without their comments."""
    if language not in ("", "console"):
        return []
    lines = [line.strip() for line in re.sub(r"\\\n\s*", "", block).splitlines()]
    if language == "console":
        lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    return [command for line in lines if (command := re.split(r"(?:^|\s+)#(?:\s|$)", line, maxsplit=1)[0].strip())]


#: All printed commands, each once, in the order of pages.
COMMANDS = list(
    dict.fromkeys(
        command
        for page in PAGES
        for _, language, block in _BLOCK.findall(page.read_text("utf-8"))
        for command in _split_block(language, block)
    )
)
