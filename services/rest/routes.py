"""What an endpoint group is: routes as data, the same for every framework."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qsl

from services.domain.errors import InvalidArgument

#: As many digits as the JSON reader takes for an integer; longer numbers are out of every range anyway.
_INTEGER = re.compile(r"-?[0-9]{1,20}")


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one path, and the operation behind it.

    Names in braces are fields of the operation, as are the parameters of the query; all are integers.
    """

    method: str
    path: str
    operation: str
    status: int = HTTPStatus.OK
    query: tuple[str, ...] = ()

    def fields(self, path_values: Mapping[str, str], query: str) -> dict[str, object]:
        """Return the fields that path and query give. Raises InvalidArgument for parameters that mean nothing."""
        fields = {name: integer(text) for name, text in path_values.items()}
        if query:
            # A blank value is kept, because it is a wrong value and not a missing one.
            given = dict(parse_qsl(query, keep_blank_values=True))
            unknown = [name for name in given if name not in self.query]
            if unknown:
                raise InvalidArgument(f"Unknown fields: {', '.join(unknown)}.")
            fields.update((name, integer(text)) for name, text in given.items())
        return fields


def integer(text: str) -> object:
    """Return the integer that the text is, or else the text, for validation to name the field."""
    return int(text) if _INTEGER.fullmatch(text) else text
