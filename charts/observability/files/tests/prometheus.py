"""Asks Prometheus whether it is ready, has loaded its rules, and reaches itself and every kubelet: URL."""

import json
import sys
import time
import urllib.request

#: A target counts as up after its first scrape, and all have had theirs by then.
FIRST_SCRAPES_S_MAX = 60

(url,) = sys.argv[1:]


def ask(path: str) -> bytes:
    """Return what is at a path."""
    with urllib.request.urlopen(url + path, timeout=20) as response:
        body: bytes = response.read()
        return body


def down() -> list[str]:
    """Return what of the expected targets isn't up, by its job."""
    targets = json.loads(ask("/api/v1/query?query=up"))["data"]["result"]
    up_by_job = {
        job: [target["value"][1] == "1" for target in targets if target["metric"]["job"] == job]
        for job in ("prometheus", "cadvisor")
    }
    return [job for job, up in up_by_job.items() if not up or not all(up)]


print(ask("/-/ready").decode())
rules = [group["name"] for group in json.loads(ask("/api/v1/rules"))["data"]["groups"]]
print("rules:", ", ".join(rules) or "none")
deadline = time.monotonic() + FIRST_SCRAPES_S_MAX
while down() and time.monotonic() < deadline:
    time.sleep(1)
print("not up:", ", ".join(down()) or "none")
sys.exit(1 if down() or not rules else 0)
