"""Templates: what those of the report, and of the pages of `wirebench serve`, know alike."""

from __future__ import annotations

import re
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from wirebench.model import labels as names
from wirebench.model.metric import METRICS
from wirebench.present.charts.svg import swatch
from wirebench.present.numbers import format_moment

_FOLDER = Path(__file__).parent

_MARKED = re.compile(r"(?P<interval>\(95 % CI [^()]*\))|`(?P<command>[^`]+)`")


def make_environment(*folders: Path) -> Environment:
    """Return what renders the templates of these folders, with the parts that are shared."""
    made = Environment(
        loader=FileSystemLoader([*folders, _FOLDER]),
        autoescape=True,  # a scenario's text and a service's messages may be hostile
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "capitalise": names.capitalise,
        "pluralise": names.pluralise,
        "mark_up": mark_up,
        "moment": format_moment,
    }
    made.globals |= {"swatch": swatch, "METRICS": METRICS}
    return made


def mark_up(sentence: str) -> Markup:
    """Set a sentence's intervals and commands apart; an interval stays on one line."""
    return Markup(_MARKED.sub(_mark, escape(sentence)))  # noqa: S704 - of escaped text


def _mark(found: re.Match[str]) -> str:
    return f"<small>{found['interval']}</small>" if found["interval"] else f"<code>{found['command']}</code>"
