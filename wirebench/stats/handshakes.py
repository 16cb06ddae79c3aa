"""What connections with TLS agreed on, in sentences: a difference in that is part of what is compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from wirebench.drivers.histogram_file import Handshakes
from wirebench.stats.names import capitalised, transport_name
from wirebench.stats.summary import CellSummary


def handshakes(cells: Iterable[CellSummary]) -> tuple[str, ...]:
    """Say what cells with TLS agreed on with their services, who didn't tell, and whether sessions were resumed."""
    with_tls = [cell for cell in cells if cell.factors["tls"] != "none"]
    return tuple(_sentences(with_tls)) if with_tls else ()


def _sentences(cells: list[CellSummary]) -> Iterator[str]:
    agreed: dict[str, dict[str, None]] = {}
    resumed: Counter[bool] = Counter()
    for cell in cells:
        for each in (each for record in cell.records for each in record.tls):
            agreed.setdefault(_agreement(each), {})[transport_name(cell.factors)] = None
            resumed[each.resumed] += each.handshakes
    if len(agreed) == 1:
        yield f"All connections with TLS agreed on {next(iter(agreed))}."
    elif agreed:
        said = "; ".join(f"{', '.join(transports)} on {agreement}" for agreement, transports in agreed.items())
        yield f"Not all connections with TLS agreed on the same, which is part of what is compared: {said}."
    if resumed:
        yield f"{resumed[True]:,} of {resumed.total():,} handshakes went on with an earlier session."
    silent = dict.fromkeys(str(cell.factors["driver"]) for cell in cells if not any(each.tls for each in cell.records))
    if silent:
        yield f"{capitalised(', '.join(silent))} can't tell what its connections with TLS agreed on."


def _agreement(each: Handshakes) -> str:
    return f"{each.version}, {each.cipher_suite}, {each.key_exchange}"
