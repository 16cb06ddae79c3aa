"""What the users of a load do: a sequence, phases or a mix of operations."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from wirebench.model.frozen import ONE_OR_MORE, StrictModel, has_form

_Name = Annotated[str, has_form(r"[a-z][a-z0-9-]{0,29}", "a name of a to z, 0 to 9 and -, 30 at most")]
_Weight = Annotated[int, Field(ge=1, le=10_000)]


def _check_operation(name: str, info: ValidationInfo) -> str:
    operations = info.context.operations if info.context else {}
    known = [each for each, operation in operations.items() if not operation.stream]
    if info.context and name not in known:
        raise ValueError(f"must be one of {', '.join(known)} (it is {name!r})")
    return name


#: An operation that can follow others: any but streams.
Operation = Annotated[str, AfterValidator(_check_operation)]


class Workload(StrictModel):
    """What users of a load do: a sequence, phases or a mix of operations."""

    sequence: Annotated[tuple[Operation, ...], ONE_OR_MORE, Field(max_length=100)] = ()
    #: All users make the calls of one, wait for each other, and continue with the next.
    phases: Annotated[tuple[Operation, ...], ONE_OR_MORE, Field(max_length=20)] = ()
    #: How often each operation is chosen, relative to the others.
    mix: dict[Operation, _Weight] = Field(default={})

    @model_validator(mode="after")
    def _check(self, info: ValidationInfo) -> Self:
        if sum(map(bool, (self.sequence, self.phases, self.mix))) != 1:
            raise ValueError("needs one of sequence, phases and mix")
        known = info.context.operations if info.context else {}
        creating = [each for each, operation in known.items() if operation.creates]
        own = self.operations
        for place, name in enumerate(own if known else ()):
            if known[name].deletes and not set(own if self.mix else own[:place]).intersection(creating):
                needed = creating[0] if creating else "an operation that creates"
                raise ValueError(f"{name} needs {needed} before it: a load deletes only what it has created")
        return self

    @property
    def operations(self) -> tuple[Operation, ...]:
        return tuple(dict.fromkeys((*self.sequence, *self.phases, *self.mix)))


#: Workloads by the names that scenarios give them.
Workloads = dict[_Name, Workload]
