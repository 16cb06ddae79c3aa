"""Files are read as YAML 1.2, and written so that no version reads a text as something else."""

from __future__ import annotations

from pathlib import Path

import pytest

from wirebench.errors import UsageError
from wirebench.model.source import dump_yaml, parse_yaml


def test_texts_are_written_as_texts() -> None:
    """Quoted where any version would take them for something else."""
    texts = ["1e3", "0o17", "08", "no", "12:30", "2026-01-01", "true", "~", ".5"]
    written = dump_yaml(texts)
    assert len(texts) == written.count("'") / 2


def test_scalars_are_those_of_yaml_1_2() -> None:
    """What only YAML 1.1 takes for a number, a date or a truth is a text."""
    texts = ["no", "on", "12:30", "1_000", "2026-02-30", "0b11", "-0o7", "1:2.5", "010", "-08", "00.5"]
    data, _ = parse_yaml(f"v: [{', '.join(texts)}, 0o17, 0x1F, 1e3, .5, ~, true]", Path("f"), "f", "a file")
    assert [*texts, 15, 31, 1000.0, 0.5, None, True] == data["v"]


def test_what_its_type_cannot_hold_is_an_error() -> None:
    """As all other YAML that is not valid."""
    with pytest.raises(UsageError, match="f:1: not valid YAML"):
        parse_yaml(f"a: 1{'0' * 5000}", Path("f"), "f", "a file")
