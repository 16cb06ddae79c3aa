"""The application file: what a plan needs of it, and the mistakes in it, with their lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from wirebench.errors import UsageError
from wirebench.model.application import Application, load_builtin, read_application


def read(folder: Path, text: str) -> Application:
    """Return the application of a text."""
    (folder / "a.yaml").write_text(text)
    return read_application(folder / "a.yaml")


def test_mistakes_that_wireload_finds_are_one_error(tmp_path: Path) -> None:
    """The first is the message, the others stand below it; each has file, line and key."""
    rest = 'rest: {request: "GET /{ident}"}'
    with pytest.raises(UsageError) as error:
        read(tmp_path, f"operations:\n  get: {{inputs: {{id: {{rnge: [1, 2]}}}}, {rest}}}\n  find: {{{rest}}}\n")
    said = [error.value.message, *error.value.details.splitlines()]
    assert all(each.startswith(f"{tmp_path / 'a.yaml'}:") for each in said)
    assert ":2: operations.get.inputs.id" in said[0]
    assert ":3: operations.find.rest.request" in said[-1]


def test_a_missing_wireload_is_no_mistake_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next step builds it."""
    monkeypatch.setattr("wirebench.model.application.TOOLS", tmp_path)
    with pytest.raises(UsageError, match="can't start wireload") as error:
        read(tmp_path, "operations: {a: {rest: {request: GET /}}}\n")
    assert "run `make setup`, which builds wireload" == error.value.hint


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ('start: "serve {port} --key ${A_KEY}"', "variants.v: start: ${A_KEY} would stand in an argument list"),
        ('start: "serve {port}", ready: "GET {admin_port}/ready"', "variants.v: ready: {admin_port} isn't in start"),
        ("start: serve {port}", "not valid YAML"),
        ("address: '127.0.0.1:99999'", "variants.v.address: Port out of range"),
        ("adress: '127.0.0.1:1'", "variants.v.adress: no such key; did you mean address?"),
        ("address: '[::1]:65535', metrics: 'http://[::1]:70000/metrics'", "variants.v.metrics: Port out of range"),
    ],
)
def test_commands_and_ports_that_cannot_be_what_is_meant_have_a_line(
    tmp_path: Path, variant: str, expected: str
) -> None:
    """Commands would start, and then fail for a reason that is hard to see; ports go up to 65535."""
    text = f"operations: {{a: {{rest: {{request: GET /}}}}}}\nvariants:\n  v: {{transport: rest, {variant}}}\n"
    with pytest.raises(UsageError) as error:
        read(tmp_path, text)
    assert f"a.yaml:3: {expected}" in error.value.message
    assert ("YAML" in expected) == (error.value.hint == 'quote texts with braces: "serve {port}"')


def test_numbers_are_payloads_up_to_a_limit() -> None:
    """A list may be as long as the service gives, and a request takes as many ids as it creates records."""
    operations = load_builtin().operations
    listing = operations["users.list"]
    assert [True, False] == [listing.takes(size) for size in (10_000, 10_001)]
    assert [500, 7] == [listing.find_size(size) for size in ("list", 7)]
    counted = [("users.create", None), ("users.create_batch", None), ("users.create_batch", 7), ("users.get", None)]
    assert [1, 500, 7, 0] == [operations[name].count_ids(payload) for name, payload in counted]
