"""What is in a drawing, for tests that look at it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

from wirebench.present.charts.svg import Drawing


class Drawn:
    """A drawing's elements."""

    def __init__(self, drawing: Drawing) -> None:
        self.root = ET.fromstring(drawing.__html__())  # noqa: S314 - our own

    def all(self, kind: str) -> list[ET.Element]:
        """Return the elements of a class, or of several."""
        wanted = set(kind.split())
        return [each for each in self.root.iter() if wanted <= set(each.get("class", "").split())]

    def texts(self, kind: str) -> list[str]:
        """Return what is written in the texts of a class."""
        return ["".join(each.itertext()) for each in self.all(kind) if each.tag == "text"]

    def numbers(self, kind: str, name: str) -> list[float]:
        """Return an attribute of the elements of a class."""
        return [float(each.attrib[name]) for each in self.all(kind)]

    def lines(self) -> list[list[tuple[float, float]]]:
        """Return the points of the lines."""
        points = (each.attrib["points"].split() for each in self.all("line"))
        return [[_point(point.split(",")) for point in line] for line in points]

    def marks(self, kind: str = "mark") -> list[tuple[float, float]]:
        """Return where the marks are."""
        return [_point(re.findall(r"-?[\d.]+", each.attrib["d"])[:2]) for each in self.all(kind)]

    @property
    def description(self) -> str:
        """What it says to those who don't see it."""
        return self.root.findtext("desc") or ""


def _point(numbers: Sequence[str]) -> tuple[float, float]:
    x, y = map(float, numbers)
    return x, y
