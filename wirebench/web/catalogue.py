"""The runs that are served: the index finds them, the results folder holds them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path

from starlette.applications import Starlette

from wirebench.store import Run, load_run
from wirebench.web.problems import HttpError

_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


class Catalogue:
    """The runs of one results folder."""

    def __init__(self, folder: Path, index_url: str) -> None:
        self.folder = folder
        self.index_url = index_url

    def run(self, run_id: str) -> Run:
        """Return the run of that name. Raises HttpError if there is none, WirebenchError if it can't be read."""
        return load_run(self.run_folder(run_id))

    def run_folder(self, run_id: str) -> Path:
        """Return the folder of the run of that name: one that lies in the results folder. Raises HttpError."""
        folder = self.folder / run_id
        if not (_RUN_ID.fullmatch(run_id) and (folder / "run.json").is_file()):
            raise HttpError(HTTPStatus.NOT_FOUND, "no such run", "/api/v1/runs lists the runs", parameter="run_id")
        return folder

    @asynccontextmanager
    async def followed(self, _app: Starlette) -> AsyncIterator[None]:
        """Keep the index up to date while the application runs."""
        yield
