"""The inputs of requests: how each value is made, and drawing them."""

from __future__ import annotations

import base64
import csv
import io
import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, StringConstraints, ValidationInfo, model_validator

from wirebench.model.frozen import StrictModel, convert_list
from wirebench.model.template import Template, render

#: The payload that an operation sends by default.
DEFAULT = "default"
_TEXT = "wirebench "
_BYTE_VALUES = 256
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


#: A number, or a placeholder of an input before it.
_Count = int | str
#: It is a part of the names of files.
_PayloadName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=40)]

GENERATORS = (
    "seeded", "fresh", "created", "range", "list", "counter", "text", "bytes", "random_text", "random_bytes",
    "payload", "stream", "repeat", "value",
)  # fmt: skip


class Seeded(StrictModel):
    """Ids of records that are there before the load: `count` of them, from `first` on."""

    first: int
    count: Annotated[int, Field(ge=1)]


class Input(StrictModel):
    """How a value of a request is made: exactly one of the generators, with its options."""

    #: An id of a seeded record; in a sequence, of the record that the virtual user created last.
    seeded: str | None = None
    #: An id that no other request takes, for a record to create.
    fresh: str | None = None
    #: The id of a record that this virtual user has created, which the operation deletes.
    created: str | None = None
    #: A random whole number, both ends included.
    range: Annotated[tuple[int, int], BeforeValidator(convert_list)] | None = None
    #: One of these at random. `file` instead has them in a column of a CSV file, or in a JSON list.
    list: Annotated[tuple[Template, ...], BeforeValidator(convert_list), Field(min_length=1)] | None = None
    #: This number, and one more with each request.
    counter: int | None = None
    #: So many characters or bytes: always the same, or random.
    text: _Count | None = None
    bytes: _Count | None = None
    random_text: _Count | None = None
    random_bytes: _Count | None = None
    #: What the level of the factor `payload` stands for; the first where a scenario has none. `max`: numbers up to it.
    payload: dict[_PayloadName, Template] | None = None
    max: int | None = None
    #: A scenario's factor of streams.
    stream: Literal["items", "rate_limit_per_s"] | None = None
    #: `of`, so many times; the input `counting` is one more each time.
    repeat: _Count | None = None
    counting: str | None = None
    of: Input | None = None
    value: Template = None
    #: With `seeded` and `fresh`: how many ids in a row are taken. With `seeded`: what is added to the id.
    count: _Count = 1
    offset: int = 0

    @model_validator(mode="before")
    @classmethod
    def _read_file(cls, given: Any, info: ValidationInfo) -> Any:  # noqa: ANN401 - untrusted, checked next
        """Take the values from a file, which is named relative to the application file."""
        if not isinstance(given, dict) or not isinstance(given.get("file"), str):
            return given
        if Path(given["file"]).is_absolute():
            raise ValueError("file: must be relative to the application file")
        others = {name: value for name, value in given.items() if name not in ("file", "column")}
        folder = info.context.path.parent if info.context else Path()
        return {**others, "list": read_choices(folder / given["file"], given.get("column"))}

    @model_validator(mode="after")
    def _check_generator(self) -> Self:
        given = [name for name in GENERATORS if name in self.model_fields_set]
        if len(given) != 1:
            raise ValueError(f"needs exactly one of {', '.join(GENERATORS)}")
        if given != ["value"] and getattr(self, given[0]) in (None, {}, ""):
            raise ValueError(f"{given[0]}: needs a value")
        if self.range and self.range[0] > self.range[1]:
            raise ValueError("range: its first number is greater than its last")
        if None in (self.list or ()):
            raise ValueError("list: an item can't be null")
        if self.repeat is not None and self.of is None:
            raise ValueError("repeat needs `of`: what is repeated")
        if self.of and self.of.generator in ("fresh", "created"):
            hint = "make it an input, and name that in `counting`"
            raise ValueError(f"of: {self.of.generator} can't be repeated: {hint}")
        return self

    @property
    def generator(self) -> str:
        return next(name for name in GENERATORS if name in self.model_fields_set)

    @property
    def nested(self) -> tuple[Input, ...]:
        """This input, and the one that it repeats, and so on."""
        return (self, *(self.of.nested if self.of else ()))

    @property
    def templates(self) -> Iterator[Template]:
        """All that may hold placeholders."""
        yield from (self.text, self.bytes, self.random_text, self.random_bytes, self.payload, self.repeat, self.value)
        yield self.count
        yield f"{{{self.counting}}}" if self.counting else None
        if self.of:
            yield from self.of.templates

    @property
    def varies(self) -> bool:
        """Whether requests get different values, apart from what other inputs bring in."""
        return self.generator not in ("text", "bytes", "payload", "stream", "repeat", "value")

    def takes(self, payload: str | int) -> bool:
        if self.of and self.of.takes(payload):
            return True
        if isinstance(payload, int):
            return self.max is not None and payload <= self.max
        return payload != DEFAULT and payload in (self.payload or {})

    def choose(self, payload: str | int | None) -> Template:
        """Return the template for a payload: the default for one that it doesn't take."""
        choices = self.payload or {}
        if payload is None or not self.takes(payload):
            return next(iter(choices.values()))
        return payload if isinstance(payload, int) else choices[payload]


