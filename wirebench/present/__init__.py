"""How results are shown, in words and pictures alike by the report, the pages and the terminal."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent
#: The look that the report and the pages share, and that of charts, wherever they are shown.
LOOK_CSS = _FOLDER / "look.css"
CHARTS_CSS = _FOLDER / "charts" / "charts.css"
