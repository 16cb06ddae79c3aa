"""The registry of factors has all that cells are combinations of."""

from __future__ import annotations

import dataclasses

from wirebench.model.cell import Cell
from wirebench.model.contract import TRANSPORTS
from wirebench.model.factor import FACTORS, SORTED_BY, WITH_TRANSPORT, find_defaults


def test_the_registry_has_the_factors_of_a_cell() -> None:
    """What a cell is sorted and named by, too; its own defaults are those where a scenario names no level."""
    fields = {field.name: field.default for field in dataclasses.fields(Cell)}
    assert fields.keys() == FACTORS.keys()
    assert {*FACTORS} - {"shape"} == {*SORTED_BY}
    assert {*WITH_TRANSPORT} < {*FACTORS}
    for transport in TRANSPORTS:
        defaults = find_defaults(transport)
        assert {name: fields[name] for name in defaults if fields[name] is not dataclasses.MISSING}.items() <= (
            defaults.items()
        )
