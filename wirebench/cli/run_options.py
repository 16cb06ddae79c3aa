"""Options of `run` and `load`: overrides of a scenario's keys, and requests in place of a scenario."""

from __future__ import annotations

import contextlib
import functools
import math
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wirebench.cli.options import RequestOptions, Services
from wirebench.errors import UsageError, WirebenchError
from wirebench.model.contract import TRANSPORTS
from wirebench.system.files import name_temporary
from wirebench.system.paths import APPLICATION, ROOT

if TYPE_CHECKING:
    from wirebench.model.variant import Limit
    from wirebench.plan.overrides import Override

DURATION_S_MIN = 1.0
#: What the deadline of a load pod's Job allows.
DURATION_S_MAX = 1800.0
#: Where a key stands that requests have become, and hints to edit a file that has it.
_PLACE = re.compile(
    r"requests[-\w]*\.yaml(?::\d+)?: (?:[.\w]+\.(?:same\S*|(rest|grpc|socket)(?:-\d+)?(?:\.(\w+)[-.\w]*)?): )?"
)
_FILE = re.compile(r"application|schema:|\.yaml")
_NEEDS_FILE = "proto files, inputs and expectations need an application file: `wirebench init` drafts it"
_DURATION = re.compile(r"(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?|(\d+(?:\.\d+)?)")
#: The keys that options have beside --set.
_KEYS = {
    "concurrency": "factors.concurrency",
    "rate": "factors.rate_per_s",
    "transport": "factors.transport",
    "operation": "factors.operation",
    "driver": "factors.driver",
    "blocks": "blocks",
}


