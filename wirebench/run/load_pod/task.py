"""What is done where requests are sent from; of a load pod, as a file, and the answer that it prints."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import to_json

from wirebench.drivers import DRIVERS, Job
from wirebench.errors import UsageError, WirebenchError
from wirebench.measure.answers import Answer, send_requests
from wirebench.measure.calibration import Point, Probe, measure_probe
from wirebench.measure.conformance import Conformance, check_services
from wirebench.measure.observe import Observation, observe
from wirebench.model.frozen import FrozenModel
from wirebench.model.recording import Recording
from wirebench.model.validation_messages import describe_first
from wirebench.run.schema import reflect
from wirebench.system.paths import APPLICATION
from wirebench.system.tls import ClientTls
from wirebench.targets.cores import Cores, divide_cores
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


class Task(FrozenModel, Generic[T]):
    """What is done where requests are sent from: this process, or a load pod."""

    #: What `run` returns, as pydantic reads it.
    answer: ClassVar[Any]

    def run(self) -> T:
        """Carry it out in this process. Raises WirebenchError."""
        raise NotImplementedError


class JobTask(Task[T]):
    """A task whose requests are those of a job."""

    job: Job
    #: Those of an application with variants, for a pod.
    files: Files | None = None


class MeasureTask(JobTask[Observation]):
    """Send the load of a job, and watch these replicas.

    The name in the job's address must stand for the job's `replicas`, where the client is to balance.
    """

    answer: ClassVar[Any] = Observation
    kind: Literal["measure"] = "measure"
    replicas: tuple[Replica, ...]
    #: By node, the URL of its agent, where a service is beside the load in its pod.
    agents: dict[str, str] = Field(default={})
    #: What the load replays, if it does, for a pod.
    recording: Recording | None = None
    #: How many cores the driver may use.
    cores: float | None = None
    #: The cores of server and generator, where both are bound to some of this machine.
    pinned: Cores | None = None

    @classmethod
    def of(cls, job: Job, endpoint: Endpoint, pinned: Cores | None) -> MeasureTask:
        """Return the task of a job on a running service."""
        cores = None
        if job.cores is not None:  # all that it has, but no more than its driver can use
            cores = min(len(job.cores), DRIVERS[job.cell.driver].cores_max or len(job.cores))
        agents = dict(endpoint.agents)
        return cls(job=job, replicas=endpoint.replicas, agents=agents, cores=cores, pinned=pinned)

    def run(self) -> Observation:
        return observe(self.job, self.replicas, self.cores, self.pinned)


class SendTask(JobTask[tuple[Answer, ...]]):
    """Send `requests_each` of each operation of a job, and return their answers."""

    answer: ClassVar[Any] = tuple[Answer, ...]
    kind: Literal["send"] = "send"
    requests_each: int

    def run(self) -> tuple[Answer, ...]:
        return tuple(send_requests(self.job, self.requests_each))


class ReflectTask(Task[str]):
    """Read the messages of calls by server reflection; return them as a FileDescriptorSet in base64."""

    answer: ClassVar[Any] = str
    kind: Literal["reflect"] = "reflect"
    address: str
    tls: ClientTls | None
    calls: tuple[str, ...]
    #: With `${NAME}`: the environment has the values.
    headers: dict[str, str]

    def run(self) -> str:
        return base64.b64encode(reflect(self.address, self.tls, self.calls, self.headers)).decode()


class VerifyTask(Task[Conformance]):
    """Check that services of the built-in application answer alike."""

    answer: ClassVar[Any] = Conformance
    kind: Literal["verify"] = "verify"
    services: tuple[Endpoint, ...]
    seed: int

    def run(self) -> Conformance:
        return check_services(self.services, self.seed)


class CalibrateTask(Task[tuple[Point, ...]]):
    """Measure drivers briefly against a server of known latency beside them."""

    answer: ClassVar[Any] = tuple[Point, ...]
    kind: Literal["calibrate"] = "calibrate"
    probes: tuple[Probe, ...]

    def run(self) -> tuple[Point, ...]:
        return tuple(measure_probe(each, divide_cores(), coarse=True) for each in self.probes)


AnyTask = MeasureTask | SendTask | ReflectTask | VerifyTask | CalibrateTask
_TASKS: TypeAdapter[AnyTask] = TypeAdapter(Annotated[AnyTask, Field(discriminator="kind")])


def read_task(path: Path) -> AnyTask:
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


def decode_answer(task: Task[T], printed: str) -> T:
    """Return the answer to a task in what a pod has printed. Raises WirebenchError if there is none."""
    text = "".join(line.removeprefix(_MARK) for line in printed.splitlines() if line.startswith(_MARK))
    try:
        answer: T = TypeAdapter(task.answer).validate_json(_decompress(text))
    except (ValueError, zlib.error):
        hint = "its last lines are above; is its image of this version?"
        raise WirebenchError("a load pod has printed no answer", hint, printed[-2000:]) from None
    return answer


def _compress(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content)).decode()


def _decompress(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text, validate=True))
