"""kubectl, on one context and one namespace: the only way to the cluster besides helm."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from wirebench import processes
from wirebench.errors import UsageError, WirebenchError
from wirebench.places import TOOLS
from wirebench.processes import ProcessError

_TIMEOUT_S = 30.0
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


T = TypeVar("T")


def require_tools() -> None:
    """Raise UsageError if kubectl or helm isn't there."""
    for tool in ("kubectl", "helm"):
        if not (TOOLS / tool).is_file():
            raise UsageError(f"{tool} is not at {TOOLS / tool}", "run `make cluster-up`, which builds it")


@dataclass(frozen=True, slots=True)
class Access:
    """Which cluster, and as whom: a context of a kubeconfig; None is what kubectl takes by itself."""

    context: str | None
    kubeconfig: Path | None

    @property
    def flags(self) -> list[str]:
        """The flags of kubectl; helm's are `--kube-context` and `--kubeconfig`."""
        flags = [] if self.kubeconfig is None else ["--kubeconfig", str(self.kubeconfig)]
        return flags if self.context is None else [*flags, "--context", self.context]

    def __str__(self) -> str:
        """Name it in messages."""
        return f"the context {self.context}" if self.context else "the current context"


@dataclass(frozen=True, slots=True)
class Kubectl:
    """Calls kubectl; what can be repeated is repeated while the API server is away."""

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
        """Return the objects of a kind that carry the labels, of our namespace or of all. Raises WirebenchError."""
        where = ["--namespace", self.namespace] if namespaced else ["--all-namespaces"]
        chosen = ["--selector", selector] if selector else []
        text = self._patiently(["get", kind, *where, *chosen, "--output=json"])
        items: list[dict[str, Any]] = json.loads(text)["items"]
        return items

    def server_version(self) -> str:
        """Return the version of Kubernetes. Raises WirebenchError."""
        version: str = json.loads(self._patiently(["version", "--output=json"]))["serverVersion"]["gitVersion"]
        return version

    def containers(self, pod: str) -> list[str]:
        """Return the names of a pod's containers. Raises WirebenchError."""
        names = "{.spec.initContainers[*].name} {.spec.containers[*].name}"
        return self._patiently(["get", "pod", pod, "--namespace", self.namespace, f"--output=jsonpath={names}"]).split()

    def logs(self, pod: str, container: str, *, tail: int | None = None, previous: bool = False) -> str:
        """Return what a container has printed. Raises WirebenchError."""
        flags = ([f"--tail={tail}"] if tail is not None else []) + (["--previous"] if previous else [])
        return self._patiently(["logs", "--namespace", self.namespace, pod, "--container", container, *flags])

    def apply(self, manifest: dict[str, Any]) -> None:
        """Create an object, or bring it to what is given. Raises WirebenchError."""
        self._patiently(["apply", "--filename=-"], json.dumps(manifest))

    def kill_pod(self, name: str) -> None:
        """Kill a pod, without giving it time to end. Raises WirebenchError."""
        self._patiently(
            ["delete", "pod", name, "--namespace", self.namespace, "--grace-period=0", "--force", "--wait=false"]
        )

    def exec(self, workload: str, container: str, command: Sequence[str], stdin: Path, timeout_s: float) -> str:
        """Run a program that can be repeated in a container of a workload's pod, with a file as its input.

        Returns what it prints. Raises ProcessError, with the program's last lines if it failed.
        """
        where = ["--namespace", self.namespace, workload, "--container", container]

        def call() -> str:
            with stdin.open("rb") as file:
                return self._call(["exec", "--stdin", *where, "--", *command], file, timeout_s)

        return while_away(call)

    def delete(self, kind: str, *names: str, timeout_s: float) -> None:
        """Delete objects and wait until they have gone. Raises WirebenchError."""
        flags = ["--namespace", self.namespace, "--ignore-not-found", f"--timeout={timeout_s:.0f}s"]
        self._patiently(["delete", kind, *names, *flags], timeout_s=timeout_s + 5)

    def _patiently(self, arguments: Sequence[str], text_in: str = "", timeout_s: float = _TIMEOUT_S) -> str:
        return while_away(lambda: self._call(arguments, text_in, timeout_s))

    def _call(self, arguments: Sequence[str], stdin: str | BinaryIO = "", timeout_s: float = _TIMEOUT_S) -> str:
        return processes.run("kubectl", [TOOLS / "kubectl", *self.access.flags, *arguments], timeout_s, stdin)


def while_away(call: Callable[[], T]) -> T:
    """Repeat a call that can be repeated for as long as the API server may be away. Raises ProcessError."""
    deadline = time.monotonic() + _AWAY_S_MAX
    while True:
        try:
            return call()
        except ProcessError as error:
            if time.monotonic() > deadline or not any(words in error.details for words in _AWAY):
                raise
        time.sleep(_RETRY_PAUSE_S)
