"""From a template to an answer."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from http import HTTPStatus
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup
from starlette.responses import HTMLResponse

from wirebench.present.templates import make_environment
from wirebench.report.page import FOLDER as REPORT_FOLDER

#: The pages that every page leads to.
NAVIGATION = (("Results", "/"), ("Compare", "/compare"))

#: An address of these pages among words.
_ADDRESS = re.compile(r"(?<!\S)(/(?!/)[^\s;,]*)")
_TEMPLATES = Path(__file__).parent / "templates"


def render(
    template: str,
    status: HTTPStatus = HTTPStatus.OK,
    *,
    current_page: str = "",
    headers: Mapping[str, str] | None = None,
    **known: Any,  # noqa: ANN401 - whatever a template shows
) -> HTMLResponse:
    """Return a page; `current_page` is its address in the navigation, `known` what its template shows."""
    text = _make_environment().get_template(template).render(current_page=current_page, **known)
    return HTMLResponse(text, status, dict(headers or {}))


@functools.cache
def _make_environment() -> Environment:
    made = make_environment(_TEMPLATES, REPORT_FOLDER)
    made.filters["linked"] = link_addresses
    made.globals |= {"navigation": NAVIGATION, "version": version("wirebench")}
    return made


def link_addresses(sentence: str) -> Markup:
    parts = _ADDRESS.split(sentence)
    parts[1::2] = [Markup('<a href="{0}">{0}</a>').format(address) for address in parts[1::2]]
    return Markup().join(parts)
