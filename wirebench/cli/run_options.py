"""Options of `wirebench run` alone: overrides and requests in place of a scenario."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wirebench.cli.options import parse_duration_s, running_option
from wirebench.errors import UsageError
from wirebench.model.contract import BLOCKS_MAX, TRANSPORTS, Driver
from wirebench.system.tls import ClientTls

if TYPE_CHECKING:
    from wirebench.model.variant import Limit
    from wirebench.plan.overrides import Override

_override_option = functools.partial(typer.Option, rich_help_panel="Overrides of the scenario")


@dataclass(frozen=True, slots=True)
class Overrides:
    """Options that override keys of a scenario."""

    concurrency: Annotated[str | None, _override_option(metavar="N,…", help="Connections (factors.concurrency).")] = (
        None
    )
    rate: Annotated[
        str | None,
        _override_option(
            metavar="N,…", help="Requests per second (factors.rate_per_s). A closed load becomes an open one."
        ),
    ] = None
    duration: Annotated[
        str | None, _override_option(metavar="TIME", help="Length of a window, such as 30s or 1m30s (load.window_s).")
    ] = None
    transport: Annotated[
        str | None, _override_option(metavar="NAME,…", help="rest, grpc, socket (factors.transport).")
    ] = None
    operation: Annotated[
        str | None, _override_option(metavar="NAME,…", help="Operations or workloads (factors.operation).")
    ] = None
    driver: Annotated[
        Driver | None, _override_option(help="Driver of all cells (factors.driver), without cross-checks.")
    ] = None
    blocks: Annotated[int | None, _override_option(min=1, max=BLOCKS_MAX, help="Repetitions (blocks).")] = None
    assignments: Annotated[
        list[str] | None,
        _override_option(
            "--set",
            metavar="KEY=VALUE",
            help="Any other key, as YAML: factors.workers=1,2; null removes it. Repeatable.",
        ),
    ] = None

    def parse(self) -> tuple[Override, ...]:
        """Return the overrides that were asked for. Raises UsageError."""
        from wirebench.plan.overrides import Override, parse_assignment, parse_override

        factors = {
            "concurrency": "concurrency",
            "rate": "rate_per_s",
            "transport": "transport",
            "operation": "operation",
        }
        overrides = [
            parse_override(f"--{option} {text}", ("factors", name), text)
            for option, name in factors.items()
            if (text := getattr(self, option)) is not None
        ]
        if self.driver:
            overrides.append(Override(f"--driver {self.driver}", ("factors", "driver"), self.driver))
        if self.duration:
            window_s = parse_duration_s(self.duration)
            overrides.append(Override(f"--duration {self.duration}", ("load", "window_s"), window_s))
        if self.blocks:
            overrides.append(Override(f"--blocks {self.blocks}", ("blocks",), self.blocks))
        return (*overrides, *map(parse_assignment, self.assignments or ()))


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """Requests on REST, gRPC and the socket; with a scenario, the addresses of its services."""

    rest: Annotated[
        list[str] | None,
        running_option(
            metavar="REQUEST",
            help="A request such as 'GET http://127.0.0.1:8080/items/1', then a body; repeatable. With a scenario: the "
            "address of its REST service; --target external: default WIREBENCH_REST.",
        ),
    ] = None
    grpc: Annotated[
        list[str] | None,
        running_option(
            metavar="REQUEST",
            help="""A call such as '127.0.0.1:50051 shop.Catalog/GetItem {"id": 1}'; repeatable. With a scenario: """
            "the address of its gRPC service; --target external: default WIREBENCH_GRPC.",
        ),
    ] = None
    socket: Annotated[
        list[str] | None,
        running_option(
            metavar="REQUEST",
            help="A line such as '127.0.0.1:9000 get 1'; repeatable. With a scenario: the address of its socket "
            "service; --target external: default WIREBENCH_SOCKET.",
        ),
    ] = None
    status: Annotated[
        int | None,
        running_option(min=100, max=599, help="Without a scenario: the expected status of REST replies; default: 200."),
    ] = None

    def parse_addresses(self) -> dict[str, str]:
        """Return the addresses that are given beside a scenario, by transport.

        Raises UsageError if there are several, or options that are for requests without a scenario.
        """
        if self.status is not None:
            hint = "write it into the application file: expect: {status: 201}"
            raise UsageError("--status is for requests without a scenario", hint)
        named = {transport: given for transport in TRANSPORTS if (given := getattr(self, transport))}
        for transport, given in named.items():
            if len(given) > 1:
                raise UsageError(f"--{transport}: a scenario takes one address of each transport", "remove the others")
        return {transport: given[0] for transport, given in named.items()}


@contextlib.contextmanager
def write_requests(requests: RequestOptions, tls: ClientTls | None, overrides: Sequence[Override]) -> Iterator[Path]:
    """Yield a scenario file of requests, for as long as the `with` block runs. Raises UsageError."""
    from wirebench.cli.measure import make_temporary_folder
    from wirebench.plan.requests import APPLICATION_NAME, compare_requests

    texts = (requests.rest or (), requests.grpc or (), requests.socket or ())
    if not any(texts):
        hint = "name one, or compare requests: --rest 'GET http://…' --grpc 'HOST:PORT package.Service/Method {}'"
        raise UsageError("there is no scenario", hint)
    limit = _find_limit(overrides)
    application, scenario = compare_requests(*texts, status=requests.status, tls=tls, limit=limit)
    with make_temporary_folder() as folder:
        (folder / APPLICATION_NAME).write_text(application, encoding="utf-8")
        path = folder / "requests.yaml"
        path.write_text(scenario, encoding="utf-8")
        yield path


def _find_limit(overrides: Sequence[Override]) -> Limit | None:
    """Return the greatest rate and concurrency that options ask for; None if either is missing or invalid."""
    from pydantic import ValidationError

    from wirebench.model.variant import Limit

    values = {each.at[-1]: each.value for each in overrides}
    greatest = {}
    for name in ("rate_per_s", "concurrency"):
        levels = values.get(name)
        levels = levels if isinstance(levels, list) else [levels]
        greatest[name] = max((each for each in levels if isinstance(each, int)), default=0)
    try:
        return Limit(rate_per_s=greatest["rate_per_s"], connections=greatest["concurrency"])
    except ValidationError:
        return None
