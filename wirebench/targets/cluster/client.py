"""A namespace of a cluster: kubectl and helm are the only ways to it."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wirebench.errors import UsageError, WirebenchError
from wirebench.system import processes
from wirebench.system.paths import CHARTS, IMAGES, IS_WHEEL, KUBECONFIG, TOOLS
from wirebench.system.processes import ProcessError, list_flags

#: The context of `make cluster-up`.
_OUR_CONTEXT = "kind-wirebench"
_TIMEOUT_S = 60.0
_DELETE_TIMEOUT_S = 120.0
#: An API server may be away for as long as this: it restarts, or a leader is elected.
_AWAY_S_MAX = 60.0
_RETRY_PAUSE_S = 1.0
#: One that has just been started forbids for some seconds what it will allow.
_STARTS_S_MAX = 10.0
#: What kubectl and helm print when they reach no API server, or one that isn't ready yet.
_AWAY = (
    "connection refused",
    "was refused",
    "connection reset",
    "i/o timeout",
    "TLS handshake timeout",
    "EOF",
    "http2: client connection lost",
    "Client.Timeout exceeded",
    "etcdserver",
    "the server is currently unable",
    "ServiceUnavailable",
    "no route to host",
)
#: What an API server says to users whose roles don't allow something; other requests are forbidden for other reasons.
_NO_RIGHT = "is forbidden: User "

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Access:
    """Which cluster, and as whom: a context of a kubeconfig, by default of the one that kubectl takes by itself.

    `values_files` of the chart name what is special about the cluster, such as its images.
    """

    context: str
    kubeconfig: Path | None
    values_files: tuple[Path, ...] = ()


def find_access(context: str | None, values: Sequence[Path] = ()) -> Access:
    """Return how to access a cluster, by default that of `make cluster-up`.

    kubectl's current context is never used by default: it may be a production cluster. Raises UsageError.
    """
    if IS_WHEEL:
        raise UsageError(
            "clusters need kubectl, helm, charts and images, which an installation from a wheel doesn't have",
            "use a checkout of wirebench (docs/cluster.md); --target external measures services that run already",
        )
    for path in values:
        if not path.is_file():
            raise UsageError(f"{path}: no such file", "correct the path")
    if context is not None and context != _OUR_CONTEXT:
        return Access(context, None, tuple(values))  # where kubectl looks
    if not (KUBECONFIG.is_file() and IMAGES.is_file()):
        raise UsageError("no cluster of ours is there", "make cluster-up makes one; --context NAME takes another")
    return Access(_OUR_CONTEXT, KUBECONFIG, (IMAGES, *values))


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster, seen from one namespace. Calls are repeated while the API server is away. All raise WirebenchError."""

    access: Access
    namespace: str

    def check(self) -> None:
        """Raise WirebenchError if a tool is missing, or the cluster can't be reached; at once, not after a minute."""
        for tool in (TOOLS / "kubectl", TOOLS / "helm"):
            if not tool.is_file():
                raise UsageError(f"{tool.name} is not at {tool}", "run `make cluster-up`, which builds it")
        try:
            self._run("kubectl", "get", "--raw", "/readyz", "--request-timeout=10s", away_s=0.0)
        except ProcessError as error:
            raise WirebenchError(
                f"can't reach the cluster of the context {self.access.context}",
                "`make cluster-up` starts one; `kubectl config get-contexts` lists those that are known (--context)",
                error.details,
            ) from None

    def get(self, kind: str, selector: str = "", *, namespaced: bool = True) -> list[dict[str, Any]]:
        """Return the objects of a kind that carry the labels, of our namespace or of all."""
        flags = [f"--selector={selector}"] if selector else []
        flags += [] if namespaced else ["--all-namespaces"]
        items: list[dict[str, Any]] = json.loads(self._run("kubectl", "get", kind, *flags, "--output=json"))["items"]
        return items

    def find(self, kind: str, name: str) -> dict[str, Any] | None:
        text = self._run("kubectl", "get", kind, name, "--ignore-not-found", "--output=json")
        found: dict[str, Any] | None = json.loads(text) if text else None
        return found

    def read_server_version(self) -> str:
        text = self._run("kubectl", "version", "--output=json")
        version: str = json.loads(text)["serverVersion"]["gitVersion"]
        return version

    def read_logs(self, pod: str, container: str, *flags: str) -> str:
        return self._run("kubectl", "logs", pod, "--container", container, *flags)

    def apply(self, manifest: Mapping[str, Any]) -> None:
        self._run("kubectl", "apply", "--filename=-", stdin=json.dumps(manifest))

    def create_secret(self, name: str, content: Mapping[str, bytes], kind: str = "Opaque") -> None:
        """Create a Secret. Its content passes through standard input, and is in no file here."""
        data = {key: base64.b64encode(value).decode("ascii") for key, value in content.items()}
        metadata = {"name": name, "namespace": self.namespace}
        self.apply({"apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": metadata, "data": data})

    def delete_namespaces(self, *names: str) -> None:
        flags = ("--ignore-not-found", f"--timeout={_DELETE_TIMEOUT_S:.0f}s")
        self._run("kubectl", "delete", "namespace", *names, *flags, timeout_s=_DELETE_TIMEOUT_S + 5)

    def upgrade(self, release: str, values: Values) -> None:
        """Install our chart as a release, or bring it to these values; doesn't wait for pods."""
        files = [f"--values={path}" for path in self.access.values_files]
        # One revision of history: a run makes hundreds, and cells are never rolled back to.
        self._upgrade(release, values, "--install", "--history-max=1", "--reset-values", *files)

    def change(self, release: str, values: Values) -> None:
        """Change these values of a release and leave its others as they are; doesn't wait for pods."""
        self._upgrade(release, values, "--reset-then-reuse-values")

    def _upgrade(self, release: str, values: Values, *flags: str) -> None:
        self._run("helm", "upgrade", release, CHARTS / "wirebench", *flags, "--values=-", stdin=json.dumps(values))

    def uninstall(self, release: str) -> None:
        self._run("helm", "uninstall", release, "--ignore-not-found")

    def _run(
        self,
        tool: str,
        *arguments: str | Path,
        stdin: str = "",
        timeout_s: float = _TIMEOUT_S,
        away_s: float = _AWAY_S_MAX,
    ) -> str:
        """Run a tool in our namespace, as often as it takes while the API server is away, and return what it prints."""
        context = "--context" if tool == "kubectl" else "--kube-context"
        where = {"--namespace": self.namespace, "--kubeconfig": self.access.kubeconfig, context: self.access.context}
        command = [TOOLS / tool, *arguments, *list_flags(where)]
        deadline = time.monotonic() + away_s
        while True:
            try:
                return processes.run(tool, command, timeout_s, stdin)
            except ProcessError as error:
                now, lacks_right = time.monotonic(), _NO_RIGHT in error.details
                if lacks_right:
                    deadline = min(deadline, now + _STARTS_S_MAX)
                elif now > deadline or not any(words in error.details for words in _AWAY):
                    raise
                if now > deadline:
                    message = f"the user of the context {self.access.context} lacks rights"
                    hint = "the cluster's answer is above: get these rights, or use another context (--context)"
                    raise ProcessError(message, hint, error.details) from None
            time.sleep(_RETRY_PAUSE_S)
