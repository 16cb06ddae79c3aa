"""`wirebench run --rest … --grpc …`: requests in place of a scenario."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import ValidationError

from wirebench.cli.measure import make_temporary_folder
from wirebench.cli.options import running_option
from wirebench.errors import UsageError
from wirebench.model.contract import TRANSPORTS
from wirebench.model.variant import Limit
from wirebench.plan.overrides import Override
from wirebench.plan.requests import APPLICATION_NAME, compare_requests
from wirebench.system.tls import ClientTls


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
