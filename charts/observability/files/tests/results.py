"""Asks the results server for its runs, which it finds in its database: URL."""

import json
import sys
import urllib.request

(url,) = sys.argv[1:]

with urllib.request.urlopen(f"{url}/api/v1/runs?limit=1", timeout=20) as response:
    print("runs:", json.load(response)["total"])
