"""Tells over HTTP what the containers of a pod on this node have used, from their cgroups. It changes nothing.

`GET /containers/POD_UID` returns JSON: {container id: {time_unix_ns, cpu_s, throttled_periods, memory_bytes}}; what
can't be read is null. `python -m wirebench.system.cgroup_agent` runs as a pod on each node, with the node's
/sys/fs/cgroup mounted at ROOT. It needs the standard library only.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from wirebench.system import cgroup

PORT = 9110
ROOT = Path("/host/sys/fs/cgroup")
_REQUEST = re.compile(r"/containers/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
#: The folder of a container, as containerd, CRI-O and Docker name it. Helpers (`crio-conmon-…`) don't match.
_CONTAINER = re.compile(r"(?:(?:cri-containerd|crio|docker)-)?([0-9a-f]{64})(?:\.scope)?")
_PODS_MAX = 1000
_CLIENT_TIMEOUT_S = 2.0


class PodCgroups:
    """Finds the cgroups of pods below a mounted hierarchy."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._found: dict[tuple[Path, str], Path] = {}

    def read(self, pod_uid: str) -> dict[str, dict[str, float | None]]:
        """Return what each container of a pod has used, by its id; empty if the pod isn't on this node."""
        groups = {name: self._find_pod_folder(name, pod_uid) for name in ("cpuacct", "cpu", "memory")}
        if not groups["cpuacct"]:
            return {}
        used = {}
        for folder in groups["cpuacct"].iterdir():
            if named := _CONTAINER.fullmatch(folder.name):
                own = {name: pod / folder.name if pod else Path(os.devnull) for name, pod in groups.items()}
                used[named[1]] = {
                    "time_unix_ns": time.time_ns(),
                    "cpu_s": cgroup.read_cpu_s(own["cpuacct"]),
                    "throttled_periods": cgroup.read_throttled_periods(own["cpu"]),
                    "memory_bytes": cgroup.read_memory_bytes(own["memory"]),
                }
        return used

    def are_mounted(self) -> bool:
        """Return whether there is a hierarchy with CPU time at all."""
        return self._find_hierarchy("cpuacct") is not None

    def _find_hierarchy(self, controller: str) -> Path | None:
        """Return the hierarchy of a controller: version 2 has one for all, version 1 one for each, or for a few."""
        if (self._root / "cgroup.controllers").exists():
            return self._root
        named = (each for each in self._root.iterdir() if controller in each.name.split(","))
        # An engine may leave empty folders beside the mounted ones.
        return next((each for each in named if any(each.iterdir())), None)

    def _find_pod_folder(self, controller: str, pod_uid: str) -> Path | None:
        """Search for a pod's folder, wherever the kubelet's cgroup root is, and remember it."""
        hierarchy = self._find_hierarchy(controller)
        if hierarchy is None:
            return None
        known = self._found.get((hierarchy, pod_uid))
        if known and known.is_dir():
            return known
        # As the driver `cgroupfs` names it, and as `systemd` does, in which dashes separate the levels.
        plain, slice_end = f"pod{pod_uid}", f"-pod{pod_uid.replace('-', '_')}.slice"
        for folder, names, _ in os.walk(hierarchy):
            for name in names:
                if name == plain or name.endswith(slice_end):
                    if len(self._found) >= _PODS_MAX:
                        self._found.clear()
                    return self._found.setdefault((hierarchy, pod_uid), Path(folder, name))
        return None


class _Handler(BaseHTTPRequestHandler):
    timeout = _CLIENT_TIMEOUT_S

    def __init__(self, pods: PodCgroups, *arguments: object) -> None:
        self._pods = pods
        super().__init__(*arguments)  # type: ignore[arg-type] # what the server gives

    def do_GET(self) -> None:
        asked = _REQUEST.fullmatch(self.path)
        used = self._pods.read(asked[1]) if asked else None
        is_known = bool(used) or (self.path == "/readyz" and self._pods.are_mounted())
        body = json.dumps(used or {}).encode()
        self.send_response(HTTPStatus.OK if is_known else HTTPStatus.NOT_FOUND)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


def make_server(root: Path, host: str, port: int) -> HTTPServer:
    """Return a server, already listening, that answers one request at a time."""
    return HTTPServer((host, port), partial(_Handler, PodCgroups(root)))


if __name__ == "__main__":
    # The first process of a container isn't ended by a signal that it doesn't handle.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    make_server(ROOT, "0.0.0.0", PORT).serve_forever()  # noqa: S104 - the pod's own address
