"""Run a command in a network of its own where the kernel's table of connections is soon full, until it drops packets.

`unshare --net python -m tests.support.full_connection_table ROOM COMMAND…`, as root, with iptables. The limit is the
machine's, but it holds for each network by itself: no other network is touched.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

from wirebench.measure.counters import count_dropped_packets

_LIMIT = Path("/proc/sys/net/netfilter/nf_conntrack_max")
#: Connections are tracked only where a rule asks for it.
_RULE = ["INPUT", "--match", "conntrack", "--ctstate", "ESTABLISHED", "--jump", "ACCEPT"]
_PORT = 9009
#: From these each address is connected to once: a connection that is there already would not be a new one.
_SOURCE_PORTS = range(10_000, 60_000)
#: A socket in this state ends without a packet: the table keeps the connection for days (TCP_REPAIR in linux/tcp.h).
_SILENT = 19


def main(room: int, command: list[str]) -> int:
    """Fill the table but for this room, run the command, and return its exit status."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["iptables", "--append", *_RULE], check=True)
    fill(int(_LIMIT.read_text()) - room)
    with subprocess.Popen(command) as process:
        while process.poll() is None and not count_dropped_packets():
            time.sleep(0.02)
        # The command has to come to its end.
        subprocess.run(["iptables", "--delete", *_RULE], check=True)
    return process.returncode


def fill(connections: int) -> None:
    """Open connections, and forget them where the table doesn't."""
    with socket.create_server(("", _PORT)) as server:
        for number in range(connections):
            address, source = f"127.0.1.{1 + number // len(_SOURCE_PORTS)}", _SOURCE_PORTS[number % len(_SOURCE_PORTS)]
            with (
                socket.create_connection((address, _PORT), source_address=("", source)) as client,
                server.accept()[0] as accepted,
            ):
                for end in (client, accepted):
                    end.setsockopt(socket.IPPROTO_TCP, _SILENT, 1)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
