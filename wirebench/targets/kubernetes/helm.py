"""helm, on one context and one namespace."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wirebench.system import processes
from wirebench.system.paths import CHARTS, TOOLS
from wirebench.targets.kubernetes.kubectl import Access, retry_while_unreachable

_TIMEOUT_S = 60.0

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Helm:
    """Calls helm; `values_files` come before what a call itself sets."""

    access: Access
    namespace: str
    values_files: tuple[Path, ...]

    def upgrade(self, release: str, values: Values) -> None:
        """Install our chart as a release, or bring it to these values; doesn't wait for pods. Raises WirebenchError."""
        files = [part for path in self.values_files for part in ("--values", path)]
        # One revision of history: a run makes hundreds, and cells are never rolled back to.
        flags = ["--install", "--history-max=1", "--reset-values", *files, "--values=-"]
        self._call(["upgrade", release, CHARTS / "wirebench", *flags], json.dumps(values))

    def change(self, release: str, values: Values) -> None:
        """Change these values of a release and leave its others as they are; doesn't wait for pods.

        Raises WirebenchError.
        """
        flags = ["--reset-then-reuse-values", "--values=-"]
        self._call(["upgrade", release, CHARTS / "wirebench", *flags], json.dumps(values))

    def uninstall(self, release: str) -> None:
        self._call(["uninstall", release, "--ignore-not-found"])

    def _call(self, arguments: list[str | Path], text_in: str = "") -> str:
        where = {"--kube-context": self.access.context, "--kubeconfig": self.access.kubeconfig}
        flags = processes.list_flags({"--namespace": self.namespace, **where})
        command = [TOOLS / "helm", *arguments, *flags]
        return retry_while_unreachable(lambda: processes.run("helm", command, _TIMEOUT_S, text_in))
