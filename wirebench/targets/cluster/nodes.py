"""The nodes of a cluster, and what is said of them in results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wirebench.targets.cluster.client import Cluster
from wirebench.targets.endpoint import Description

#: `server` or `load`, on nodes that are for the one or for the other; kind-config.yaml sets it.
_ROLE = "wirebench.dev/role"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_ONE_MACHINE = "all nodes are one machine: placements show topology here, not what a network costs or more nodes can do"


@dataclass(frozen=True, slots=True)
class Node:
    """What of a node matters here."""

    role: str
    millicores: int
    memory: str
    system: str
    boot_id: str

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Node:
        info, capacity = data["status"]["nodeInfo"], data["status"]["capacity"]
        return cls(
            role=data["metadata"]["labels"].get(_ROLE, ""),
            millicores=parse_millicores(capacity["cpu"]),
            memory=capacity["memory"],
            system=f"{info['osImage']}, {info['kernelVersion']}, {info['containerRuntimeVersion']}",
            boot_id=info["bootID"],
        )


@dataclass(frozen=True, slots=True)
class Nodes:
    """All nodes of a cluster."""

    all: tuple[Node, ...]

    def selector(self, role: str) -> dict[str, str]:
        """Return the labels of the nodes for a role; none where no node has it, and then any node will do."""
        return {_ROLE: role} if any(node.role == role for node in self.all) else {}

    @property
    def are_one_machine(self) -> bool:
        """Whether they were booted as one: then they are containers of one machine, as kind's are."""
        return len({node.boot_id for node in self.all}) == 1

    def are_this_machine(self) -> bool:
        """Return whether that one machine is ours: what is read of ours is then theirs."""
        return self.are_one_machine and _BOOT_ID.exists() and self.all[0].boot_id == _BOOT_ID.read_text().strip()

    def describe(self, version: str) -> Description:
        system = self.all[0].system
        machine = {"cluster": f"{len(self.all)} nodes, each {system}"}
        if not self.are_this_machine():
            machine |= {
                "cpu": "of the nodes, not visible",
                "cores": ", ".join(dict.fromkeys(f"{node.millicores}m" for node in self.all)),
                "memory": ", ".join(dict.fromkeys(node.memory for node in self.all)),
                "kernel": system,
                "frequency_governor": "not visible",
            }
        return Description(
            machine=machine,
            versions={"kubernetes": version},
            notes=(_ONE_MACHINE,) if self.are_one_machine and len(self.all) > 1 else (),
            shared_cores=self.all[0].millicores // 1000 if self.are_one_machine else None,
        )


def read_nodes(cluster: Cluster) -> Nodes:
    return Nodes(tuple(Node.read(each) for each in cluster.get("nodes", namespaced=False)))


def parse_millicores(quantity: str) -> int:
    """Return how much CPU a quantity is, as Kubernetes writes it: `500m` or `2`."""
    return int(quantity.removesuffix("m")) if quantity.endswith("m") else int(quantity) * 1000
