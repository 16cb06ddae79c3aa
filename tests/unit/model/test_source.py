"""Files are written so that no version of YAML reads a text as something else."""

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


@pytest.mark.parametrize("value", ["1" + "0" * 5000, "2026-02-30"])
def test_what_its_type_cannot_hold_is_an_error(value: str) -> None:
    """As all other YAML that is not valid."""
    with pytest.raises(UsageError, match="f: not valid YAML"):
        parse_yaml(f"a: {value}", Path("f"), "f", "a file")
