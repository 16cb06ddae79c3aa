"""What a load pod is asked to do, as its file says it, and what it prints when it has done it."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from wirebench.errors import UsageError, WirebenchError
from wirebench.measure.calibrate import Probe
from wirebench.measure.calibration import Calibration
from wirebench.scenario import Cell, Load, ServiceSpec
from wirebench.targets.target import Replica
from wirebench.timing import Recording
from wirebench.tls import ClientTls

#: Beside its log lines, a pod prints its answer in lines that begin so.
_MARK = "wirebench-answer "
_LINE_CHARACTERS = 8000


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class MeasureTask(_Frozen):
    """Send the load of one cell. Answered with an observation.

    `address` is where to, `addresses` those that its name must stand for, where the client is to balance.
    """

    kind: Literal["measure"] = "measure"
    cell: Cell
    load: Load
    address: str
    addresses: tuple[str, ...]
    replicas: tuple[Replica, ...]
    #: By node, the URL of its agent, where a service is beside the load in its pod.
    agents: dict[str, str] = {}
    seed: int
    id_base: int
    #: What the load replays, if it does.
    recording: Recording | None = None
    #: How many cores the pod may use.
    cores: float
    #: The Prometheus that is told how it goes, if one is: its address as the pod reaches it.
    prometheus: str | None = None
    #: What the pod speaks TLS with: files that are mounted there; None is plain text.
    tls: ClientTls | None = None


class ServiceAt(_Frozen):
    """A service and where it is."""

    service: ServiceSpec
    address: str
    tls: ClientTls | None


class VerifyTask(_Frozen):
    """See whether services answer alike. Answered with what differs."""

    kind: Literal["verify"] = "verify"
    services: tuple[ServiceAt, ...]
    seed: int


class Verified(_Frozen):
    """The answer to VerifyTask."""

    requests: int
    mismatches: tuple[str, ...]


class CalibrateTask(_Frozen):
    """Measure drivers against a server of known latency in the same pod. Answered with a calibration."""

    kind: Literal["calibrate"] = "calibrate"
    probes: tuple[Probe, ...]
    #: How many cores each of driver and server may use.
    cores: float


class Calibrated(_Frozen):
    """The answer to CalibrateTask: what was measured, and what went wrong with the rest."""

    calibration: Calibration
    problems: tuple[str, ...]


Task = MeasureTask | VerifyTask | CalibrateTask
_TASKS: TypeAdapter[Task] = TypeAdapter(Annotated[Task, Field(discriminator="kind")])


def read_task(path: Path) -> Task:
    """Read a task. Raises UsageError."""
    try:
        return _TASKS.validate_json(path.read_bytes())
    except OSError as error:
        raise UsageError(f"can't read {path}: {error.strerror}", "mount the task there") from error
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise UsageError(f"{path}: {field}: {first['msg']}", "harness and image are of different versions") from None


def encode_answer(answer: BaseModel) -> str:
    """Return the lines to print."""
    text = base64.b64encode(zlib.compress(answer.model_dump_json(by_alias=True).encode())).decode()
    pieces = (text[start : start + _LINE_CHARACTERS] for start in range(0, len(text), _LINE_CHARACTERS))
    return "".join(f"{_MARK}{piece}\n" for piece in pieces)


def decode_answer(printed: str) -> Any:  # noqa: ANN401 - checked by whoever knows what was asked
    """Return the answer in what a pod has printed, as JSON. Raises WirebenchError if there is none."""
    text = "".join(line.removeprefix(_MARK) for line in printed.splitlines() if line.startswith(_MARK))
    try:
        return json.loads(zlib.decompress(base64.b64decode(text, validate=True)))
    except (ValueError, zlib.error):
        raise WirebenchError(
            "a load pod has printed no answer",
            "its last lines are above; is its image of this version?",
            printed[-2000:],
        ) from None
