"""What a target is: something that has services running and says where they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from wirebench.scenario import ServiceSpec
from wirebench.targets.cores import Cores


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A running service. `root_pid` and `admin_url` are None where it can't be seen into."""

    service: ServiceSpec
    address: str
    admin_url: str | None
    root_pid: int | None


class Target(Protocol):
    """A place where services run."""

    name: str
    #: Which cores the services have and which the drivers are to use; None where the target can't tell.
    cores: Cores | None
    #: Whether every block gets freshly started services.
    restarts_services: bool

    def prepare(self, services: Sequence[ServiceSpec]) -> None:
        """See that the services can be had, before anything is started or written. Raises WirebenchError."""

    def start(self, services: Sequence[ServiceSpec]) -> Mapping[ServiceSpec, Endpoint]:
        """Have the services running and ready. Raises WirebenchError; then none of them is left running."""

    def check(self) -> None:
        """Raise WirebenchError, with its last log lines, if a service has died."""

    def stop(self) -> None:
        """Stop what `start` has started, in order; does nothing when nothing runs."""
