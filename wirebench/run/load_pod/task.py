"""The task of a load pod, as a file, and the answer that it prints."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import to_json

from wirebench.drivers import Job
from wirebench.errors import UsageError, WirebenchError
from wirebench.measure.calibration import Probe
from wirebench.model.frozen import FrozenModel
from wirebench.model.recording import Recording
from wirebench.model.validation_messages import describe_first
from wirebench.system.paths import APPLICATION
from wirebench.system.tls import ClientTls
from wirebench.targets.endpoint import Endpoint, Replica

T = TypeVar("T")

#: A task is in a ConfigMap, and twice in helm's record of the release, and each holds a mebibyte.
FILES_CHARACTERS_MAX = 450_000
#: Beside its log lines, a pod prints its answer in lines that begin so.
_MARK = "wirebench-answer "
_LINE_CHARACTERS = 8000


class Files(FrozenModel):
    """What drivers read of an application with variants: itself, and gRPC messages; compressed."""

    application: str
    descriptors: str

    @classmethod
    def of(cls, job: Job) -> Files | None:
        """Return a job's files, None for those that load pods have. Raises WirebenchError if they are too large."""
        if job.application == APPLICATION:
            return None
        application, descriptors = (_compress(each.read_bytes()) for each in (job.application, job.descriptors))
        files = cls(application=application, descriptors=descriptors)
        characters = len(application) + len(descriptors)
        if characters > FILES_CHARACTERS_MAX:
            raise WirebenchError(
                f"compressed, application and messages take {characters:,} characters; the limit is "
                f"{FILES_CHARACTERS_MAX:,}",
                "name only the proto files of the measured calls in `schema`, or shorten lists of inputs",
            )
        return files

    def write(self, folder: Path) -> tuple[Path, Path]:
        application, descriptors = folder / "application.json", folder / "contract.binpb"
        application.write_bytes(_decompress(self.application))
        descriptors.write_bytes(_decompress(self.descriptors))
        return application, descriptors


class MeasureTask(FrozenModel):
    """Send the load of a job, and watch these replicas. Answered with an observation.

    The name in the job's address must stand for the job's `replicas`, where the client is to balance.
    """

    kind: Literal["measure"] = "measure"
    job: Job
    #: Those of an application with variants.
    files: Files | None = None
    replicas: tuple[Replica, ...]
    #: By node, the URL of its agent, where a service is beside the load in its pod.
    agents: dict[str, str] = Field(default={})
    #: What the load replays, if it does.
    recording: Recording | None = None
    #: How many cores the pod may use.
    cores: float


class SendTask(FrozenModel):
    """Send `requests_each` of each operation of a job. Answered with an Answer for each."""

    kind: Literal["send"] = "send"
    job: Job
    files: Files | None = None
    requests_each: int


class ReflectTask(FrozenModel):
    """Read the messages of calls by server reflection. Answered with a FileDescriptorSet in base64."""

    kind: Literal["reflect"] = "reflect"
    address: str
    tls: ClientTls | None
    calls: tuple[str, ...]
    #: With `${NAME}`: the pod's environment has the values.
    headers: dict[str, str]


class VerifyTask(FrozenModel):
    """Check that services answer alike. Answered with a Conformance."""

    kind: Literal["verify"] = "verify"
    services: tuple[Endpoint, ...]
    seed: int


class CalibrateTask(FrozenModel):
    """Measure drivers briefly against a server of known latency in the same pod. Answered with points."""

    kind: Literal["calibrate"] = "calibrate"
    probes: tuple[Probe, ...]
    #: How many cores each of driver and server may use.
    cores: float


Task = MeasureTask | SendTask | ReflectTask | VerifyTask | CalibrateTask
_TASKS: TypeAdapter[Task] = TypeAdapter(Annotated[Task, Field(discriminator="kind")])


def read_task(path: Path) -> Task:
    """Read a task. Raises UsageError."""
    try:
        return _TASKS.validate_json(path.read_bytes())
    except OSError as error:
        raise UsageError(f"can't read {path}: {error.strerror}", "mount the task there") from error
    except ValidationError as error:
        hint = "harness and image are of different versions"
        raise UsageError(f"{path}: {describe_first(error)}", hint) from None


def encode_answer(answer: object) -> str:
    """Return the lines to print of a model, a data class, a text, or a tuple of these."""
    text = _compress(to_json(answer, by_alias=True))
    pieces = (text[start : start + _LINE_CHARACTERS] for start in range(0, len(text), _LINE_CHARACTERS))
    return "".join(f"{_MARK}{piece}\n" for piece in pieces)


def decode_answer(printed: str, kind: type[T]) -> T:
    """Return the answer in what a pod has printed. Raises WirebenchError if there is none."""
    text = "".join(line.removeprefix(_MARK) for line in printed.splitlines() if line.startswith(_MARK))
    try:
        return TypeAdapter(kind).validate_json(_decompress(text))
    except (ValueError, zlib.error):
        hint = "its last lines are above; is its image of this version?"
        raise WirebenchError("a load pod has printed no answer", hint, printed[-2000:]) from None


def _compress(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content)).decode()


def _decompress(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text, validate=True))
