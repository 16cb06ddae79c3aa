"""How services are started on this machine."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from wirebench.errors import UsageError
from wirebench.model.application import Application
from wirebench.model.cell import ServiceSpec
from wirebench.model.variant import VARIABLE
from wirebench.system.paths import APPLICATIONS, TOOLS
from wirebench.system.ports import LOOPBACK, accepts_connections, answers_http, is_serving
from wirebench.system.processes import list_flags
from wirebench.system.tls import ClientTls

#: How long a built-in service may take to finish requests in flight.
DRAIN_TIMEOUT_S = 10.0
_PLACEHOLDER = re.compile(r"\{(port|admin_port|workers)\}")
_ADMIN = "{admin_port}"
#: Shorter values of variables are no secrets, and stand in many a text.
_HIDDEN_CHARACTERS_MIN = 4


@dataclass(frozen=True, slots=True)
class Launch:
    """A service's command, the port that it listens on, and when it is ready."""

    arguments: Sequence[str | Path]
    port: int
    is_ready: Callable[[], bool]
    ready_timeout_s: float = 60.0
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None
    #: Where its counters are read; None if it has none.
    admin_url: str | None = None
    tls: ClientTls | None = None
    #: File and line of its command; empty for built-in services.
    where: str = ""


def launch_builtin(
    service: ServiceSpec, port: int, admin_port: int, more_flags: Mapping[str, object], store_url: str | None
) -> Launch:
    """Return how a built-in service is started."""
    flags = {
        "--host": LOOPBACK,
        "--port": port,
        "--admin-port": admin_port,
        "--runtime": service.runtime,
        "--workers": service.workers,
        "--threads": service.threads,
        "--store": service.store,
        "--store-connections": service.store_connections,
        "--drain-timeout-s": DRAIN_TIMEOUT_S,
        **more_flags,
    }
    return Launch(
        arguments=[*find_builtin_command(service), *list_flags(flags)],
        port=port,
        is_ready=partial(answers_http, f"{LOOPBACK}:{admin_port}", "/readyz"),
        environment={"WIREBENCH_STORE_URL": store_url} if store_url else {},
        admin_url=f"http://{LOOPBACK}:{admin_port}",
    )


def find_builtin_command(service: ServiceSpec) -> list[str | Path]:
    """Return the program of a built-in service, and its first arguments. Raises UsageError if it isn't there."""
    # Programs in Python stand beside the interpreter that runs us: both come with the same set-up.
    program = Path(sys.executable).with_name(f"wirebench-{service.transport}")
    if is_go := service.implementation == "go":
        program = TOOLS / "wirebench-go"
    if not program.exists():
        raise UsageError(f"the command {program.name} is not at {program}", "run `make setup`")
    return [program, service.transport] if is_go else [program]


def launch_variant(application: Application, name: str, port: int, admin_port: int, workers: int) -> Launch:
    """Return how a variant is started. Raises UsageError, with file and line, if its command can't be found."""
    variant, tls = application.variants[name], application.find_tls(name)
    values = {"port": port, "admin_port": admin_port, "workers": workers}

    def fill(text: str) -> str:
        return _PLACEHOLDER.sub(lambda match: str(values[match[1]]), text)

    address, path = f"{LOOPBACK}:{port}", (variant.ready or "").removeprefix("GET ")
    is_ready = partial(answers_http, address, path, tls)
    if not path:
        is_ready = partial(accepts_connections, LOOPBACK, port)
    elif path == "health":
        is_ready = partial(is_serving, address, tls)
    elif path.startswith(_ADMIN):
        is_ready = partial(answers_http, f"{LOOPBACK}:{admin_port}", path.removeprefix(_ADMIN))
    return Launch(
        arguments=[fill(word) for word in find_command(application, name)],
        port=port,
        is_ready=is_ready,
        ready_timeout_s=variant.ready_timeout_s,
        environment={
            key: VARIABLE.sub(lambda match: os.environ[match[1]], fill(text))
            for key, text in variant.environment.items()
        },
        folder=application.path.parent / (variant.folder or ""),
        tls=tls,
        where=application.source.locate(("variants", name, "start")),
    )


def find_command(application: Application, name: str) -> list[str]:
    """Return the words of a variant's command, the program with its path. Raises UsageError, with file and line.

    A program without a slash is looked for where the shell does, and among the tools of this project.
    """
    variant = application.variants[name]
    where = application.source.locate(("variants", name, "start"))
    folder = application.path.parent / (variant.folder or "")
    if not folder.is_dir():
        place = application.source.locate(("variants", name, "folder"))
        raise UsageError(f"{place}: {folder} isn't a folder", "correct the path")
    try:
        program, *others = shlex.split(variant.start or "")
    except ValueError as error:
        raise UsageError(f"{where}: can't be split into words: {error}", "write it as for a shell") from None
    path = str(folder / program) if "/" in program else program
    found = shutil.which(path, path=os.pathsep.join((os.environ.get("PATH", os.defpath), str(TOOLS))))
    if found is None:
        hint = "install it, put it on PATH, or write its path, relative to the variant's folder"
        if application.path.parent == APPLICATIONS / "examples":
            hint = f"run `make example-{program}`, which installs it"
        raise UsageError(f"{where}: the command {program!r} is not found", hint)
    return [found, *others]


def redact(text: str, application: Application) -> str:
    """Return a text with the names of variables in place of their values: a service may repeat these."""
    values = {os.environ.get(name, ""): name for name in VARIABLE.findall(application.source.text)}
    for value in sorted((each for each in values if len(each) >= _HIDDEN_CHARACTERS_MIN), key=len, reverse=True):
        text = text.replace(value, f"${{{values[value]}}}")
    return text
