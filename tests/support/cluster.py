"""The cluster of `make cluster-up`, by its own tools, and runs in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.support import waiting
from wirebench.model.run_info import Run
from wirebench.store.runs import load_run
from wirebench.system.paths import ROOT, TOOLS

KUBECONFIG = ROOT / "build/cluster/kubeconfig"
CONTEXT = "kind-wirebench"
NAMESPACE = "wirebench"


@dataclass(frozen=True)
class Cluster:
    """The cluster, by its own tools."""

    def kubectl(self, *arguments: str) -> str:
        """Return what kubectl prints."""
        return _run("kubectl", "--kubeconfig", str(KUBECONFIG), "--context", CONTEXT, *arguments)

    def helm(self, *arguments: str) -> str:
        """Return what helm prints."""
        return _run("helm", "--kubeconfig", str(KUBECONFIG), "--kube-context", CONTEXT, *arguments)

    def get(self, *arguments: str, namespace: str = NAMESPACE) -> list[dict[str, Any]]:
        """Return objects."""
        text = self.kubectl("get", *arguments, "--namespace", namespace, "--output=json")
        items: list[dict[str, Any]] = json.loads(text)["items"]
        return items


#: Waits for what a cluster does: every look at it starts a process, which takes CPU time.
wait_until = partial(waiting.wait_until, timeout_s=300, pause_s=0.5)


def _run(tool: str, *arguments: str) -> str:
    return waiting.run_program([TOOLS / tool, *arguments], check=True, timeout=300).stdout


OBSERVABILITY = "wirebench-observability"


def pods(cluster: Cluster, transport: str) -> list[dict[str, Any]]:
    """Return the pods of a service that aren't on their way out."""
    selector = f"--selector=app.kubernetes.io/instance=wirebench,app.kubernetes.io/component={transport}"
    return [pod for pod in cluster.get("pods", selector) if "deletionTimestamp" not in pod["metadata"]]


def is_ready(pod: dict[str, Any]) -> bool:
    """Return whether a pod is an endpoint."""
    return any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", ()))


LONG = """\
question: What becomes of a run that something happens to?
factors: {transport: socket, concurrency: [1, 2], cpu_limit_millicores: 250}
load: {warmup_s: 1, window_s: 10}
blocks: 1
"""


class Command:
    """A command in the background, with what it prints."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._log = folder / f"printed by {arguments[0]}"
        with self._log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "wirebench.cli", *arguments],
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
                # The user's own clusters are not taken by mistake.
                env={**os.environ, "KUBECONFIG": str(folder / "others")},
            )
        started_commands.append(self)

    @property
    def printed(self) -> str:
        """All that it has printed so far."""
        return self._log.read_text(encoding="utf-8")

    def wait_for(self, text: str) -> None:
        """Wait until it has printed this, or ended."""
        wait_until(
            lambda: text in self.printed or self.process.poll() is not None,
            f"{text!r} is printed",
            lambda: self.printed,
        )
        assert text in self.printed

    def end(self) -> int:
        """Wait for its end, and return its exit status."""
        return self.process.wait(timeout=540)  # less than a test may take; restarting three services takes minutes


class Started(Command):
    """A run in the background."""

    def __init__(self, folder: Path, scenario: str, *flags: str) -> None:
        (folder / "it.yaml").write_text(scenario, encoding="utf-8")
        self.results = folder / "results"
        super().__init__(
            folder, "run", str(folder / "it.yaml"), "--target", "kubernetes", "--out", str(self.results), *flags
        )

    def run(self) -> Run:
        """Return the one run that it has left."""
        (info,) = self.results.glob("*/run.json")
        return load_run(info.parent)


started_commands: list[Command] = []


def list_namespaces(cluster: Cluster) -> set[str]:
    """Return the names of all namespaces."""
    return set(cluster.kubectl("get", "namespaces", "--output=jsonpath={.items[*].metadata.name}").split())
