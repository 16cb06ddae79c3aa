"""The benchmark of settings: its copies of the services have the defaults, and docs/variants.md has its rows."""

from __future__ import annotations

import re

import pytest

from benchmarks.settings import SETTINGS, Setting
from wirebench.system.paths import ROOT

ROWS = [line for line in (ROOT / "docs" / "variants.md").read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
#: A ratio with its spread, or a number of connects.
MEASURED = re.compile(r"\d× \(\d|\d connects at once")


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: f"{setting.runtime} {setting.name}")
def test_settings_are_those_of_the_services(setting: Setting) -> None:
    """Each edit fits one place of today's sources, and the setting stands in a table with its effect."""
    text = (setting.tree / setting.file).read_text(encoding="utf-8")
    assert text != setting.restore_default(text)
    assert any(setting.name in row and MEASURED.search(row) for row in ROWS)


def test_an_edit_that_fits_nothing_is_an_error() -> None:
    """A copy that is no different would be measured as a setting without an effect."""
    with pytest.raises(ValueError, match="fits 0 places"):
        SETTINGS[0].restore_default("")
