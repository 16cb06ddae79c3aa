"""Services that somebody else started: what commands are told of them, and what that makes of a scenario."""

from __future__ import annotations

from wirebench.errors import UsageError
from wirebench.scenario import Scenario
from wirebench.scenario.model import EVERY_TRANSPORT
from wirebench.targets import ExternalTarget


def as_found(scenario: Scenario, target: ExternalTarget) -> Scenario:
    """Return the scenario with the TLS that the target's services speak: the addresses say so, and nothing can vary it.

    Raises UsageError if the scenario says otherwise.
    """
    asked = scenario.factors.transport
    found = {transport: (level,) for transport, level in target.tls_levels.items() if transport in asked}
    for transport, levels in scenario.factors.tls.items():
        for owner in found if transport == EVERY_TRANSPORT else (transport,):
            if owner in found and levels != found[owner]:
                raise UsageError(
                    f"{scenario.where(('factors', 'tls'))}: the address of {owner} says {found[owner][0]}",
                    "remove the factor: the addresses of an external target decide (https:// or tls://, --cert)",
                )
    factors = scenario.factors.model_copy(update={"tls": found})
    return scenario.model_copy(update={"factors": factors})
