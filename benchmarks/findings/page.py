"""docs/findings.md from the bundles beside it: findings, what follows from them, and what others have claimed."""

from __future__ import annotations

import re
import tempfile
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchmarks.findings.finding import Finding, read_findings
from wirebench.errors import UsageError
from wirebench.model.labels import capitalise
from wirebench.plan.load import read_scenario
from wirebench.system.files import write_atomic
from wirebench.system.paths import ROOT, SCENARIOS

PAGE = "findings.md"
BUNDLES = ROOT / "docs" / "findings"
#: All bundles together: they are in every checkout.
BUNDLES_MIB_MAX = 10
_FOLDER = Path(__file__).parent
_PYTHON, _GO = ROOT / "services/python/wirebench_services", ROOT / "services/go/internal"
#: What is written for each variant, beyond the application that all share.
_CODE: Mapping[str, tuple[Path, ...]] = {
    "REST in Python: Flask": (_PYTHON / "rest/flask_app.py", _PYTHON / "rest/bodies.py"),
    "REST in Python: Starlette": (_PYTHON / "rest/starlette_app.py", _PYTHON / "rest/bodies.py"),
    "gRPC in Python: grpcio, sync": (_PYTHON / "grpc/sync_server.py", _PYTHON / "grpc/calls.py"),
    "gRPC in Python: grpcio, aio": (_PYTHON / "grpc/aio_server.py", _PYTHON / "grpc/calls.py"),
    "socket in Python: asyncio": (
        *(_PYTHON / "socket" / name for name in ("asyncio_server.py", "conversation.py", "frame.py")),
    ),
    "socket in Python: threads": (
        *(_PYTHON / "socket" / name for name in ("threaded_server.py", "conversation.py", "frame.py")),
    ),
    "REST in Go: net/http": (_GO / "rest/server.go",),
    "gRPC in Go: grpc-go": (_GO / "rpc/server.go",),
    "socket in Go: goroutines": (_GO / "socket/server.go", _GO / "socket/connection.go"),
}
_COLUMNS = 120
#: What the services run on, by the name in a run's versions.
_SERVERS: Mapping[str, str] = {
    "python": "Python",
    "flask": "Flask",
    "gunicorn": "gunicorn",
    "uvicorn": "uvicorn",
    "grpcio": "grpcio",
}
#: Counts are given in tens: a line more or less says nothing.
_LINES_STEP = 10


def list_scenarios() -> dict[str, str]:
    """Return the questions of the scenarios that come with wirebench, by name."""
    return {path.stem: read_scenario(path).question for path in sorted(SCENARIOS.rglob("*.yaml"))}


def write_page(bundles: Path, docs: Path) -> Path:
    """Write the page and a picture for each bundle below a folder, and return the page's path.

    Raises UsageError for a folder that is too large, for bundles that can't be read, and for those of no scenario.
    """
    size_mib = sum(path.stat().st_size for path in bundles.glob("*.tar*")) / 2**20
    if size_mib > BUNDLES_MIB_MAX:
        raise UsageError(
            f"the bundles in {bundles} have {size_mib:.1f} MiB, more than {BUNDLES_MIB_MAX}", "measure fewer blocks"
        )
    pictures = docs / BUNDLES.name
    pictures.mkdir(parents=True, exist_ok=True)
    scenarios = list_scenarios()
    with tempfile.TemporaryDirectory(prefix="wirebench-") as unpacked:
        findings = read_findings(bundles, Path(unpacked))
        if unknown := findings.keys() - scenarios.keys():
            raise UsageError(f"there is no scenario {', '.join(sorted(unknown))}", f"remove its bundle from {bundles}")
        drawn = {
            name: f"{pictures.name}/{finding.draw(scenarios[name], pictures)}" for name, finding in findings.items()
        }
        page = render(scenarios, findings, drawn)
    path = docs / PAGE
    write_atomic(path, wrap(page))
    return path


def render(scenarios: Mapping[str, str], findings: Mapping[str, Finding], pictures: Mapping[str, str]) -> str:
    """Return the page as Markdown, before its lines are wrapped."""

    def link(scenario: str) -> str:
        return f"[`{scenario}`](#{scenario})" if scenario in findings else f"`{scenario}`"

    def compare(scenario: str, one: str, other: str, **factors: Any) -> str:  # noqa: ANN401 - of any factor
        if scenario not in findings:
            return f"not measured yet ({link(scenario)})."
        return f"{findings[scenario].compare(one, other, **factors)} ({link(scenario)})"

    def figure(scenario: str, metric: str, **factors: Any) -> str:  # noqa: ANN401 - of any factor
        return findings[scenario].figure(metric, **factors) if scenario in findings else "not measured yet"

    def require(scenario: str) -> str:
        if scenario not in scenarios:
            raise UsageError(f"there is no scenario {scenario!r}", "correct the page's template")
        return link(scenario)

    environment = Environment(  # noqa: S701 - Markdown
        loader=FileSystemLoader(_FOLDER), undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )
    environment.filters["capitalise"] = capitalise
    return environment.get_template("page.md.j2").render(
        scenarios=scenarios,
        findings=findings,
        pictures=pictures,
        machines=sorted({_describe_machine(each.run.info.machine) for each in findings.values()}),
        versions=_describe_versions([each.run.info.versions for each in findings.values()]),
        link=require,
        compare=compare,
        figure=figure,
        code={name: _round_lines(map(count_lines, files)) for name, files in _CODE.items()},
    )


def _describe_machine(machine: Mapping[str, str]) -> str:
    return f"{machine.get('cpu', 'unknown')}, {machine.get('cores', '?')} cores"


def _describe_versions(seen: Sequence[Mapping[str, str]]) -> str:
    """Name the servers' versions, several where runs differ."""
    found = {name: sorted({each[name] for each in seen if name in each}) for name in _SERVERS}
    return ", ".join(f"{label} {' or '.join(found[name])}" for name, label in _SERVERS.items() if found[name])


def wrap(page: str) -> str:
    """Wrap prose and lists as the other pages do; tables, headings and commands stay as they are."""
    parts = re.split(r"(?ms)(^```.*?^```$)", page)
    return "".join(part if part.startswith("```") else "".join(map(_wrap_line, part.splitlines())) for part in parts)


def _wrap_line(line: str) -> str:
    if line.startswith(("|", "#")):
        return f"{line}\n"
    indent = "  " if line.startswith("- ") else ""
    wrapped = textwrap.wrap(line, _COLUMNS, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(wrapped) + "\n"


def count_lines(path: Path) -> int:
    """Return how many lines of a file are code: neither blank, nor a comment, nor of a docstring."""
    text = path.read_text(encoding="utf-8")
    comment = "#" if path.suffix == ".py" else "//"
    if path.suffix == ".py":
        text = re.sub(r'^\s*""".*?"""$', "", text, flags=re.DOTALL | re.MULTILINE)
    lines = (line.strip() for line in text.splitlines())
    return sum(bool(line) and not line.startswith(comment) for line in lines)


def _round_lines(counts: Iterable[int]) -> int:
    return round(sum(counts) / _LINES_STEP) * _LINES_STEP
