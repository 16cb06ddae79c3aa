"""Addresses of an external target: options, and environment variables where there is no option."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from wirebench.cli.target import make_target_options
from wirebench.errors import UsageError
from wirebench.run.target_options import TargetOptions


def options(target: str, **addresses: str) -> TargetOptions:
    """Return the target that a command's options name."""
    return make_target_options(target, addresses)


def levels(**addresses: str) -> Mapping[str, str]:
    """Return the TLS level of each transport that has an address, which tells its source."""
    external = options("external", **addresses).external
    assert external is not None
    return external.tls_levels


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

    assert options("local").external is None
    with pytest.raises(UsageError, match="the local target starts its services itself"):
        options("local", rest="127.0.0.1:5000")


def test_a_variable_that_is_no_address_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the transport and what was given."""
    monkeypatch.setenv("WIREBENCH_GRPC", "nowhere")
    with pytest.raises(UsageError, match="grpc: 'nowhere' is not an address"):
        options("external")