@dataclass(frozen=True, slots=True)
class InputContext:
    """What the inputs of a request depend on; `fresh` and `created` stand for the ids that only a load knows."""

    pick: random.Random
    seeded: Mapping[str, Seeded] = field(default_factory=dict)
    payload: str | int | None = None
    fresh: Any = 0
    created: Any = 0
    stream: Mapping[str, int | None] = field(default_factory=dict)
    number: int = 0


def draw(inputs: Mapping[str, Input], drawing: InputContext) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, given in inputs.items():
        values[name] = _draw(given, drawing, values)
    return values


def _draw(given: Input, drawing: InputContext, values: dict[str, Any]) -> Any:  # noqa: ANN401, PLR0911 - any JSON, a line a generator
    match given.generator:
        case "fresh" | "created" as name:
            return getattr(drawing, name)
        case "counter":
            return (given.counter or 0) + drawing.number
        case "payload":
            return render(given.choose(drawing.payload), values)
        case "stream":
            return drawing.stream.get(str(given.stream))
        case "value":
            return render(given.value, values)
        case "repeat":
            return _repeat(given, drawing, values)
        case "text" | "bytes" | "random_text" | "random_bytes" as name:
            return _fill(name, int(render(getattr(given, name), values)), drawing.pick)
    return _pick(given, drawing, values)


def _pick(given: Input, drawing: InputContext, values: dict[str, Any]) -> Any:  # noqa: ANN401 - any JSON
    if given.seeded:
        there, count = drawing.seeded[given.seeded], int(render(given.count, values))
        return there.first + drawing.pick.randrange(max(1, there.count - count + 1)) + given.offset
    if given.range:
        return drawing.pick.randint(*given.range)
    return drawing.pick.choice(given.list or ())


def _repeat(given: Input, drawing: InputContext, values: dict[str, Any]) -> list[Any]:
    inner = given.of or Input(value=None)
    counted = {given.counting: values[given.counting]} if given.counting else {}
    return [
        _draw(inner, drawing, {**values, **{name: first + place for name, first in counted.items()}})
        for place in range(int(render(given.repeat, values)))
    ]


def _fill(generator: str, size: int, pick: random.Random) -> str:
    """Return so many characters, or bytes in base64."""
    match generator:
        case "text":
            return (_TEXT * (size // len(_TEXT) + 1))[:size]
        case "random_text":
            return "".join(pick.choices(_LETTERS, k=size))
        case "bytes":
            return base64.b64encode(bytes(place % _BYTE_VALUES for place in range(size))).decode()
    return base64.b64encode(pick.randbytes(size)).decode()


def read_choices(path: Path, column: str | None) -> list[Any]:
    """Return the rows of a column of a CSV file, or the items of a JSON list. Raises ValueError."""
    try:
        text = path.read_text(encoding="utf-8-sig")  # spreadsheets begin files with a mark
        if path.suffix == ".csv":
            return [row[column or ""] for row in csv.DictReader(io.StringIO(text))]
        return [item[column] if column else item for item in json.loads(text)]
    except (OSError, ValueError, LookupError, TypeError, csv.Error) as error:
        message = f"can't read {path}, a CSV file with its column or a JSON list: {error!r}"
        raise ValueError(message) from None
