"""`wirebench timing`: files of recorded arrivals, for `load.model: replay`."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer

from wirebench.cli.app import help_without_command
from wirebench.cli.progress import ProgressBar
from wirebench.errors import UsageError, WirebenchError
from wirebench.model.labels import pluralise
from wirebench.model.recording import ENTRIES_MAX, Recording, read_recording, to_json
from wirebench.plan.mirror_node import NETWORKS, MirrorNode, Network, Order
from wirebench.plan.recordings import compute_burstiness, compute_peak_rate_per_s, draw_plot, generate_bursts
from wirebench.present.escape import escape_controls
from wirebench.system.files import write_atomic

SEED_MAX = 2**31 - 1
_SECONDS_MAX = 86_400.0

app = typer.Typer(
    help="Show, generate or fetch timing files, which loads can replay.",
    callback=help_without_command,
    invoke_without_command=True,
    rich_markup_mode=None,
)

To = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Where the timing file goes; default: stdout.")]


@app.command("show")
def show(file: Annotated[Path, typer.Argument(help="A timing file.")]) -> None:
    """Show what a timing file holds.

    That is how many requests, their rates, how bursty they are, and a plot.
    """
    sys.stdout.write(_describe(read_recording(file)))


@app.command("generate")
def generate_(  # noqa: PLR0913 - one parameter an option
    *,
    rate: Annotated[float, typer.Option(min=0.01, max=100_000, help="Requests a second, over all.")] = 100.0,
    duration_s: Annotated[float, typer.Option(min=0.1, max=_SECONDS_MAX, help="How long, in seconds.")] = 30.0,
    burst_factor: Annotated[float, typer.Option(min=1, max=1000, help="A burst's rate over a quiet time's.")] = 10.0,
    burst_s: Annotated[float, typer.Option(min=0.001, max=_SECONDS_MAX, help="Mean length of a burst.")] = 0.5,
    quiet_s: Annotated[float, typer.Option(min=0.001, max=_SECONDS_MAX, help="Mean length of a quiet time.")] = 2.0,
    seed: Annotated[int, typer.Option(min=0, max=SEED_MAX, help="The same seed gives the same file.")] = 1,
    out: To = None,
) -> None:
    """Make a timing file of realistic bursts.

    It is a Markov-modulated Poisson process of two states, quiet and burst.
    """
    if (expected := rate * duration_s) > ENTRIES_MAX / 2:
        raise UsageError(f"that would be about {expected:,.0f} requests", f"ask for {ENTRIES_MAX // 2:,} at most")
    made = generate_bursts(rate, burst_factor, burst_s, quiet_s, duration_s=duration_s, seed=seed)
    if made is None:
        raise UsageError("that came to less than two requests", "raise --rate or --duration-s, or take another --seed")
    if made.count > ENTRIES_MAX:
        raise UsageError(
            f"that came to {made.count:,} requests", "lower --rate or --duration-s, or take another --seed"
        )
    about = (
        f"wirebench timing generate --rate {rate:g} --duration-s {duration_s:g} --burst-factor {burst_factor:g}"
        f" --burst-s {burst_s:g} --quiet-s {quiet_s:g} --seed {seed}"
    )
    gaps = [f"{(after - before) / 1e9:.6f}" for before, after in pairwise(made.offsets_ns)]
    _write(out, to_json(about, "inter_arrival_s", gaps), made)


@app.command("fetch-hcs")
def fetch_hcs(  # noqa: PLR0913 - one parameter an option
    *,
    topic: Annotated[str, typer.Option(metavar="0.0.N", help="A topic of the Hedera Consensus Service.")],
    network: Annotated[Network, typer.Option(help="Which Hedera network.")] = "mainnet",
    limit: Annotated[int, typer.Option(min=2, max=ENTRIES_MAX, help="How many messages at most.")] = 1000,
    order: Annotated[Order, typer.Option(help="Which of them.")] = "newest",
    out: To = None,
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="A mirror node's address; default: the network's public one.")
    ] = None,
) -> None:
    """Make a timing file of messages to a Hedera topic.

    Their times come from a mirror node's REST API.
    """
    address = base_url or NETWORKS[network]
    with ProgressBar("messages", limit) as bar:

        def announce_wait(reason: str, wait_s: float) -> None:
            text = f"{escape_controls(reason)}; trying again in {wait_s:.1f} s"
            bar.update(text, always=True, note=text)

        def count_messages(count: int) -> None:
            bar.update(f"{count:,} of {limit:,} messages", completed=count, note="")

        node = MirrorNode(address, announce_wait)
        times = node.read_message_times(topic, limit, order, count_messages)
    if len(times) < 2:  # noqa: PLR2004 - less than a gap
        hint = "a recording takes two; name another topic"
        raise WirebenchError(f"topic {topic} has {pluralise(len(times), 'message')} there", hint)
    first, *_ = seconds = [int(whole) * 10**9 + int(rest) for whole, rest in (each.split(".") for each in times)]
    about = f"messages of topic {topic}, the {order} {len(times)} of them, by {address}"
    quoted = [f'"{each}"' for each in times]
    _write(out, to_json(about, "timestamps", quoted), Recording(tuple(each - first for each in seconds)))


def _write(out: Path | None, text: str, recording: Recording) -> None:
    """Write a timing file to a file or stdout, and its description to stdout or stderr."""
    if out is None:
        sys.stdout.write(text + "\n")
        sys.stderr.write(_describe(recording))
    else:
        write_atomic(out, text)
        sys.stdout.write(f"{out}\n{_describe(recording)}")


def _describe(recording: Recording) -> str:
    return (
        f"{recording.count:,} requests in {recording.duration_s:,.3f} s: {recording.mean_rate_per_s:,.2f} a second "
        f"on average, {compute_peak_rate_per_s(recording):,} in the fullest second\n"
        f"burstiness {compute_burstiness(recording):.2f} (the gaps' coefficient of variation: a clock has 0, "
        "a Poisson process 1)\n"
        f"{draw_plot(recording)}\n"
    )
