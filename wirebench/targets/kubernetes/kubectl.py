"""kubectl, on one context and one namespace: the only way to the cluster besides helm."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from wirebench.errors import UsageError, WirebenchError
from wirebench.system import processes
from wirebench.system.paths import IMAGES, IS_WHEEL, KUBECONFIG, TOOLS
from wirebench.system.processes import ProcessError, list_flags

#: The context of `make cluster-up`.
OUR_CONTEXT = "kind-wirebench"
_TIMEOUT_S = 30.0
_READ_TIMEOUT_S = 5.0
#: An API server may be away for as long as this: it restarts, or a leader is elected.
_AWAY_S_MAX = 60.0
_RETRY_PAUSE_S = 1.0
#: What kubectl and helm print when they reach no API server, or one that isn't ready yet.
_AWAY = (
    "connection refused",
    "was refused",
    "connection reset",
    "i/o timeout",
    "TLS handshake timeout",
    "unexpected EOF",
    "http2: client connection lost",
    "Client.Timeout exceeded",
    "etcdserver",
    "the server is currently unable",
    "ServiceUnavailable",
    "no route to host",
)
#: What an API server says to users whose roles don't allow something; other requests are forbidden for other reasons.
_NO_RIGHT = "is forbidden: User "

T = TypeVar("T")


def require_tools() -> None:
    for tool in ("kubectl", "helm"):
        if not (TOOLS / tool).is_file():
            raise UsageError(f"{tool} is not at {TOOLS / tool}", "run `make cluster-up`, which builds it")


@dataclass(frozen=True, slots=True)
class Access:
    """Which cluster, and as whom: a context of a kubeconfig; None is what kubectl takes by itself."""

    context: str | None
    kubeconfig: Path | None

    @property
    def flags(self) -> list[str | Path]:
        """The flags of kubectl; helm's are `--kube-context` and `--kubeconfig`."""
        return list_flags({"--kubeconfig": self.kubeconfig, "--context": self.context})

    def __str__(self) -> str:
        return f"the context {self.context}" if self.context else "the current context"


def find_access(
    context: str | None, kubeconfig: Path | None, values: Sequence[Path] = ()
) -> tuple[Access, tuple[Path, ...]]:
    """Return how to access a cluster, and the chart's values files; without a context, those of `make cluster-up`.

    kubectl's current context is never used by default: it may be a production cluster. Raises UsageError.
    """
    if IS_WHEEL:
        raise UsageError(
            "clusters need kubectl, helm, charts and images, which an installation from a wheel doesn't have",
            "use a checkout of wirebench (docs/cluster.md); --target external measures services that run already",
        )
    for path in filter(None, (kubeconfig, *values)):
        if not path.is_file():
            raise UsageError(f"{path}: no such file", "correct the path")
    if context is None and kubeconfig is not None:
        raise UsageError("--kubeconfig: no context is named", "add --context NAME")
    if context not in (None, OUR_CONTEXT) or kubeconfig is not None:
        return Access(context, kubeconfig), tuple(values)
    if not (KUBECONFIG.is_file() and IMAGES.is_file()):
        raise UsageError("no cluster of ours is there", "make cluster-up makes one; --context NAME takes another")
    return Access(OUR_CONTEXT, KUBECONFIG), (IMAGES, *values)


@dataclass(frozen=True, slots=True)
class Kubectl:
    """Calls kubectl; what can be repeated is repeated while the API server is away. All raises WirebenchError."""

    access: Access
    namespace: str

    def check(self) -> None:
        """Raise WirebenchError if the cluster can't be reached, at once and not after a minute."""
        try:
            self._call(["get", "--raw", "/readyz", "--request-timeout=10s"])
        except ProcessError as error:
            raise WirebenchError(
                f"can't reach the cluster of {self.access}",
                "`make cluster-up` starts one; `kubectl config get-contexts` lists those that are known (--context)",
                error.details,
            ) from None

    def get(self, kind: str, selector: str = "", *, namespaced: bool = True) -> list[dict[str, Any]]:
        """Return the objects of a kind that carry the labels, of our namespace or of all."""
        where = ["--namespace", self.namespace] if namespaced else ["--all-namespaces"]
        chosen = ["--selector", selector] if selector else []
        text = retry_while_unreachable(lambda: self._call(["get", kind, *where, *chosen, "--output=json"]))
        items: list[dict[str, Any]] = json.loads(text)["items"]
        return items

    def read(self, path: str) -> str:
        """Return what the API server answers to a GET, once and within a few seconds."""
        return self._call(["get", "--raw", path], timeout_s=_READ_TIMEOUT_S)

    def find(self, kind: str, name: str) -> dict[str, Any] | None:
        text = self._run("get", kind, name, "--ignore-not-found", "--output=json")
        found: dict[str, Any] | None = json.loads(text) if text else None
        return found

    def read_server_version(self) -> str:
        version: str = json.loads(self._run("version", "--output=json"))["serverVersion"]["gitVersion"]
        return version

    def list_containers(self, pod: str) -> list[str]:
        names = "{.spec.initContainers[*].name} {.spec.containers[*].name}"
        return self._run("get", "pod", pod, f"--output=jsonpath={names}").split()

    def read_logs(self, pod: str, container: str, *flags: str) -> str:
        return self._run("logs", pod, "--container", container, *flags)

    def apply(self, manifest: Mapping[str, Any]) -> None:
        self._run("apply", "--filename=-", stdin=json.dumps(manifest))

    def delete(self, kind: str, *names: str, timeout_s: float) -> None:
        flags = ("--ignore-not-found", f"--timeout={timeout_s:.0f}s")
        self._run("delete", kind, *names, *flags, timeout_s=timeout_s + 5)

    def _run(self, *arguments: str, stdin: str = "", timeout_s: float = _TIMEOUT_S) -> str:
        """Call it in our namespace, as often as it takes while the API server is away."""
        command = [*arguments, "--namespace", self.namespace]
        return retry_while_unreachable(lambda: self._call(command, stdin, timeout_s))

    def _call(self, arguments: Sequence[str], stdin: str = "", timeout_s: float = _TIMEOUT_S) -> str:
        try:
            return processes.run("kubectl", [TOOLS / "kubectl", *self.access.flags, *arguments], timeout_s, stdin)
        except ProcessError as error:
            if _NO_RIGHT not in error.details:
                raise
            hint = "the cluster's answer is above: get these rights, or use another context (--context)"
            raise ProcessError(f"the user of {self.access} lacks rights", hint, error.details) from None


def retry_while_unreachable(call: Callable[[], T]) -> T:
    """Repeat a call that can be repeated for as long as the API server may be away. Raises ProcessError."""
    deadline = time.monotonic() + _AWAY_S_MAX
    while True:
        try:
            return call()
        except ProcessError as error:
            if time.monotonic() > deadline or not any(words in error.details for words in _AWAY):
                raise
        time.sleep(_RETRY_PAUSE_S)
