"""An application file and the data files that it names, to be copied elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from wirebench.model.source import read_yaml


def read_files(path: Path) -> dict[str, bytes]:
    """Return an application file, and then its data files, by paths relative to its folder. Raises UsageError."""
    data, _ = read_yaml(path, "an application file", "restore the file")
    names = {name for operation in data["operations"].values() for name in _find_data_files(operation)}
    return {name: (path.parent / name).read_bytes() for name in (path.name, *sorted(names))}


def write_files(files: Mapping[str, bytes], folder: Path) -> Path:
    """Write an application file with its data files below a folder, and return its path."""
    # Data files may be beside the application file's folder.
    levels_up = max(PurePath(os.path.normpath(name)).parts.count("..") for name in files)
    own = folder.joinpath(*["application"] * (levels_up + 1))
    for name, content in files.items():
        file = Path(os.path.normpath(own / name))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return own / next(iter(files))


def _find_data_files(operation: Mapping[str, Any]) -> Iterator[str]:
    for given in (*operation.get("inputs", {}).values(), *operation.get("conformance", {}).values()):
        while given:
            if name := given.get("file"):
                yield name
            given = given.get("of")  # noqa: PLW2901 - goes inwards
