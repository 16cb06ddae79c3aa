"""What connections with TLS agreed on, in sentences."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from tests.support.report_run import RunBuilder, cell
from wirebench.analysis.summary import CellSummary, summarise
from wirebench.model.contract import Transport
from wirebench.model.histogram_file import Handshakes
from wirebench.present.remarks import describe_handshakes

FULL = Handshakes(
    version="TLS 1.3", cipher_suite="AES_128_GCM_SHA256", key_exchange="X25519", resumed=False, handshakes=1200
)
RESUMED = FULL.model_copy(update={"resumed": True, "handshakes": 34})
OLDER = FULL.model_copy(update={"version": "TLS 1.2", "cipher_suite": "ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"})


def measured(
    folder: Path, transport: Transport, *told: Handshakes, tls: str = "server", driver: str = "k6"
) -> CellSummary:
    """Return a cell, measured in one block, whose driver told so much of its handshakes."""
    built = RunBuilder([cell(transport, tls=tls, driver=driver)], blocks=1, samples=10, record={"tls": told})
    (summary,) = summarise(built.write(folder / f"{transport}-{driver}-{tls}").records)
    return summary


def test_without_tls_there_is_nothing_to_say(tmp_path: Path) -> None:
    """Cells in plain text agree on nothing."""
    assert () == describe_handshakes([measured(tmp_path, "rest", tls="none")])
    assert () == describe_handshakes([])


def test_what_all_agreed_on_is_said_once(tmp_path: Path) -> None:
    """However many cells, and with the sessions of all of them added up."""
    cells = [measured(tmp_path, "rest", FULL, RESUMED), measured(tmp_path, "grpc", FULL, tls="mutual")]
    assert (
        "All connections with TLS agreed on TLS 1.3, AES_128_GCM_SHA256, X25519.",
        "34 of 2,434 handshakes resumed an earlier session.",
    ) == describe_handshakes(cells)


def test_blocks_are_added_up(tmp_path: Path) -> None:
    """A cell's records count together."""
    one = measured(tmp_path, "socket", RESUMED)
    cell_of_two = dataclasses.replace(one, records=one.records * 2)
    assert "68 of 68 handshakes resumed an earlier session." == describe_handshakes([cell_of_two])[1]


def test_who_agreed_on_something_else_is_named(tmp_path: Path) -> None:
    """A difference in ciphers is part of the difference between transports: each agreement with its transports."""
    cells = [
        measured(tmp_path, "rest", FULL), measured(tmp_path, "grpc", OLDER), measured(tmp_path, "socket", FULL),
    ]  # fmt: skip
    assert (
        "Not all connections with TLS agreed on the same, which is part of what is compared: REST, socket on TLS 1.3, "
        "AES_128_GCM_SHA256, X25519; gRPC on TLS 1.2, ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, X25519."
    ) == describe_handshakes(cells)[0]


def test_drivers_that_tell_nothing_are_named(tmp_path: Path) -> None:
    """Silence is no agreement: k6 tells, and ghz doesn't."""
    silent = measured(tmp_path, "grpc", driver="ghz")
    assert ("ghz doesn't report what its connections with TLS agreed on.",) == describe_handshakes([silent])
    assert (
        "ghz doesn't report what its connections with TLS agreed on."
        == describe_handshakes([measured(tmp_path, "grpc", FULL), silent])[-1]
    )
