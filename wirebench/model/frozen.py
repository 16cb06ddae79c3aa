"""The bases of all pydantic models: values don't change, and unknown keys are errors."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class FrozenModel(BaseModel):
    """A model of data that wirebench writes and reads. JSON has no infinite numbers, so it has none either."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class StrictModel(FrozenModel):
    """A model of files that users write: values aren't converted to another type."""

    model_config = ConfigDict(strict=True)


def convert_list(value: Any) -> Any:  # noqa: ANN401 - untrusted, checked next
    """Return a list as a tuple, which can't change, and anything else as it is."""
    return tuple(value) if isinstance(value, list) else value
