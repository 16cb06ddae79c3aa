"""What a target is: something that has services running and says where they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wirebench.model.cell import ServiceSpec
from wirebench.targets.cluster.load_pods import LoadPods
from wirebench.targets.cores import Cores
from wirebench.targets.endpoint import Description, Endpoint


class Target:
    """A place where services run; the defaults are those of one that starts nothing."""

    name: str
    #: Which cores the services have and which the drivers are to use; None where the target doesn't know.
    cores: Cores | None = None
    #: Whether services are freshly started, for every block or for every cell.
    restarts_services: bool = True
    #: Whether the services of all cells of a block run at once, or each for its cells alone.
    runs_all_services: bool = True
    #: Whether requests stay on this machine.
    on_loopback: bool = True
    #: Where load comes from if not from this process.
    load_pods: LoadPods | None = None
    #: The Prometheus that load tools push live metrics to, as they reach it; None if to none.
    prometheus: str | None = None

    def prepare(self, services: Sequence[ServiceSpec]) -> None:
        """See that the services can be had, before anything is started or written. Raises WirebenchError."""
        raise NotImplementedError

    def describe(self) -> Description:
        """Return what is to be said of the place, once it is prepared."""
        raise NotImplementedError

    def start(self, services: Sequence[ServiceSpec]) -> Mapping[ServiceSpec, Endpoint]:
        """Have the services running and ready. Raises WirebenchError; then none of them is left running."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise WirebenchError, with its last log lines, if a service has died."""

    def stop(self) -> None:
        """Stop what `start` has started, in order; does nothing when nothing runs."""

    def clean_up(self) -> None:
        """Remove all that was put there for the run; does nothing when nothing is there. Raises WirebenchError."""
