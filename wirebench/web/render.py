"""From a template to an answer."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from http import HTTPStatus
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment
from starlette.responses import HTMLResponse

from wirebench.report.templates import environment

#: The pages that every page leads to.
NAVIGATION = (("Results", "/"), ("Compare", "/compare"), ("History", "/history"))

_TEMPLATES = Path(__file__).parent / "templates"


def render(
    template: str,
    status: HTTPStatus = HTTPStatus.OK,
    *,
    here: str = "",
    headers: Mapping[str, str] | None = None,
    **known: Any,  # noqa: ANN401 - whatever a template shows
) -> HTMLResponse:
    """Return a page; `here` is which of the navigation's it is, `known` what its template shows."""
    text = _environment().get_template(template).render(here=here, **known)
    return HTMLResponse(text, status, dict(headers or {}))


@functools.cache
def _environment() -> Environment:
    made = environment(_TEMPLATES)
    made.globals |= {"navigation": NAVIGATION, "version": version("wirebench")}
    return made
