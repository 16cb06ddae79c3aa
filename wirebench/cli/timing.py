"""`wirebench timing`: when messages came to a Hedera topic, as a file for `load.model: replay`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from wirebench.cli.log import LOG
from wirebench.errors import WirebenchError, pluralise
from wirebench.model.recording import ENTRIES_MAX, ENTRIES_MIN
from wirebench.plan.mirror_node import URL, Network, read_message_times
from wirebench.system.files import write_atomic


def timing(
    *,
    topic: Annotated[str, typer.Option(metavar="0.0.N", help="A topic of the Hedera Consensus Service.")],
    network: Annotated[Network, typer.Option(metavar="NAME", help="mainnet, testnet or previewnet.")] = "mainnet",
    limit: Annotated[
        int, typer.Option(metavar="N", min=ENTRIES_MIN, max=ENTRIES_MAX, help="How many messages at most.")
    ] = 1000,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the timing file goes.")] = Path("timing.json"),
) -> None:
    """Fetch when messages came to a Hedera topic, for loads to replay.

    The times of the newest messages come from the REST API of the network's public mirror node.

    wirebench timing --topic 0.0.4321
    wirebench timing --topic 0.0.4321 --network testnet --out topic.json
    """
    LOG.info("asking %s", URL.format(network))
    times = read_message_times(topic, network, limit)
    if len(times) < ENTRIES_MIN:
        raise WirebenchError(f"topic {topic} has {pluralise(len(times), 'message')} there", "name another topic")
    entries = ",\n ".join(times)
    write_atomic(out, f"[{entries}]\n")
    sys.stdout.write(f"{out}: {len(times):,} messages from {times[0]} to {times[-1]}\n")
