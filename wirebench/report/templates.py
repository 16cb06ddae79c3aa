"""Templates: what those of the report, and of the pages of `wirebench serve`, know alike."""

from __future__ import annotations

import re
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from wirebench.report.numbers import moment
from wirebench.stats import names

_FOLDER = Path(__file__).parent
#: The look that all of them share.
LOOK = _FOLDER / "look.css"

_INTERVAL = re.compile(r"(\(95 % CI [^()]*\))")


def environment(*folders: Path) -> Environment:
    """Return what renders the templates of these folders, and after them those of the report."""
    made = Environment(
        loader=FileSystemLoader([*folders, _FOLDER]),
        autoescape=True,  # a scenario's text and a service's messages are anybody's
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "capitalised": names.capitalised,
        "counted": names.counted,
        "dim_intervals": dim_intervals,
        "moment": moment,
    }
    return made


def dim_intervals(sentence: str) -> Markup:
    """Mark a sentence's intervals, so that the page can set them apart and keep each on one line."""
    parts = _INTERVAL.split(sentence)
    parts[1::2] = [Markup("<small>{}</small>").format(interval) for interval in parts[1::2]]
    return Markup().join(parts)
