"""How services are started on this machine."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from wirebench.errors import UsageError
from wirebench.model.application import Application
from wirebench.model.variables import expand
from wirebench.model.variant import Variant
from wirebench.system.paths import TOOLS
from wirebench.system.ports import LOOPBACK
from wirebench.system.readiness import accepts_connections, answers_http, is_serving
from wirebench.system.tls import ClientTls

_PLACEHOLDER = re.compile(r"\{(port|admin_port|workers)\}")
_ADMIN = "{admin_port}"


@dataclass(frozen=True, slots=True)
class Launch:
    """A service's command, and when it is ready."""

    arguments: Sequence[str | Path]
    is_ready: Callable[[], bool]
    ready_timeout_s: float = 60.0
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None
    #: Where its counters are read; None if it has none.
    admin_url: str | None = None
    tls: ClientTls | None = None
    #: File and line of its command; empty for built-in services.
    where: str = ""


def launch_variant(application: Application, name: str, port: int, admin_port: int, workers: int) -> Launch:
    """Return how a variant is started. Raises UsageError, with file and line, if its command can't be found."""
    variant = application.variants[name]
    values = {"port": port, "admin_port": admin_port, "workers": workers}

    def fill(text: str) -> str:
        return _PLACEHOLDER.sub(lambda match: str(values[match[1]]), text)

    tls = application.find_tls(name)
    return Launch(
        arguments=[fill(word) for word in find_command(application, name)],
        is_ready=_make_readiness_check(variant, port, admin_port, tls),
        ready_timeout_s=variant.ready_timeout_s,
        environment={key: expand(fill(text)) for key, text in variant.environment.items()},
        folder=_find_folder(application, variant),
        tls=tls,
        where=application.locate(("variants", name, "start")),
    )


def find_command(application: Application, name: str) -> list[str]:
    """Return the words of a variant's command, the program with its path. Raises UsageError, with file and line.

    A program without a slash is looked for where the shell does, and among the tools of this project.
    """
    variant = application.variants[name]
    where, folder = application.locate(("variants", name, "start")), _find_folder(application, variant)
    if not folder.is_dir():
        raise UsageError(
            f"{application.locate(('variants', name, 'folder'))}: {folder} isn't a folder", "correct the path"
        )
    try:
        program, *others = shlex.split(variant.start or "")
    except ValueError as error:
        raise UsageError(f"{where}: can't be split into words: {error}", "write it as for a shell") from None
    path = str(folder / program) if "/" in program else program
    found = shutil.which(path, path=os.pathsep.join((os.environ.get("PATH", os.defpath), str(TOOLS))))
    if found is None:
        hint = "install it, put it on PATH, or write its path, relative to the variant's folder"
        raise UsageError(f"{where}: the command {program!r} is not found", hint)
    return [found, *others]


def _find_folder(application: Application, variant: Variant) -> Path:
    return application.folder / (variant.folder or "")


def _make_readiness_check(variant: Variant, port: int, admin_port: int, tls: ClientTls | None) -> Callable[[], bool]:
    address, path = f"{LOOPBACK}:{port}", (variant.ready or "").removeprefix("GET ")
    if not path:
        return partial(accepts_connections, LOOPBACK, port)
    if path == "health":
        return partial(is_serving, address, tls)
    if path.startswith(_ADMIN):
        return partial(answers_http, f"{LOOPBACK}:{admin_port}", path.removeprefix(_ADMIN))
    return partial(answers_http, address, path, tls)
