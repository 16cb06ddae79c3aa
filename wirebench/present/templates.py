"""Templates: what those of the report, and of the pages of `wirebench serve`, know alike."""

from __future__ import annotations

import re
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from wirebench.model import labels as names
from wirebench.present.charts.svg import swatch
from wirebench.present.numbers import format_moment

_FOLDER = Path(__file__).parent

_INTERVAL = re.compile(r"(\(95 % CI [^()]*\))")


def make_environment(*folders: Path) -> Environment:
    """Return what renders the templates of these folders, with the parts that are shared."""
    made = Environment(
        loader=FileSystemLoader([*folders, _FOLDER]),
        autoescape=True,  # a scenario's text and a service's messages are anybody's
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "capitalise": names.capitalise,
        "pluralise": names.pluralise,
        "dim_intervals": dim_intervals,
        "moment": format_moment,
    }
    made.globals["swatch"] = swatch
    return made


def dim_intervals(sentence: str) -> Markup:
    """Mark a sentence's intervals, so that the page can set them apart and keep each on one line."""
    parts = _INTERVAL.split(sentence)
    parts[1::2] = [Markup("<small>{}</small>").format(interval) for interval in parts[1::2]]
    return Markup().join(parts)
