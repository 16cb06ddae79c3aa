"""Tells over HTTP what the containers of a pod on this node have used, from their cgroups. It changes nothing.

`GET /containers/POD_UID` returns JSON: {container id: {time_unix_ns, cpu_s, throttled_periods, memory_bytes}}; what
can't be read is null. `python -m wirebench.system.cgroup_agent` runs as a pod on each node, with the node's
/sys/fs/cgroup mounted at ROOT. It needs the standard library only.
"""

from __future__ import annotations

import functools
import json
import os
import re
import signal
import socket
import sys
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from wirebench.system import cgroup

PORT = 9110
ROOT = Path("/host/sys/fs/cgroup")
_REQUEST = re.compile(r"/containers/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
#: The folder of a container, as containerd, CRI-O and Docker name it. Helpers (`crio-conmon-…`) don't match.
_CONTAINER = re.compile(r"(?:(?:cri-containerd|crio|docker)-)?([0-9a-f]{64})(?:\.scope)?")
_NOWHERE = Path(os.devnull)


def read_pod(root: Path, pod_uid: str) -> dict[str, dict[str, float | None]]:
    """Return what each container of a pod has used, by its id; empty if the pod isn't on this node."""
    cpuacct, cpu, memory = (_find_pod(root, name, pod_uid) or _NOWHERE for name in ("cpuacct", "cpu", "memory"))
    return {
        named[1]: {
            "time_unix_ns": time.time_ns(),
            "cpu_s": cgroup.read_cpu_s(folder),
            "throttled_periods": cgroup.read_fields(cpu / folder.name / "cpu.stat").get("nr_throttled"),
            "memory_bytes": cgroup.read_memory_bytes(memory / folder.name),
        }
        for folder in (cpuacct.iterdir() if cpuacct != _NOWHERE else ())
        if (named := _CONTAINER.fullmatch(folder.name))
    }


def _find_hierarchy(root: Path, controller: str) -> Path | None:
    """Return the hierarchy of a controller: version 2 has one for all, version 1 one for each, or for a few."""
    if (root / "cgroup.controllers").exists():
        return root
    named = (each for each in root.iterdir() if controller in each.name.split(","))
    # An engine may leave empty folders beside the mounted ones.
    return next((each for each in named if any(each.iterdir())), None)


def _find_pod(root: Path, controller: str, pod_uid: str) -> Path | None:
    """Return the folder of a pod. Only what is still there is remembered."""
    hierarchy = _find_hierarchy(root, controller)
    if hierarchy is None:
        return None
    found = _search_pod(hierarchy, pod_uid)
    if found is None or not found.is_dir():
        _search_pod.cache_clear()
        found = _search_pod(hierarchy, pod_uid)
    return found


@functools.lru_cache(1000)
def _search_pod(hierarchy: Path, pod_uid: str) -> Path | None:
    """Search for a pod's folder, wherever the kubelet's cgroup root is."""
    # As the driver `cgroupfs` names it, and as `systemd` does, in which dashes separate the levels.
    plain, slice_end = f"pod{pod_uid}", f"-pod{pod_uid.replace('-', '_')}.slice"
    for folder, names, _ in os.walk(hierarchy):
        for name in names:
            if name == plain or name.endswith(slice_end):
                return Path(folder, name)
    return None


def make_server(root: Path, host: str, port: int) -> HTTPServer:
    """Return a server, already listening, that answers one request at a time."""

    class Handler(BaseHTTPRequestHandler):
        timeout = 2.0

        def do_GET(self) -> None:
            asked = _REQUEST.fullmatch(self.path)
            used = read_pod(root, asked[1]) if asked else {}
            is_ready = self.path == "/readyz" and _find_hierarchy(root, "cpuacct") is not None
            body = json.dumps(used).encode()
            self.send_response(HTTPStatus.OK if used or is_ready else HTTPStatus.NOT_FOUND)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    class Server(HTTPServer):
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

    return Server((host, port), Handler)


if __name__ == "__main__":
    # The first process of a container isn't ended by a signal that it doesn't handle.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    all_addresses = "::" if socket.has_dualstack_ipv6() else "0.0.0.0"  # noqa: S104 - the pod's own
    make_server(ROOT, all_addresses, PORT).serve_forever()
