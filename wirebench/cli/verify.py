"""`wirebench verify`: whether all services answer alike."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from wirebench import runner
from wirebench.cli.external import as_found
from wirebench.cli.options import CaCert, Cert, Grpc, Key, Rest, Socket, given_addresses, given_tls, scenario_path
from wirebench.errors import UsageError, WirebenchError
from wirebench.interrupts import STOPPING, interruptible
from wirebench.scenario import make_plan, read_scenario
from wirebench.targets import ExternalTarget, LocalTarget, Target, divide_cores


def verify(  # noqa: PLR0913 - one parameter an option
    scenario: Annotated[str, typer.Argument(help="The scenario whose services are verified.")] = "quick",
    *,
    seed: Annotated[int, typer.Option(min=0, help="Repeats the requests.")] = 1,
    rest: Rest = None,
    grpc: Grpc = None,
    socket: Socket = None,
    cacert: CaCert = None,
    cert: Cert = None,
    key: Key = None,
) -> None:
    """Check that all services answer the same requests alike.

    The requests are random; addresses name services that run already.
    """
    addresses, tls = given_addresses(rest, grpc, socket), given_tls(cacert, cert, key)
    if tls and not addresses:
        raise UsageError("--cacert, --cert and --key: our own services have theirs", "add --rest, --grpc, --socket")
    external = ExternalTarget(addresses, tls)
    read = read_scenario(scenario_path(scenario))
    plan = make_plan(as_found(read, external) if addresses else read, seed)
    services = [service for service in plan.services if not addresses or service.transport in addresses]
    with tempfile.TemporaryDirectory(prefix="wirebench-") as logs, interruptible(STOPPING):
        target: Target = (
            external if addresses else LocalTarget(divide_cores(), lambda service: Path(logs) / f"{service}.log")
        )
        try:
            target.prepare(services)
            outcome = runner.verify(target.start(services).values(), seed)
        finally:
            target.stop()
            target.clean_up()
    if not outcome.passed:
        raise WirebenchError(
            f"{len(outcome.mismatches)} of {outcome.requests} requests were answered differently",
            f"repeat them with --seed {seed}",
            "\n".join(outcome.mismatches),
        )
    names = ", ".join(map(str, services))
    sys.stdout.write(f"{outcome.requests} requests were answered alike by {names}\n")
