"""The bases of all pydantic models: values don't change, and unknown keys are errors."""

from __future__ import annotations

import re

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict


class FrozenModel(BaseModel):
    """A model of data that wirebench writes and reads. JSON has no infinite numbers, so it has none either."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class StrictModel(FrozenModel):
    """A model of files that users write: values aren't converted to another type."""

    model_config = ConfigDict(strict=True)


def has_form(pattern: str, form: str) -> AfterValidator:
    """Return the check of a text against a pattern, with the form in words for its error."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"must be {form} (it is {text[:100]!r})")
        return text

    return AfterValidator(check)


#: For a tuple that is written as a list, or as its only item.
ONE_OR_MORE = BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else (value,))
