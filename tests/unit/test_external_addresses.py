"""Addresses of an external target: options, and environment variables where there is no option."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from wirebench.cli.run import Place, place_of
from wirebench.errors import UsageError


def place(target: str, **addresses: str) -> Place:
    """Return the place that a command's options name."""
    return place_of(target, addresses, None, context=None, kubeconfig=None, values=[])


def levels(**addresses: str) -> Mapping[str, str]:
    """Return the TLS level of each transport that has an address, which tells its source."""
    return place("external", **addresses).external.tls_levels


def test_options_win_over_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable gives the address of a transport that has no option; an empty variable gives none."""
    monkeypatch.setenv("WIREBENCH_REST", "https://variable:5000")
    monkeypatch.setenv("WIREBENCH_GRPC", "tls://variable:50051")
    monkeypatch.setenv("WIREBENCH_SOCKET", "")

    assert {"rest": "server", "grpc": "server"} == levels()
    assert {"rest": "none", "grpc": "server"} == levels(rest="http://option:5000")


def test_other_targets_have_no_use_for_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """They start their services; an option for one is a mistake, and a variable is meant for another command."""
    monkeypatch.setenv("WIREBENCH_REST", "127.0.0.1:5000")

    assert {} == place("local").external.tls_levels
    with pytest.raises(UsageError, match="the local target starts its services itself"):
        place("local", rest="127.0.0.1:5000")


def test_a_variable_that_is_no_address_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the transport and what was given."""
    monkeypatch.setenv("WIREBENCH_GRPC", "nowhere")
    with pytest.raises(UsageError, match="grpc: 'nowhere' is not an address"):
        place("external")
