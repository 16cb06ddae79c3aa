"""From a template to a page: those of `wirebench serve`, and the page of a run as a file of its own."""

from __future__ import annotations

import functools
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from wirebench.errors import pluralise
from wirebench.model.metric import METRICS
from wirebench.present.charts.svg import swatch
from wirebench.present.labels import capitalise, name_gate
from wirebench.present.numbers import format_amount, format_moment

#: The pages that every page leads to.
NAVIGATION = (("Results", "/"), ("Compare", "/compare"))
STATIC = Path(__file__).parent / "static"

#: An interval, or a command.
_MARKED = re.compile(r"(?P<interval>\(95 % CI [^()]*\))|`(?P<command>[^`]+)`")


def render_template(template: str, *, is_file: bool = False, current_page: str = "", **known: Any) -> str:  # noqa: ANN401 - whatever a template shows
    """Return a page; `current_page` is its address in the navigation, `known` what its template shows.

    One that is a file has its styles inside and leads nowhere.
    """
    css = (STATIC / "style.css").read_text(encoding="utf-8") if is_file else ""
    known |= {"is_file": is_file, "css": Markup(css), "current_page": current_page}  # noqa: S704 - our own
    return _make_environment().get_template(template).render(known)


@functools.cache
def _make_environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,  # a scenario's text and a service's messages may be hostile
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "amount": format_amount,
        "capitalise": capitalise,
        "gate": name_gate,
        "mark_up": mark_up,
        "moment": format_moment,
        "pluralise": pluralise,
    }
    made.globals |= {"swatch": swatch, "METRICS": METRICS, "navigation": NAVIGATION, "version": version("wirebench")}
    return made


def mark_up(sentence: str) -> Markup:
    """Set a sentence's intervals and commands apart; an interval stays on one line."""
    return Markup(_MARKED.sub(_mark, escape(sentence)))  # noqa: S704 - of escaped text


def _mark(found: re.Match[str]) -> str:
    return f"<small>{found['interval']}</small>" if found["interval"] else f"<code>{found['command']}</code>"