def _complete_list(list_names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return what completes the last of several names with commas between them."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in list_names() if name.startswith(last)]

    return complete


# Completion finds names in texts: the models of applications and scenarios take longer to import than a user waits.
def list_operations() -> Iterable[str]:
    return re.findall(r"(?m)^  (\S+):$", APPLICATION.read_text("utf-8").partition("\noperations:\n")[2])


def complete_keys(incomplete: str) -> list[str]:
    """Return the keys of scenarios that begin so, from the page that describes every key."""
    page = (ROOT / "docs/scenarios.md").read_text("utf-8").partition("\n| key | values |")[2].partition("\n### ")[0]
    keys, _, factors = page.partition("\n| factor |")
    names = [name for row in re.findall(r"(?m)^\| (`.+?`) \|", keys) for name in re.findall(r"`(.+?)`", row)]
    names += [f"factors.{name}" for name in re.findall(r"(?m)^\| `(.+?)` \|", factors)]
    return [f"{name}=" for name in names if name.startswith(incomplete) and name != "factors"]


_override_option = functools.partial(typer.Option, rich_help_panel="Overrides of the scenario")


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """Options that override keys of a scenario."""

    concurrency: Annotated[
        str | None, _override_option(metavar="N,…", help="Users, each with one request in flight.")
    ] = None
    rate: Annotated[str | None, _override_option(metavar="N,…", help="Requests per second, of an open load.")] = None
    duration: Annotated[str | None, _override_option(metavar="TIME", help="Length of a window: 30s, 1m30s or 5m.")] = (
        None
    )
    operation: Annotated[
        str | None,
        _override_option(
            metavar="NAME,…",
            help="What is requested, such as users.get.",
            autocompletion=_complete_list(list_operations),
        ),
    ] = None
    driver: Annotated[str | None, _override_option(metavar="NAME", help="wireload, k6, ghz, oha or locust.")] = None
    assignments: Annotated[
        list[str] | None,
        _override_option(
            "--set",
            metavar="KEY=VALUE",
            help="Any key: factors.workers=1,2; null removes it.",
            autocompletion=complete_keys,
        ),
    ] = None

    def parse(self) -> list[Override]:
        """Return the overrides that were asked for. Raises UsageError."""
        from wirebench.plan.overrides import Override, parse_assignment, parse_override

        overrides = [
            parse_override(f"--{option} {text}", tuple(key.split(".")), text)
            for option, key in _KEYS.items()
            if (text := getattr(self, option, None)) is not None
        ]
        if self.duration is not None:
            window_s = parse_duration_s(self.duration)
            overrides.append(Override(f"--duration {self.duration}", ("load", "window_s"), window_s))
        return [*overrides, *map(parse_assignment, self.assignments or ())]


@dataclass(frozen=True, slots=True)
class Overrides(LoadOptions):
    """Those of runs alone."""

    transport: Annotated[
        str | None,
        _override_option(
            metavar="NAME,…", help="rest, grpc or socket.", autocompletion=_complete_list(TRANSPORTS.keys)
        ),
    ] = None
    blocks: Annotated[str | None, _override_option(metavar="N", help="Repetitions of all cells.")] = None


def parse_duration_s(text: str) -> float:
    """Return how long `30s`, `1m30s`, `5m` or plain seconds are, in seconds. Raises UsageError."""
    found = _DURATION.fullmatch(text)
    seconds = int(found[1] or 0) * 60 + float(found[2] or found[3] or 0) if found else math.nan
    if not DURATION_S_MIN <= seconds <= DURATION_S_MAX:
        raise UsageError(
            f"the duration {text!r} isn't between {DURATION_S_MIN:.0f} s and {DURATION_S_MAX / 60:.0f} min",
            "write it like 30s, 1m30s or 5m",
        )
    return seconds


@contextlib.contextmanager
def write_requests(services: Services, options: RequestOptions, overrides: Sequence[Override]) -> Iterator[Path]:
    """Yield a scenario file of requests, for as long as the `with` block runs. Raises UsageError.

    Errors name options in place of its lines.
    """
    from wirebench.plan.requests import APPLICATION_NAME, compare_requests

    texts = (services.rest or (), services.grpc or (), services.socket or ())
    if not any(texts):
        hint = "name one, or compare requests: --rest 'GET http://…' --grpc 'HOST:PORT package.Service/Method {}'"
        raise UsageError("there is no scenario", hint)
    limit = _find_limit(overrides)
    application, scenario = compare_requests(
        *texts,
        status=options.status,
        headers=options.headers,
        tls=services.load(),
        limit=limit,
        ignore_bodies=options.ignore_bodies,
    )
    with tempfile.TemporaryDirectory(prefix=name_temporary()) as folder:
        path = Path(folder, "requests.yaml")
        path.with_name(APPLICATION_NAME).write_text(application, encoding="utf-8")
        path.write_text(scenario, encoding="utf-8")
        try:
            yield path
        except WirebenchError as error:
            for name in ("message", "details"):
                setattr(error, name, _PLACE.sub(_name_option, getattr(error, name).replace(f"{folder}/", "")))
            if _FILE.search(error.hint):
                bodies = " (--ignore-bodies: replies may differ)" if "has the reply:" in error.details else ""
                error.hint = f"correct the request{bodies}; {_NEEDS_FILE}"
            raise


def _name_option(place: re.Match[str]) -> str:
    """Return the option that has become a key of the application file; nothing for other keys."""
    transport, key = place.groups()
    if key == "headers":
        return "--metadata: " if transport == "grpc" else "--header: "
    return f"--{transport}: " if transport else ""


def _find_limit(overrides: Sequence[Override]) -> Limit | None:
    """Return the greatest rate and concurrency that options ask for, unchecked; None if either is missing."""
    from wirebench.model.variant import Limit

    values = {each.at[-1]: each.value for each in overrides}
    rates, users = (values.get(name) for name in ("rate_per_s", "concurrency"))
    if not (rates and users):
        return None
    most = [max(each) if isinstance(each, list) else each for each in (rates, users)]
    return Limit.model_construct(rate_per_s=most[0], connections=most[1])
